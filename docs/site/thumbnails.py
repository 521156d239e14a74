#!/usr/bin/env python3
"""Makes the small pictures of docs/catalogue.md: each rover on the plain of site `mare`, and scenarios after some
seconds, seen by a camera that follows behind the rover. `selene render` renders them; OpenCV scales them down.

    docs/site/thumbnails.py target/release/selene [NAME…]     from the root of the repository
"""

import pathlib
import subprocess
import sys
import tempfile

import cv2

OUT = pathlib.Path("docs/images/catalogue")
SIZE_PX = (320, 180)
JPEG_QUALITY = 80

# Distance of the camera from the rover, relative to that from VIPER.
OFF = {"curiosity": 1.5, "ex1": 0.5, "hmmwv": 2.2, "rassor": 0.65, "sorato": 0.3, "truck": 2.2, "viper": 1.0}

# Scenario, rover that the camera follows, its index and name in the list of rovers (None: the only one), time, s.
SCENARIOS = [
    ("convoy", "viper", (0, "viper"), 10),
    ("curiosity_rocks", "curiosity", None, 8),
    ("ex1", "ex1", None, 4),
    ("granular", "sorato", None, 8),
    ("hadley", "viper", None, 4),
    ("learning_convoy", "ex1", (1, "follower"), 2),
    ("learning_hill", "ex1", None, 1),
    ("night", "viper", None, 4),
    ("pillars", "truck", None, 3),
    ("polar", "viper", None, 6),
    ("rassor_views", "rassor", None, 6),
    ("sil", "ex1", None, 1),
    ("sorato", "sorato", None, 6),
    ("two_rovers", "viper", (1, "rover_2"), 6),
    ("viper_dust", "viper", None, 4),
    ("viper_spotlight", "viper", None, 2),
    ("viper_views", "viper", None, 8),
]

CAMERA = """camera:
  name: thumbnail
  link: base_link
  mount: {{at_m: [{0}, {1}, {2}], look_at_m: [0.2, 0, {3}]}}
  width: 640
  height: 360
  horizontal_fov_deg: 50
  rate_hz: 10
  lag_s: 0
  qos: reliable
  auto_exposure: true
  metering: {{target: 0.5, gain_max: 32}}
  exposure_s: 0.05
  f_number: 2
  pixel_pitch_m: 4.8e-6
  stages:
    - aggregator: {{quantum_efficiency_rgb: [0.35, 0.45, 0.4]}}
    - noise: {{read_sigma_e: 4}}
    - response: {{white_balance_rgb: [1.09, 1, 1.37], gamma: {{a: 4.59e-4, gamma: 3, b: 0}}}}
    - quantise: {{bits: 8}}
  stereo_baseline_m: 0
  light: {{bounce_rays: 8}}
"""


def camera(folder, rover):
    """Writes the file of a camera behind a rover, on its left."""
    off = OFF[rover]
    file = folder / f"{rover}_thumbnail.yaml"
    file.write_text(CAMERA.format(-2.9 * off, 2.6 * off, 2.0 * off, 0.3 * off))
    return file


def render(program, folder, name, scenario, camera_name, at_s, more):
    picture = folder / f"{name}.png"
    arguments = ["render", scenario, "--camera", camera_name, "--at", str(at_s), "--out", picture, *more]
    subprocess.run([program, *arguments], check=True)
    small = cv2.resize(cv2.imread(str(picture)), SIZE_PX, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(OUT / f"{name}.jpg"), small, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])


def main():
    program, wanted = sys.argv[1], sys.argv[2:]
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for rover in OFF:
            if not wanted or f"rover_{rover}" in wanted:
                scenario = folder / f"{rover}.yaml"
                sensor = camera(folder, rover)
                scenario.write_text(f'site: mare\nutc: "2026-11-17T08:00:00Z"\nrover: {{file: {rover}}}\nsensors: ["{sensor}"]\n')
                render(program, folder, f"rover_{rover}", scenario, "thumbnail", 1, [])
        for name, rover, place, at_s in SCENARIOS:
            if not wanted or name in wanted:
                key, of = ("sensors", "") if place is None else (f"rovers.{place[0]}.sensors", f"{place[1]}/")
                sensor = camera(folder, rover)
                render(program, folder, f"scenario_{name}", name, f"{of}thumbnail", at_s, ["--set", f'{key}=["{sensor}"]'])


if __name__ == "__main__":
    main()
