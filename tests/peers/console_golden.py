"""Pictures of the console's page: a made-up session to show in it, and a comparison that tolerates another font.

A sheet has one tile for each part of the page, so that a different line break moves only the text of one tile. Tiles
are compared cell by cell; a cell is the mean colour of some hundred pixels of the page."""

import json
import math
import os
import struct

import cv2
import numpy

SHAPES = [(360, 780, "light"), (360, 780, "dark"), (1920, 1080, "light"), (1920, 1080, "dark")]
PARTS = ["header", "#pictures", "section:has(#scene)", "section:has(#map)", "#control", "section:has(#plots)",
         "section:has(#wheels)", "section:has(#health)"]
TILE_PX = (160, 120)
COLUMNS = 2
CELL_PX = 10
# Of 255. Another font changes cells by some tens; a missing panel or another colour scheme changes most by more.
CELL_TOLERANCE = 40
CHANGED_SHARE = 0.15
MEAN_TOLERANCE = 10

MAGIC = b"selene console session 1\n"
WHEELS = ["front_left", "front_right", "rear_left", "rear_right"]


def record(ms, data):
    is_text = isinstance(data, str)
    body = data.encode() if is_text else data
    return struct.pack("<dBI", ms, is_text, len(body)) + body


def binary(header, payload):
    text = json.dumps(header).encode()
    return struct.pack("<I", len(text)) + text + payload


def state(number):
    """State of the made-up rover after `number` tenths of a second."""
    time_s = 0.1 * number
    wheel = lambda at: {"slip": 0.1 + 0.02 * at + 0.05 * math.sin(time_s), "sinkage_m": 0.012 + 0.003 * at,
                        "drive_torque_n_m": 4.0 + at + math.cos(2 * time_s), "rate_rad_s": 0.4, "in_contact": at != 3}
    rover = {"rover": "", "name": "rover", "frame": "base_link", "at_m": [0.1 * time_s, 0.5, 0.4], "attitude": [0, 0, 0.0998, 0.995],
             "roll_pitch_yaw_deg": [2 * math.sin(time_s), 1.0, 11.5], "speed_m_s": 0.1, "turn_rad_s": 0.0,
             "wheels": [{"name": name, **wheel(at)} for at, name in enumerate(WHEELS)],
             "batteries": {"/battery/state": {"charge": 0.9 - 0.001 * number, "voltage_v": 28.0, "current_a": 2.0}}}
    statuses = {"simulation": {"level": "ok", "text": "running"}, "camera": {"level": "warning", "text": "behind by 0.2 s"}}
    return json.dumps({
        "is": "state", "number": number, "time_s": time_s, "pace": 1.0, "run": "playing", "has_control": False, "clients": 2,
        "refused": {"host": 3}, "rovers": [rover], "images": ["/cam/image_raw", "/cam/segmentation/image"], "boxes": ["/cam/detections"],
        "points": ["/lidar/points"], "lamps": [], "statuses": statuses})


def frames():
    turned = [0, 0, 0.0998, 0.995]
    placed = [["base_link", "odom", [0.6, 0.5, 0.4], turned], ["mast", "base_link", [0.7, 0.5, 1.6], turned]]
    placed += [[name, "base_link", [0.6 + (0.5 if at < 2 else -0.5), 0.5 + (0.4 if at % 2 == 0 else -0.4), 0.25], turned] for at, name in enumerate(WHEELS)]
    return json.dumps({"is": "frames", "frames": placed})


def paths():
    way = [[0.05 * step - 3, 0.5 * math.sin(0.05 * step)] for step in range(70)]
    places = [{"name": f"stop {at}", "at_m": [2.0 * at, 1.5 * (-1) ** at], "is_waypoint": True} for at in range(3)]
    return json.dumps({"is": "paths", "ways": {"": way}, "places": places, "spawnables": []})


def picture(topic, pixels):
    done, png = cv2.imencode(".png", pixels)
    assert done
    height, width = pixels.shape[:2]
    header = {"is": "image", "topic": topic, "number": 1, "time_s": 6.0, "encoding": "mono8", "width": width, "height": height}
    return binary(header, png.tobytes())


def camera():
    """Sky, ground that darkens toward the horizon, a lit rock."""
    row = numpy.arange(180)[:, None] * numpy.ones((1, 320))
    grey = numpy.where(row < 60, 8, 60 + 0.8 * (row - 60)).astype(numpy.uint8)
    image = cv2.merge([grey] * 3)
    cv2.ellipse(image, (200, 110), (30, 18), 0, 0, 360, (200, 200, 200), -1)
    return image


def ground():
    side, cells = 12.0, 160
    at = (numpy.arange(cells) / cells - 0.5) * side
    heights = 0.3 * numpy.sin(at)[None, :] * numpy.cos(0.7 * at)[:, None]
    header = {"is": "ground", "rover": "", "number": 1, "middle_m": [0.6, 0.5], "resolution_m": side / cells, "cells": [cells, cells]}
    return binary(header, heights.astype("<f4").tobytes())


def rocks():
    places = [[2.0 * math.cos(at), 2.0 * math.sin(at), 0.2, 0.2 + 0.1 * at] for at in range(6)]
    header = {"is": "rocks", "rover": "", "number": 1, "rocks": len(places)}
    return binary(header, numpy.array(places, dtype="<f4").tobytes())


def cloud():
    """A point cloud of rings around the rover, like a lidar's."""
    around, far = numpy.meshgrid(numpy.linspace(0, 2 * math.pi, 400), numpy.linspace(1, 4, 16))
    points = numpy.stack([0.6 + far * numpy.cos(around), 0.5 + far * numpy.sin(around), 0.2 * far], 2).reshape(-1, 3).astype("<f4")
    header = {"is": "points", "topic": "/lidar/points", "number": 1, "points": len(points)}
    return binary(header, points.tobytes())


def session():
    """A session file in the format in which the page saves them."""
    messages = [state(number) for number in range(1, 61)]
    boxes = {"is": "boxes", "topic": "/cam/detections", "number": 1, "boxes": [["rock", [200, 110], [64, 40]]]}
    pictures = [picture("/cam/image_raw", camera()), picture("/cam/segmentation/image", 255 - camera())]
    messages += [frames(), paths(), ground(), rocks(), cloud(), *pictures, json.dumps(boxes)]
    return MAGIC + b"".join(record(5.0 * at, message) for at, message in enumerate(messages))


def parts(png, boxes):
    """The parts of a page that are in the given boxes."""
    page = cv2.imdecode(numpy.frombuffer(png, numpy.uint8), cv2.IMREAD_COLOR)
    return [page[top:top + height, left:left + width] for left, top, width, height in boxes]


def sheet(png, boxes):
    """The parts of a page in the given boxes, arranged as tiles of one sheet."""
    tiles = [cv2.resize(part, TILE_PX, interpolation=cv2.INTER_AREA) for part in parts(png, boxes)]
    return numpy.vstack([numpy.hstack(tiles[at:at + COLUMNS]) for at in range(0, len(tiles), COLUMNS)])


def changed(one, other):
    """Difference of two sheets, for each part: the fraction of its cells that changed, and the mean change."""
    cells = lambda sheet: cv2.resize(sheet, None, fx=1 / CELL_PX, fy=1 / CELL_PX, interpolation=cv2.INTER_AREA).astype(float)
    change = numpy.abs(cells(one) - cells(other)).max(axis=2)
    width, height = TILE_PX[0] // CELL_PX, TILE_PX[1] // CELL_PX
    tiles = [change[at // COLUMNS * height:][:height, at % COLUMNS * width:][:, :width] for at in range(len(PARTS))]
    return [((tile > CELL_TOLERANCE).mean(), tile.mean()) for tile in tiles]


def differs(one, other):
    """Descriptions of the parts in which two sheets differ."""
    changes = zip(PARTS, changed(one, other))
    return [f"{part}: {share:.0%} of it changed, by {mean:.0f} on average" for part, (share, mean) in changes
            if share > CHANGED_SHARE or mean > MEAN_TOLERANCE]


def compare(name, sheet, folder, images):
    """Compares a sheet with the stored one; returns the faults as texts."""
    cv2.imwrite(os.path.join(folder, f"{name}.png"), sheet)
    path = os.path.join(images, f"{name}.png")
    if os.environ.get("SELENE_BLESS"):
        cv2.imwrite(path, sheet, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    stored = cv2.imread(path)
    if stored is None or stored.shape != sheet.shape:
        return [f"{path} is missing or of another size; SELENE_BLESS=1 stores it"]
    # The comparison itself must detect a missing picture or map.
    for part in (1, 2, 3):
        lost = stored.copy()
        row, column = part // COLUMNS * TILE_PX[1], part % COLUMNS * TILE_PX[0]
        lost[row + 30:row + TILE_PX[1] - 10, column + 10:column + TILE_PX[0] - 10] = stored[row + 3, column + 3]
        assert differs(lost, stored), f"{name}: {PARTS[part]} could be lost without notice"
    return [f"{name}: {what}; look at {os.path.join(folder, name)}.png" for what in differs(sheet, stored)]
