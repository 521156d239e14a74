#!/usr/bin/env python3
"""Writes docs/catalogue.md: everything that `selene list` names, each with the first sentence of its file and the
picture that docs/site/thumbnails.py made of it.

    docs/site/catalogue.py     from the root of the repository
"""

import pathlib

PICTURES = pathlib.Path("docs/images/catalogue")
HEAD = """# What there is

Everything that `selene list` names. A name stands for its file wherever one is asked for: `selene run convoy`, `--rover ex1`, `--soil
grc1`, `site: mare`. `docs/site/catalogue.py` writes this page from the files' own first sentences, and `docs/site/thumbnails.py`
makes the pictures.
"""
# Each kind's folder, its title, and what its pictures show.
KINDS = [
    (
        "scenario",
        "Scenarios",
        """A camera follows a rover from behind on its left, some seconds after the start; in some scenarios it is ahead of the rover, beside
a wheel, or looks over the rover at the ground before it.
""",
    ),
    (
        "rover",
        "Rovers",
        "Each on the plain of site `mare`, with the Sun 28 degrees high. The camera stands off by the rover's size.\n",
    ),
    (
        "site",
        "Sites",
        """Each from 8 m above the ground, 70 degrees wide. The Sun is low, but 24 degrees high over `southern`.
""",
    ),
    (
        "soil",
        "Soils",
        """One wheel (radius 0.25 m, width 0.2 m, load 180 N) at slips from −0.2 to 0.8, by `selene rig wheel`: blue is its pull over its load,
orange its torque over load times radius, both on the left; brown is its sinkage in mm, downward, on the right. Soil moves aside
only on `lunar_flow`. A soil of law `data` has no pull at a given slip: of `tohoku_silica5_ex1` the plot shows the slip (green) and
the sinkage of EX1 over slope, by `selene rig slope`.
""",
    ),
    (
        "sensor",
        "Sensors",
        """Cameras, lidars and radars are in one scene: their rover drives past a lander on site `southern`, with the Sun 24 degrees high on its
left. Colours of mosaics are interpolated, and images of a linear response are brightened for the screen. `polar_rig` has 1/64 of
its own exposure, which is too long for sunlight.

Scans of spinning lidars are seen from above, ahead to the right, with colours by height; other lidars as they see the scene, red
where it is near. Colours of radar returns are by their signal. `azure_kinect` is at night near the lander; sunlight blinds it.

All other plots have time in s to the right. VIPER drives 5 m at 0.2 m/s on site `polar`, turns meanwhile, and stands from 27 s
on; `fl` to `rr` are its wheels from front left to rear right. Dotted lines at `wheel_odometry` are the truth. Star trackers are silent
while the rover turns. `sonar` needs air: there VIPER drives toward a lander on Earth.
""",
    ),
]


def first_sentence(file):
    """The first sentence of the comment at the start of a file, as in `selene list`."""
    comment = []
    for line in file.read_text().splitlines():
        if not line.startswith("#"):
            break
        text = line[1:].strip()
        if not text.startswith("yaml-language-server:"):
            comment.append(text)
    return " ".join(comment).split(". ")[0].rstrip(".")


def picture(kind, name):
    """The Markdown link of a picture; empty if there is none."""
    file = PICTURES / f"{kind}_{name.replace('/', '_')}.jpg"
    return f"![{name}](images/catalogue/{file.name})" if file.exists() else ""


def rows(kind):
    folder = pathlib.Path("config") / kind
    files = {file.relative_to(folder).with_suffix("").as_posix(): file for file in folder.rglob("*.yaml")}
    for name, file in sorted(files.items()):
        yield f"| `{name}` | {first_sentence(file)} | {picture(kind, name)} |"


def main():
    page = [HEAD]
    for kind, title, shown in KINDS:
        page += [f"## {title}\n", shown, "| name | what | |", "| --- | --- | --- |", *rows(kind), ""]
    pathlib.Path("docs/catalogue.md").write_text("\n".join(page).rstrip() + "\n")


if __name__ == "__main__":
    main()
