"""Checks that the clouds of a bag, corrected for the motion by each point's time, show the ground as one surface.

  scans.py BAG

BAG is a bag of `selene run --record` with clouds in the layout of Velodyne's driver, whose `time` counts seconds from the
scan's stamp, or of Ouster's, whose `t` counts nanoseconds. The path is from ground_truth/odom, the mount of the lidar
from /tf_static. Prints one JSON object: the thickness of the ground in the last scans together, with the points' own
times and with all times set to 0.
"""

import json
import sys
from pathlib import Path

import numpy as np
from rosbags.highlevel import AnyReader

POINTS, ODOM, STATIC = "/lidar/points", "/ground_truth/odom", "/tf_static"
# sensor_msgs/PointField
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
SCANS = 20
# Nearer points are on the rover itself; farther ones are too far apart to be compared.
RANGES_M = (1.5, 8.0)
CELL_M = 0.3
POINTS_OF_CELL = 60
# A scan is corrected in so many parts; within one the sensor moves by a few millimetres and hundredths of a degree.
PARTS = 100


def transform(translation, rotation):
    """The matrix of a ROS pose or transform."""
    x, y, z, w = rotation.x, rotation.y, rotation.z, rotation.w
    matrix = np.eye(4)
    matrix[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    matrix[:3, 3] = translation.x, translation.y, translation.z
    return matrix


def seconds(stamp):
    return stamp.sec + 1e-9 * stamp.nanosec


def read(bag):
    """Scans as (stamp, xyz, time), the base's true poses with their stamps, and base_from_lidar."""
    scans, truth, parents, frames = [], [], {}, set()
    with AnyReader([Path(bag)]) as reader:
        there = [c for c in reader.connections if c.topic in (POINTS, ODOM, STATIC)]
        for connection, _, raw in reader.messages(connections=there):
            message = reader.deserialize(raw, connection.msgtype)
            if connection.topic == STATIC:
                for t in message.transforms:
                    pose = transform(t.transform.translation, t.transform.rotation)
                    parents[t.child_frame_id] = (t.header.frame_id, pose)
            elif connection.topic == ODOM:
                base, pose = message.child_frame_id, message.pose.pose
                truth.append((seconds(message.header.stamp), transform(pose.position, pose.orientation)))
            else:
                frames.add(message.header.frame_id)
                fields = {"names": [f.name for f in message.fields], "offsets": [f.offset for f in message.fields],
                          "formats": [TYPES[f.datatype] for f in message.fields], "itemsize": message.point_step}
                points = np.frombuffer(message.data, np.dtype(fields))
                xyz = np.column_stack([points[axis] for axis in "xyz"]).astype(np.float64)
                time = points["time"].astype(np.float64) if "time" in points.dtype.names else 1e-9 * points["t"]
                scans.append((seconds(message.header.stamp), xyz, time))
    (frame,) = frames
    base_from_lidar = np.eye(4)
    while frame != base:
        if frame not in parents:
            sys.exit(f"{frame} is not fixed to {base}: its mount must be on {STATIC}")
        frame, pose = parents[frame]
        base_from_lidar = pose @ base_from_lidar
    return scans, truth, base_from_lidar


def between(truth, stamp):
    """The true pose at an instant, interpolated between the two samples around it."""
    i = int(np.clip(np.searchsorted([at for at, _ in truth], stamp), 1, len(truth) - 1))
    (t0, a), (t1, b) = truth[i - 1], truth[i]
    share = (stamp - t0) / (t1 - t0)
    pose = (1 - share) * a + share * b
    # The rotation nearest to the weighted mean of two that are 1/50 s apart.
    u, _, v = np.linalg.svd(pose[:3, :3])
    pose[:3, :3] = u @ v
    return pose


def placed(scan, truth, base_from_lidar):
    """The points of a scan in the frame of the truth, each placed with the sensor's pose at its own time."""
    stamp, xyz, time = scan
    ranges_m = np.linalg.norm(xyz, axis=1)
    is_ground = (ranges_m > RANGES_M[0]) & (ranges_m < RANGES_M[1])
    xyz, time = xyz[is_ground], time[is_ground]
    span = max(time.max(), 1e-9)
    parts = np.minimum((time / span * PARTS).astype(int), PARTS - 1)
    out = np.empty_like(xyz)
    for part in np.unique(parts):
        pose = between(truth, stamp + (part + 0.5) / PARTS * span) @ base_from_lidar
        of = parts == part
        out[of] = xyz[of] @ pose[:3, :3].T + pose[:3, 3]
    return out


def thickness_m(scans, truth, base_from_lidar):
    """Standard deviation of points from the plane of their ground cell, m: the median over cells; and their number."""
    points = np.vstack([placed(scan, truth, base_from_lidar) for scan in scans])
    cells = np.floor(points[:, :2] / CELL_M).astype(int)
    _, cell, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    order, ends = np.argsort(cell.ravel(), kind="stable"), np.cumsum(counts)
    off = []
    for count, end in zip(counts, ends):
        if count >= POINTS_OF_CELL:
            of = points[order[end - count:end]]
            off.append(np.sqrt(max(np.linalg.eigvalsh(np.cov(of.T))[0], 0.0)))
    return float(np.median(off)), len(off)


def main():
    scans, truth, base_from_lidar = read(sys.argv[1])
    last = [scan for scan in scans if scan[0] + scan[2].max() <= truth[-1][0]][-SCANS:]
    own_m, cells = thickness_m(last, truth, base_from_lidar)
    zero_m, _ = thickness_m([(stamp, xyz, 0 * time) for stamp, xyz, time in last], truth, base_from_lidar)
    print(json.dumps({"scans": len(last), "span_s": float(np.median([time.max() for *_, time in last])), "cells": cells,
                      "thickness_m": own_m, "thickness_without_times_m": zero_m}))


if __name__ == "__main__":
    main()
