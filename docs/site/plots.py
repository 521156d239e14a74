"""Small plots: what soils do to a wheel, and what instruments publish."""

import csv
import functools
import math

import cv2
import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from common import names, save, sensor_kind, text, value

matplotlib.rcParams.update({"font.size": 6, "axes.linewidth": 0.5, "axes.titlesize": 6, "lines.linewidth": 0.8})
matplotlib.rcParams.update({f"{axis}tick.major.{key}": 1.5 for axis in "xy" for key in ("size", "pad")})

PLOT_PX = 240
PLOT_QUALITY = 85

# The wheel of all soils: VIPER's, with its load on the Moon.
RADIUS_M, LOAD_N = 0.25, 180
WHEEL = ["--radius", RADIUS_M, "--width", 0.2, "--load", LOAD_N, "--speed", 0.2, "--slip=-0.2:0.8:0.1"]
SLOPES = ["--slope", "0:18:2", "--speed", 0.3]
SINKAGE_MM = 60

SPHERE_M = 1_737_400
DRIVE_S = 40
# VIPER drives toward the Sun, turns to its right, and stands.
DRIVE = """site: polar
utc: "2026-11-21T12:00:00Z"
rover: {{file: viper, yaw_deg: 100}}
sensors: [{sensors}]
route: {{speed_m_s: 0.2, waypoints_m: [[-0.5, 3], [1.5, 4.5]]}}
"""
# Ultrasound needs air, so the sonar is on Earth, where VIPER drives toward the lander.
ON_EARTH = ["--set", "gravity_m_s2=9.81", "--soil", "rigid", "--set", "objects.0.x_m=6", "--set", "objects.0.y_m=0"]


def figure(title, height=1.5):
    drawing = Figure(figsize=(2.4, height), dpi=200, layout="constrained")
    axes = drawing.subplots()
    axes.set_title(title, loc="left", pad=2)
    axes.grid(linewidth=0.3)
    return drawing, axes


def finish(name, drawing):
    canvas = FigureCanvasAgg(drawing)
    canvas.draw()
    image = cv2.cvtColor(np.asarray(canvas.buffer_rgba()), cv2.COLOR_RGBA2BGR)
    save(name, image, PLOT_PX, PLOT_QUALITY)


def columns(selene, kind, *arguments):
    """What a rig measured: gives the column of a name."""
    folder = selene.folder / kind
    selene("rig", kind, *arguments, "--out", folder)
    rows = list(csv.DictReader((folder / f"{kind}.csv").open()))
    return lambda name: np.array([float(row[name]) for row in rows])


def add_sinkage(axes, x, sinkage_m):
    """Sinkage on the right, downward from the top."""
    right = axes.twinx()
    right.plot(x, 1000 * sinkage_m, "--", color="tab:brown")
    right.set_ylim(SINKAGE_MM, 0)
    right.tick_params(colors="tab:brown")


def soil(selene, name):
    draw = slip_on_slopes if "  data:" in text("soil", name) else pull_of_a_wheel
    finish(f"soil_{name}", draw(selene, name))


def pull_of_a_wheel(selene, name):
    """Pull and torque, over load and over load times radius, and sinkage: over slip."""
    moves = ["--bulldozing"] if "\nbulldozing:" in text("soil", name) else []
    column = columns(selene, "wheel", "--soil", name, *WHEEL, *moves)
    drawing, axes = figure("pull, torque; sinkage in mm (right)")
    axes.plot(column("slip"), column("drawbar_n") / LOAD_N, color="tab:blue")
    axes.plot(column("slip"), -column("torque_nm") / (LOAD_N * RADIUS_M), color="tab:orange")
    axes.set_ylim(-0.9, 0.9)
    add_sinkage(axes, column("slip"), column("sinkage_m"))
    return drawing


def slip_on_slopes(selene, name):
    """Slip and sinkage of EX1 over slope: the law gives no pull at a given slip."""
    column = columns(selene, "slope", "ex1", "--soil", name, *SLOPES)
    drawing, axes = figure("slip of EX1 over slope in degrees")
    axes.plot(column("slope_deg"), column("slip"), color="tab:green")
    axes.set_ylim(0, 1)
    add_sinkage(axes, column("slope_deg"), column("sinkage_m"))
    return drawing


def of(vector, axes="xyz", factor=1):
    return {axis: factor * getattr(vector, axis) for axis in axes}


def degrees(vector):
    return of(vector, factor=180 / math.pi)


def of_joints(joints, values):
    """Values by the initials of joints: `fl` of `front_left_drive`."""
    return {"".join(word[0] for word in joint.split("_")[:2]): value for joint, value in zip(joints, values)}


def place(fix):
    """Metres to the east and north of the site's origin."""
    latitude, longitude = (float(value(text("site", "polar"), f"{angle}_deg")) for angle in ("latitude", "longitude"))
    degree_m = math.radians(SPHERE_M)
    east_m = degree_m * (fix.longitude - longitude) * math.cos(math.radians(latitude))
    return {"east": east_m, "north": degree_m * (fix.latitude - latitude)}


# Of each kind of instrument: its topic, what is drawn, and lines of a message.
READINGS = {
    "battery": ("state", "voltage, V", lambda message: {"": message.voltage}),
    "contact": ("contact", "load, N", lambda message: {"": message.load}),
    "encoders": ("joint_states", "rate, rad/s", lambda message: of_joints(message.name, message.velocity)),
    "force_torque": ("wrench", "force, N", lambda message: of(message.wrench.force)),
    "imu": ("data", "turning rate, deg/s", lambda message: degrees(message.angular_velocity)),
    "inclinometer": ("tilt", "roll x, pitch y, deg", lambda message: degrees(message.vector)),
    "joint_torques": ("joint_torques", "torque, N m", lambda message: of_joints(message.name, message.effort)),
    "magnetometer": ("mag", "field, µT", lambda message: of(message.magnetic_field, factor=1e6)),
    "odometry": ("odom", "place, m", lambda message: of(message.pose.pose.position)),
    "position": ("fix", "place, m", place),
    "range_finder": ("range", "distance, m", lambda message: {"": message.range}),
    "star_tracker": ("attitude_in_map", "quaternion", lambda message: of(message.quaternion, "xyzw")),
    "sun_sensor": ("direction", "direction to the Sun", lambda message: of(message.vector)),
    "temperature": ("temperature", "temperature, °C", lambda message: {"": message.temperature}),
}


@functools.cache
def drive(selene):
    """What all instruments publish in one drive."""
    sensors = [name for name in names("sensor") if sensor_kind(name) in READINGS and name != "sonar"]
    return selene.record(selene.file("drive.yaml", DRIVE.format(sensors=", ".join(sensors))), DRIVE_S)


def add_lines(axes, messages, lines, **how):
    """Values of messages over their stamps; dots where there are few messages."""
    stamps = [message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec for message in messages]
    values = [lines(message) for message in messages]
    how = how or {"marker": "." if len(messages) < 300 else "", "linestyle": "" if len(messages) < 300 else "-"}
    for label in values[0]:
        axes.plot(stamps, [value[label] for value in values], markersize=2, label=label, **how)


def instrument(selene, name):
    """What an instrument publishes over time, s; beside the truth for odometry, which does not see slip."""
    topic, title, lines = READINGS[sensor_kind(name)]
    topics = selene.record(selene.scene([name]), DRIVE_S / 2, *ON_EARTH) if name == "sonar" else drive(selene)
    drawing, axes = figure(title)
    add_lines(axes, topics[f"/{name}/{topic}"], lines)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(ncols=4, fontsize=5, handlelength=0.8, columnspacing=0.6, borderpad=0.2)
    if sensor_kind(name) == "odometry":
        add_lines(axes, topics["/ground_truth/odom"], lines, color="black", linestyle=":")
    axes.set_xlim(0, axes.get_xlim()[1])
    finish(f"sensor_{name}", drawing)
