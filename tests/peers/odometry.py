"""Measures the drift of a foreign lidar odometry on the clouds of a bag.

  odometry.py BAG

BAG is a bag of `selene run --record`, read as by scans.py. The odometry is KISS-ICP (Vizzo et al. 2023) with default
settings, except a minimum range, which excludes the rover itself. Its drift is that of the KITTI benchmark (Geiger et al.
2012) at its two shortest lengths: the error of translation over stretches of 100 and of 200 m, relative to these, as mean
of all. Prints one JSON object: the distance driven, and both drifts with the points' own times and with all times set
to 0.
"""

import json
import sys

import numpy as np
from kiss_icp.config import load_config
from kiss_icp.kiss_icp import KissICP

from scans import between, read

# In the first scan the rover settles on its springs; the odometry must not begin there.
SETTLED_S = 0.1
# Nearer points are on the rover itself.
RANGES_M = (3.5, 100.0)
# KITTI's shortest stretches, and a stretch begins at every tenth scan.
STRETCHES_M, BEGINS_EVERY = (100.0, 200.0), 10


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


def drift(poses, truth, stretch_m):
    """Mean error of translation over stretches of this length, relative to it."""
    steps_m = [np.linalg.norm(b[:3, 3] - a[:3, 3]) for a, b in zip(truth, truth[1:])]
    way_m = np.concatenate([[0.0], np.cumsum(steps_m)])
    errors = []
    for begin in range(0, len(truth), BEGINS_EVERY):
        end = np.searchsorted(way_m, way_m[begin] + stretch_m)
        if end == len(truth):
            break
        there, here = (np.linalg.inv(of[begin]) @ of[end] for of in (truth, poses))
        errors.append(np.linalg.norm((np.linalg.inv(there) @ here)[:3, 3]) / stretch_m)
    if not errors:
        sys.exit(f"the way is shorter than {stretch_m} m")
    return float(np.mean(errors))


def main():
    scans, truth, base_from_lidar = read(sys.argv[1])
    scans = [scan for scan in scans if SETTLED_S <= scan[0] and scan[0] + scan[2].max() <= truth[-1][0]]
    ends = [between(truth, stamp + time.max()) @ base_from_lidar for stamp, _, time in scans]
    # Without times a scan is of no certain instant: its middle is best on average, and half a scan earlier or later would
    # count as drift where the rover turns.
    middles = [between(truth, stamp + 0.5 * time.max()) @ base_from_lidar for stamp, _, time in scans]
    way_m = sum(float(np.linalg.norm(b[:3, 3] - a[:3, 3])) for a, b in zip(ends, ends[1:]))
    own, zero = odometry(scans, True), odometry(scans, False)
    print(json.dumps({
        "scans": len(scans), "way_m": way_m,
        "drift": [drift(own, ends, stretch_m) for stretch_m in STRETCHES_M],
        "drift_without_times": [drift(zero, middles, stretch_m) for stretch_m in STRETCHES_M],
    }))


main()
