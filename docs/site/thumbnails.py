#!/usr/bin/env python3
"""Makes the small pictures of docs/catalogue.md, one for each name that `selene list` knows: what a camera sees of
rovers, scenarios and sites, what a wheel does on each soil, and what each sensor publishes in the same scene.

    docs/site/thumbnails.py target/release/selene [PICTURE…]     from the root of the repository

A PICTURE is a kind (`soil`) or a kind and a name (`soil_lunar`, `sensor_lidar/flash`); all without one. Site `hadley`
needs SELENE_DATA. Python needs

    pip install numpy opencv-python-headless matplotlib mcap-ros2-support
"""

import sys
import tempfile

import plots
import points
import scenes
from common import OUT, Selene, names, sensor_kind

SENSORS = {
    "camera": scenes.camera_sensor,
    "lidar": points.lidar,
    "radar": points.radar,
    "tof_camera": points.depth_camera,
}


def sensor(selene, name):
    SENSORS.get(sensor_kind(name), plots.instrument)(selene, name)


MAKERS = {"scenario": scenes.scenario, "rover": scenes.rover, "site": scenes.site, "soil": plots.soil, "sensor": sensor}


def main():
    program, wanted = sys.argv[1], sys.argv[2:]
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        selene = Selene(program, folder)
        for kind, make in MAKERS.items():
            for name in names(kind):
                if not wanted or kind in wanted or f"{kind}_{name}" in wanted:
                    print(kind, name, flush=True)
                    make(selene, name)


if __name__ == "__main__":
    main()
