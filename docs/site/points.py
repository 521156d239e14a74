"""Small pictures of what lidars, radars and time-of-flight cameras measure in the scene of all sensors."""

import numpy as np

from common import text, value
from plots import figure, finish

RUN_S = 1
# Metres that are seen from above: behind, ahead, and to each side.
AROUND_M = (-25, 25, 14)
RADAR_M = (0, 60, 17)
# Heights over the lidar, distance, signals and depths that the colours span.
HEIGHTS_M = (-3.5, 0.5)
DISTANCE_M = 30
SIGNALS_DB = (10, 40)
DEPTHS_M = (0.5, 3.5)
# Sunlight blinds the time-of-flight camera, so it is at night here, and nearer to the lander.
NIGHT = ["--set", "site=polar", "--utc", "2026-12-03T06:00:00Z", "--x", 4.5, "--y", -2]


def fields(cloud, *wanted):
    """Columns of a PointCloud2 that are 32-bit floats, without points that are not finite."""
    offsets = {field.name: field.offset for field in cloud.fields}
    rows = np.frombuffer(cloud.data, np.uint8).reshape(-1, cloud.point_step)
    columns = np.stack([rows[:, offsets[name] : offsets[name] + 4].copy().view("<f4")[:, 0] for name in wanted])
    return columns[:, np.isfinite(columns).all(axis=0)]


def draw(name, plot, x, y, colour, between, bounds_x, bounds_y):
    """Points on black; larger ones where they are few."""
    drawing, axes = plot
    size = np.clip(2e4 / len(x), 0.4, 6)
    axes.scatter(x, y, size, colour, cmap="turbo", vmin=between[0], vmax=between[1], linewidths=0)
    axes.set(facecolor="black", aspect="equal", xlim=bounds_x, ylim=bounds_y)
    axes.grid(False)
    finish(f"sensor_{name}", drawing)


def from_above(name, x, y, colour, between, bounds_m):
    """Points from above, ahead to the right."""
    behind, ahead, side = bounds_m
    draw(name, figure("from above, m"), x, y, colour, between, (behind, ahead), (-side, side))


def as_seen(name, x, y, z):
    """Points by their directions, red where they are near."""
    left, up = np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))
    plot = figure("azimuth, elevation in degrees", 0.4 + 2.1 * np.ptp(up) / np.ptp(left))
    nearness = -np.sqrt(x**2 + y**2 + z**2)
    draw(name, plot, left, up, nearness, (-DISTANCE_M, 0), (left.max(), left.min()), (up.min(), up.max()))


def lidar(selene, name):
    """A scan: of a spinning lidar from above by height, of another one as it sees the scene, by distance."""
    topic = f"/{value(text('sensor', name), 'name')}/points"
    x, y, z = fields(selene.record(selene.scene([name]), RUN_S)[topic][-1], "x", "y", "z")
    if "spinning:" in text("sensor", name):
        from_above(name, x, y, z, HEIGHTS_M, AROUND_M)
    else:
        as_seen(name, x, y, z)


def radar(selene, name):
    """The returns of a scan from above, by their signal."""
    cloud = selene.record(selene.scene([name]), RUN_S)[f"/{name}/points"][-1]
    x, y, signal_db = fields(cloud, "x", "y", "amplitude")
    from_above(name, x, y, signal_db, SIGNALS_DB, RADAR_M)


def depth_camera(selene, name):
    """A depth image."""
    image = selene.record(selene.scene([name]), RUN_S, *NIGHT)[f"/{name}/depth/image_rect_raw"][-1]
    depth_m = np.frombuffer(image.data, "<f4").reshape(image.height, image.width)
    drawing, axes = figure("depth")
    axes.imshow(-depth_m, cmap="turbo", vmin=-DEPTHS_M[1], vmax=-DEPTHS_M[0])
    axes.set_axis_off()
    finish(f"sensor_{name}", drawing)
