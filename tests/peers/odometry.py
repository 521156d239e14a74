"""Measures how far a foreign lidar odometry on the clouds of a bag is from the truth at the end.

  odometry.py BAG

BAG is a bag of `selene run --record`, read as by scans.py. The odometry is KISS-ICP (Vizzo et al. 2023) with default
settings, except a minimum range, which excludes the rover itself. Prints one JSON object: the distance driven, and the
distance between the ends of odometry and truth, with the points' own times and with all times set to 0.
"""

import json
import sys

import numpy as np
from kiss_icp.config import load_config
from kiss_icp.kiss_icp import KissICP

from scans import between, read

# In the first scan the rover settles on its springs, which the one pose that all others are relative to must not show.
SETTLED_S = 0.1
# Nearer points are on the rover itself.
RANGES_M = (3.5, 100.0)


def odometry(scans, with_times):
    """The pose at the end of each scan: KISS-ICP moves the points to where the sensor was at the last point's time.

    It divides by the span of the times: if all are 0, it is set to take the points unchanged, as of one instant.
    """
    config = load_config(None)
    config.data.min_range, config.data.max_range = RANGES_M
    config.data.deskew = with_times
    config.mapping.voxel_size = RANGES_M[1] / 100.0
    registration, poses = KissICP(config), []
    for _, xyz, time in scans:
        registration.register_frame(xyz, time / time.max())
        poses.append(registration.last_pose.copy())
    return poses


def off_m(poses, truth):
    """Distance of each pose from the truth, m, both relative to the first pose."""
    there, here = np.linalg.inv(truth[0]), np.linalg.inv(poses[0])
    return [float(np.linalg.norm((there @ t)[:3, 3] - (here @ p)[:3, 3])) for t, p in zip(truth, poses)]


def main():
    scans, truth, base_from_lidar = read(sys.argv[1])
    scans = [scan for scan in scans if SETTLED_S <= scan[0] and scan[0] + scan[2].max() <= truth[-1][0]]
    ends = [between(truth, stamp + time.max()) @ base_from_lidar for stamp, _, time in scans]
    # Without times all points count as measured at the scan's beginning.
    begins = [between(truth, stamp) @ base_from_lidar for stamp, _, _ in scans]
    way_m = sum(float(np.linalg.norm(b[:3, 3] - a[:3, 3])) for a, b in zip(ends, ends[1:]))
    own, zero = off_m(odometry(scans, True), ends), off_m(odometry(scans, False), begins)
    print(json.dumps({"scans": len(scans), "way_m": way_m, "end_off_m": own[-1], "most_off_m": max(own),
                      "end_off_without_times_m": zero[-1], "most_off_without_times_m": max(zero)}))


main()
