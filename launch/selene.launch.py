"""Starts a run of Selene. The other launch files include this one and set other defaults.

    ros2 launch selene selene.launch.py [robot:=NAME|FILE] [world:=NAME|FILE] [headless:=false] ...

`ros2 launch selene selene.launch.py --show-args` lists all arguments. Selene itself checks their values: it refuses
bad ones with a message that says what is allowed, and the launch then fails.
"""

import math
import os
import re
import shutil

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, ExecuteProcess, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration

# The repository, or share/selene of the workspace in which Selene is installed.
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BOOL = ["true", "false", "True", "False"]
# Seconds that a process has after Ctrl-C to write its bag, ruts and images; the default of launch is 5.
TIME_TO_END = "60"

# Name, default, allowed values (None: Selene checks them), description.
ARGUMENTS = [
    ("world", "", None,
     "scenario: a name in config/scenario or a YAML file; empty for the one named as the robot, else polar"),
    ("params_file", "", None, "scenario file that is used instead of world's"),
    ("robot", "", None, "rover in place of the scenario's only one: a name in config/rover or a YAML file"),
    ("namespace", "", None, "namespace of the only rover's topics"),
    ("x", "", None, "start of the only rover, map x [m]; empty for the scenario's"),
    ("y", "", None, "start, map y [m]; empty for the scenario's"),
    ("z", "", None, "start, height above standing on the ground [m]; empty for the scenario's"),
    ("yaw", "", None, "start, heading from map x, counter-clockwise [rad]; empty for the scenario's"),
    ("seed", "", None, "seed of craters, rocks and noise; empty for the scenario's"),
    ("utc", "", None,
     "instant at which simulated time is zero, such as 2026-11-21T12:00:00Z; empty for the scenario's"),
    ("pace", "real-time", None, "real-time, fast, or a factor"),
    ("duration", "", None, "simulated seconds; empty for the routes' end"),
    ("twist", "stamped", ["stamped", "plain"], "whether cmd_vel is TwistStamped or plain Twist"),
    ("processes", "one", ["one", "several"], "all in one process, or simulation, cameras, lidars and navigation apart"),
    ("run", "", None, "the run's name among the runs of the ROS domain; empty for one by chance"),
    ("device", "auto", ["auto", "gpu", "cpu"], "what traces rays"),
    ("record", "", None, "new folder for a rosbag2; of several processes, only the simulation's topics are in it"),
    ("out", "out", None, "folder for the pictures of a run in one process"),
    ("data", "", None, "folder of third-party elevation data; empty for the environment's SELENE_DATA"),
    ("use_sim_time", "true", BOOL, "whether rviz2 and what is included follow /clock, which Selene always publishes"),
    ("headless", "true", BOOL, "false starts rviz2 too"),
    ("rviz", "false", BOOL, "true starts rviz2 too"),
    ("rviz_config", "viper.rviz", None, "a file beside the launch files, or any other"),
    ("domain_id", "", None, "ROS domain; empty for the environment's ROS_DOMAIN_ID"),
    ("discovery", "", ["", "SUBNET", "LOCALHOST", "OFF", "SYSTEM_DEFAULT"],
     "who is looked for; empty for the environment's ROS_AUTOMATIC_DISCOVERY_RANGE"),
    ("interface", "", None, "the only network interface that is used, by name or IPv4 address; empty for all"),
    ("clock_authority", "", None, "whose clock real time is: simulation, wall or ptp:DEVICE"),
    ("realtime_priority", "", None, "1 to 99: keep the pace in a thread of real time; empty for an ordinary one"),
    ("late_frames", "", None, "images and clouds that leave late: send, drop or drop:SECONDS"),
    ("bandwidth_limit", "", None, "bytes a second beyond which images and clouds are left out; empty for no limit"),
    ("executable", "", None, "the selene program; empty for the installed one, else that of PATH, else target/release"),
]
# Options of `selene run` and of the simulation node, by the launch argument that sets each.
WORLD = {"namespace": "namespace", "x": "x", "y": "y", "z": "z", "seed": "seed", "utc": "utc", "data": "data",
         "run": "run", "interface": "interface"}
SIMULATION = {"pace": "pace", "duration": "for", "record": "record", "clock_authority": "clock-authority", "realtime_priority": "realtime-priority",
              "late_frames": "late-frames", "bandwidth_limit": "bandwidth-limit"}


def program(executable):
    """The selene program: the given one, else installed beside this file, in PATH, or built in this repository."""
    installed = os.path.normpath(os.path.join(ROOT, "..", "..", "lib", "selene", "selene"))
    built = os.path.join(ROOT, "target", "release", "selene")
    for file in [executable] if executable else [installed, shutil.which("selene"), built]:
        if file and os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    missing = executable or "selene"
    raise RuntimeError(f"{missing}: no such program; run `cargo build --release` or set executable:=FILE")


def named(argument, value, kind):
    """The file that an argument names: a name in config or the path of any file."""
    folder = os.path.join(ROOT, "config", kind)
    for file in (os.path.join(folder, value + ".yaml"), value):
        if os.path.isfile(file):
            return file
    known = ", ".join(sorted(name[:-len(".yaml")] for name in os.listdir(folder) if name.endswith(".yaml")))
    raise RuntimeError(f"{argument}:={value}: neither a file nor a name in config/{kind}: {known}")


def scenario(value):
    """Path of the scenario's file."""
    if value["params_file"]:
        return named("params_file", value["params_file"], "scenario")
    own = os.path.join(ROOT, "config", "scenario", value["robot"] + ".yaml")
    return named("world", value["world"] or (value["robot"] if os.path.isfile(own) else "polar"), "scenario")


def degrees(radians):
    """The value of the option --yaw."""
    try:
        return str(math.degrees(float(radians)))
    except ValueError:
        raise RuntimeError(f"yaw:={radians}: must be a number of radians") from None


def options(value, names):
    """The options whose launch arguments are set."""
    return [f"--{option}={value[name]}" for name, option in names.items() if value[name]]


def world_options(value):
    robot = ["--rover=" + named("robot", value["robot"], "rover")] if value["robot"] else []
    yaw = ["--yaw=" + degrees(value["yaw"])] if value["yaw"] else []
    return robot + yaw + options(value, WORLD)


def simulation_options(value):
    return options(value, SIMULATION) + (["--twist-unstamped"] if value["twist"] == "plain" else [])


def commands(value):
    """The command line of each process, by its name; the launch ends with the first process."""
    selene, file, world = program(value["executable"]), scenario(value), world_options(value)
    simulation, device = simulation_options(value), "--device=" + value["device"]
    if value["processes"] == "one":
        return {"selene": [selene, "run", file, *world, *simulation, device, "--out=" + value["out"]]}
    node = ["--scenario=" + file, *world]
    return {
        # Waits for the sensors, so that no frame is lost while they start.
        "simulation": [selene, "simulation", *node, *simulation, "--participants=camera,lidar,navigation"],
        "camera": [selene, "camera", *node, device],
        "lidar": [selene, "lidar", *node, device],
        "navigation": [selene, "navigation", *node],
    }


def on_exit(is_first):
    """The launch fails when a process fails, and ends when the first process ends."""
    def exited(event, context):
        if event.returncode and not context.is_shutdown:
            raise RuntimeError(f"{event.process_name} ended with status {event.returncode}: see its message")
        return [EmitEvent(event=Shutdown(reason="Selene has ended"))] if is_first and not context.is_shutdown else []
    return exited


def environment(value):
    asked = {"ROS_DOMAIN_ID": value["domain_id"], "ROS_AUTOMATIC_DISCOVERY_RANGE": value["discovery"]}
    return {name: text for name, text in asked.items() if text}


def rviz(value):
    """RViz, with topics under the rover's namespace."""
    if not shutil.which("rviz2"):
        raise RuntimeError("rviz2: no such program; source a ROS 2 that has it, or leave rviz:= and headless:= out")
    beside = os.path.join(ROOT, "launch", value["rviz_config"])
    config = beside if os.path.isfile(beside) else value["rviz_config"]
    if not os.path.isfile(config):
        raise RuntimeError(f"rviz_config:={config}: no such file")
    with open(config, encoding="utf-8") as text:
        topics = set(re.findall(r"^\s+Value: (/\S+)", text.read(), flags=re.MULTILINE))
    namespace = value["namespace"].strip("/")
    moved = [word for topic in sorted(topics) for word in ("-r", f"{topic}:=/{namespace}{topic}")] if namespace else []
    command = ["rviz2", "-d", config, "--ros-args", "-p", "use_sim_time:=" + value["use_sim_time"].lower(), *moved]
    return ExecuteProcess(cmd=command, name="rviz2", output="screen", additional_env=environment(value))


def start(context):
    value = {name: LaunchConfiguration(name).perform(context) for name, *_ in ARGUMENTS}
    started, handlers = [], []
    for number, (name, command) in enumerate(commands(value).items()):
        process = ExecuteProcess(cmd=command, name=name, output="screen", additional_env=environment(value),
                                 sigterm_timeout=TIME_TO_END, sigkill_timeout=TIME_TO_END)
        started.append(process)
        handlers.append(RegisterEventHandler(OnProcessExit(target_action=process, on_exit=on_exit(number == 0))))
    wants_view = value["rviz"].lower() == "true" or value["headless"].lower() == "false"
    return [*handlers, *started, *([rviz(value)] if wants_view else [])]


def generate_launch_description():
    declared = [DeclareLaunchArgument(name, default_value=default, description=text, choices=allowed)
                for name, default, allowed, text in ARGUMENTS]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])
