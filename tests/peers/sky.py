"""Sun, Earth and stars over lunar sites by Skyfield with DE421: apparent altitude and azimuth.

    sky.py SPICE_FOLDER CASES.csv STARS.csv

A case is `utc,latitude_deg,longitude_deg,height_m`; a star is `id,right_ascension_deg,declination_deg`. For each case
one line: sun azimuth, elevation (degrees), distance (m), the same of the Earth, then azimuth and elevation of the star
of the same number (counted round).
"""

import csv
import sys
from pathlib import Path

from skyfield.api import Star, load, load_file
from skyfield.planetarylib import PlanetaryConstants


def altaz(observer, target):
    elevation, azimuth, distance = observer.observe(target).apparent().altaz()
    return azimuth.degrees, elevation.degrees, distance.m


def main(folder, cases, stars):
    bodies = load_file(str(folder / "de421.bsp"))
    constants = PlanetaryConstants()
    constants.read_text(open(folder / "moon_080317.tf", "rb"))
    constants.read_text(open(folder / "pck00011.tpc", "rb"))
    constants.read_binary(open(folder / "moon_pa_de421_1900-2050.bpc", "rb"))
    frame = constants.build_frame_named("MOON_ME_DE421")
    scale = load.timescale(builtin=True)
    stars = [Star(ra_hours=float(ra) / 15.0, dec_degrees=float(dec)) for _, ra, dec in csv.reader(open(stars))]
    for number, (utc, latitude, longitude, height) in enumerate(csv.reader(open(cases))):
        day, clock = utc.rstrip("Z").split("T")
        time = scale.utc(*map(int, day.split("-")), *map(int, clock.split(":")))
        site = constants.build_latlon_degrees(frame, float(latitude), float(longitude), float(height))
        observer = (bodies["moon"] + site).at(time)
        values = altaz(observer, bodies["sun"]) + altaz(observer, bodies["earth"])
        values += altaz(observer, stars[number % len(stars)])[:2]
        print(",".join(f"{value:.9f}" for value in values))


main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
