"""Runs Selene for docs/site/thumbnails.py, reads what it wrote, and writes small pictures."""

import pathlib
import re
import subprocess
import tempfile

import cv2
from mcap_ros2.reader import read_ros2_messages

OUT = pathlib.Path("docs/images/catalogue")
CONFIG = pathlib.Path("config")
LANDER = pathlib.Path("urdf/lander/lander.urdf").resolve()
JPEG_QUALITY = 80

# The scene of cameras and ranging sensors: a rover drives past a lander; the Sun is on its left, 24 degrees high.
SCENE = """site: southern
utc: "2026-11-21T12:00:00Z"
rover: {{file: {rover}}}
objects: [{{name: lander, file: "{lander}", x_m: 9, y_m: -2, yaw_deg: 30}}]
sensors: [{sensors}]
route: {{speed_m_s: 0.15, waypoints_m: [[5, 0]]}}
"""


def names(kind):
    """The names of all files of a kind, as `selene list` has them."""
    folder = CONFIG / kind
    return sorted(file.relative_to(folder).with_suffix("").as_posix() for file in folder.rglob("*.yaml"))


def text(kind, name):
    return (CONFIG / kind / f"{name}.yaml").read_text()


def value(text, key):
    """A value of a YAML file, as text; its first one where there are several."""
    return re.search(rf"^\s*{key}: *([^\s#]*)", text, re.MULTILINE).group(1)


def sensor_kind(name):
    """What a sensor is, such as `camera`: the first key of its file."""
    return re.search(r"^(\w+):", text("sensor", name), re.MULTILINE).group(1)


def save(name, image, width_px, quality=JPEG_QUALITY):
    """Writes an image as docs/images/catalogue/NAME.jpg; one that is smaller than the width keeps its pixels' edges."""
    height_px = round(width_px * image.shape[0] / image.shape[1])
    how = cv2.INTER_AREA if image.shape[1] > width_px else cv2.INTER_NEAREST
    small = cv2.resize(image, (width_px, height_px), interpolation=how)
    cv2.imwrite(str(OUT / f"{name.replace('/', '_')}.jpg"), small, [cv2.IMWRITE_JPEG_QUALITY, quality])


class Selene:
    """The program, and a folder for what it reads and writes."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def __call__(self, *arguments):
        command = [self.program, *map(str, arguments), "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def file(self, name, content):
        file = self.folder / name
        file.write_text(content)
        return file

    def scene(self, sensors, rover="viper"):
        return self.file("scene.yaml", SCENE.format(rover=rover, lander=LANDER, sensors=", ".join(map(str, sensors))))

    def render(self, scenario, camera, at_s, *more):
        """The image of a camera."""
        picture = self.folder / "picture.png"
        self("render", scenario, "--camera", camera, "--at", at_s, "--out", picture, *more)
        return cv2.imread(str(picture))

    def record(self, scenario, for_s, *more):
        """The messages of a run, by topic."""
        bag = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "bag"
        self("run", scenario, "--for", for_s, "--pace", "fast", "--no-dds", "--no-pictures", "--record", bag, *more)
        topics = {}
        for file in sorted(bag.glob("*.mcap")):
            for read in read_ros2_messages(file):
                topics.setdefault(read.channel.topic, []).append(read.ros_msg)
        return topics
