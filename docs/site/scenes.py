"""Pictures that cameras take: rovers, scenarios, sites, and cameras of the catalogue themselves."""

import re

import cv2
import numpy as np

from common import save, text

SCENE_PX = 320
SENSOR_PX = 240

# Distance of the camera from the rover, relative to that from VIPER.
OFF = {
    "curiosity": 1.5,
    "dozer": 2.4,
    "ex1": 0.5,
    "hmmwv": 2.2,
    "rassor": 0.65,
    "sorato": 0.3,
    "truck": 2.2,
    "viper": 1.0,
}

# Where the camera is and where it looks, in VIPER's base_link, m: x ahead, y to the left.
VIEWS = {
    "behind": ([-2.9, 2.6, 2.0], [0.2, 0, 0.3]),
    "ahead": ([2.9, 2.6, 1.7], [0.4, 0, 0.3]),
    "before": ([3.3, 2.6, 1.3], [1.5, 0, 0]),
    "over": ([-3.3, 1.2, 2.9], [4, 0.8, 0]),
    "beside": ([-4.5, 5.5, 3.2], [0, -3.5, 0]),
    "wheel": ([-0.7, 1.5, 0.6], [0.38, 0.6, -0.14]),
}

# Scenario, rover that the camera follows, its index and name in the list of rovers (None: the only one), time, s, view.
SCENARIOS = [
    ("convoy", "viper", (0, "viper"), 10, "behind"),
    ("curiosity_rocks", "curiosity", None, 8, "behind"),
    ("dozer", "dozer", None, 21, "before"),
    ("ex1", "ex1", None, 4, "behind"),
    ("ex1_loop", "ex1", None, 6, "behind"),
    ("granular", "sorato", None, 8, "behind"),
    ("gravel", "sorato", None, 4, "behind"),
    ("hadley", "viper", None, 4, "behind"),
    ("instruments", "viper", None, 6, "behind"),
    ("learning_convoy", "ex1", (1, "follower"), 2, "behind"),
    ("learning_dig", "rassor", None, 1, "ahead"),
    ("learning_hill", "ex1", None, 1, "behind"),
    ("learning_pair", "ex1", (1, "ex1_b"), 1, "beside"),
    ("learning_plain", "ex1", None, 1, "behind"),
    ("learning_seen", "ex1", None, 1, "behind"),
    ("night", "viper", None, 4, "over"),
    ("pillars", "truck", None, 3, "behind"),
    ("polar", "viper", None, 6, "behind"),
    ("rassor_dig", "rassor", None, 23, "ahead"),
    ("rassor_views", "rassor", None, 6, "behind"),
    ("sil", "ex1", None, 1, "behind"),
    ("sorato", "sorato", None, 6, "behind"),
    ("sorato_loop", "sorato", None, 6, "behind"),
    ("truck_dust", "truck", None, 2, "behind"),
    ("two_rovers", "viper", (0, "rover_1"), 6, "beside"),
    ("viper_dust", "viper", None, 4, "wheel"),
    ("viper_spotlight", "viper", None, 2, "over"),
    ("viper_views", "viper", None, 8, "behind"),
]

# UTC, map x in m and heading in degrees of the camera that sees a site, from 8 m above.
SITES = {
    "hadley": ("2026-11-17T08:00:00Z", 0, 0),
    "haworth": ("2026-11-27T12:00:00Z", 0, 90),
    "learning_hill": ("2026-11-21T12:00:00Z", 20, 180),
    "mare": ("2026-11-15T16:00:00Z", 0, 200),
}
SITE = ("2026-11-21T12:00:00Z", 0, 0)

# Rovers of cameras whose links VIPER lacks, and cameras that must be there too.
CARRIERS = {
    "convoy": "truck",
    "dozer": "dozer",
    "ex1": "ex1",
    "learning": "ex1",
    "rassor": "rassor",
    "sorato": "sorato",
    "truck": "truck",
}
BESIDE = {"navcam_right": ["navcam_left"]}
# In the Sun, polar_rig sees only white at its own exposure: here it has 1/64 of that.
EXPOSURES = {"polar_rig": ("exposure_s: 0.064", "exposure_s: 0.001")}
# Factors of blue, green and red that make sunlight white, for mosaics.
WHITE_BGR = [1.37, 1, 1.09]

CAMERA = """camera:
  name: thumbnail
  link: base_link
  mount: {{at_m: {at}, look_at_m: {look_at}}}
  width: 640
  height: 360
  horizontal_fov_deg: {fov_deg}
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
  light: {{bounce_rays: 64}}
"""


def camera(selene, rover, view):
    """The file of a camera that moves with a rover."""
    at, look_at = [[OFF[rover] * metres for metres in place] for place in VIEWS[view]]
    return selene.file("thumbnail.yaml", CAMERA.format(at=at, look_at=look_at, fov_deg=50))


def rover(selene, name):
    """A rover on the plain of site `mare`."""
    sensor = camera(selene, name, "behind")
    content = f'site: mare\nutc: "2026-11-17T08:00:00Z"\nrover: {{file: {name}}}\nsensors: ["{sensor}"]\n'
    save(f"rover_{name}", selene.render(selene.file("rover.yaml", content), "thumbnail", 1), SCENE_PX)


def scenario(selene, name):
    """A scenario after some seconds."""
    of, place, at_s, view = next(entry[1:] for entry in SCENARIOS if entry[0] == name)
    key, prefix = ("sensors", "") if place is None else (f"rovers.{place[0]}.sensors", f"{place[1]}/")
    image = selene.render(name, f"{prefix}thumbnail", at_s, "--set", f'{key}=["{camera(selene, of, view)}"]')
    save(f"scenario_{name}", image, SCENE_PX)


def site(selene, name):
    """The ground of a site from 8 m above; the rover that carries the camera is out of its view."""
    utc, x_m, yaw_deg = SITES.get(name, SITE)
    sensor = selene.file("overhead.yaml", CAMERA.format(at=[0, 0, 8], look_at=[30, 0, 0], fov_deg=70))
    rover = f"{{file: sorato, x_m: {x_m}, yaw_deg: {yaw_deg}}}"
    content = f'site: {name}\nutc: "{utc}"\nrover: {rover}\nsensors: ["{sensor}"]\n'
    save(f"site_{name}", selene.render(selene.file("site.yaml", content), "thumbnail", 0.2), SCENE_PX)


def developed(image, content):
    """The colours of a mosaic, and the brightness that a screen should have where a camera's response is linear."""
    if "bayer: rggb" in content:
        image = cv2.cvtColor(image[..., 0], cv2.COLOR_BayerRGGB2BGR)
    black = 255 * float((re.search(r"black: ([\d.]+)", content) or [0, 0])[1])
    light = np.maximum(image - black, 0) / (255 - black)
    if "bayer: rggb" in content:
        light = np.minimum(light * WHITE_BGR, 1)
    return (255 * (light if "gamma:" in content else light ** (1 / 2.2))).astype(np.uint8)


def camera_sensor(selene, name):
    """What a camera sees of the scene."""
    content = text("sensor", name)
    sensor = selene.file(f"{name}.yaml", content.replace(*EXPOSURES[name])) if name in EXPOSURES else name
    scene = selene.scene([*BESIDE.get(name, []), sensor], CARRIERS.get(name.split("_")[0], "viper"))
    save(f"sensor_{name}", developed(selene.render(scene, name, 6), content), SENSOR_PX)
