"""Starts Selene's nodes as separate processes under `ros2 launch`.

    ros2 launch launch/viper.launch.py [world:=polar|hadley|FILE] [headless:=true] ...

The processes find one another over DDS; the simulation waits for the sensor nodes
(lockstep), so that no frame is lost while they start.
"""

import os
import re
import shutil

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, ExecuteProcess, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# name, default, description
ARGUMENTS = [
    ("world", "polar", "scenario: a name in config/scenario or a YAML file"),
    ("params_file", "", "scenario file that is used instead of world's"),
    ("robot", "", "the rover the scenario must have, by the name of its file in config/rover; empty for any"),
    ("namespace", "", "namespace of the rover's topics"),
    ("x", "", "start, map x [m]; empty for the scenario's"),
    ("y", "", "start, map y [m]; empty for the scenario's"),
    ("z", "", "start, height above standing on the ground [m]; empty for the scenario's"),
    ("yaw", "", "start, heading [rad]; empty for the scenario's"),
    ("use_sim_time", "true", "for nodes of yours that you add: Selene always publishes /clock"),
    ("headless", "true", "false starts rviz2 too"),
    ("rviz", "false", "true starts rviz2 too"),
    ("pace", "real-time", "real-time, fast, or a factor"),
    ("duration", "", "simulated seconds; empty for the route's end"),
    ("device", "auto", "what traces: auto, gpu or cpu"),
    ("data", os.environ.get("SELENE_DATA", ""), "folder of third-party elevation data"),
    ("record", "", "folder for a rosbag2 of what the simulation node publishes (`ros2 bag record -a` takes all)"),
    ("executable", "", "the selene program; empty looks in PATH, then in this repository's target/release"),
]


def selene(executable):
    """The program: as asked, from PATH, or as built in this repository."""
    built = os.path.join(ROOT, "target", "release", "selene")
    found = executable or shutil.which("selene") or built
    if not (os.path.isfile(found) and os.access(found, os.X_OK)):
        raise RuntimeError(f"{found}: is not there; run `cargo build --release` or set executable:=FILE")
    return found


def scenario(world, params_file):
    """The scenario's file."""
    named = os.path.join(ROOT, "config", "scenario", world + ".yaml")
    found = params_file or (named if os.path.isfile(named) else world)
    if not os.path.isfile(found):
        raise RuntimeError(f"world: {world} is neither a name in config/scenario nor a file")
    return found


def rovers(file):
    """The rovers of a scenario, by the names of their files."""
    with open(file, encoding="utf-8") as text:
        bare = re.sub(r"(^|\s)#.*", "", text.read(), flags=re.MULTILINE)
    return re.findall(r"\bfile:\s*[\"']?[^\s,}\"']*rover/([\w-]+)\.yaml", bare)


def check_robot(file, robot):
    """Refuses a scenario without the rover that was asked for."""
    if robot and robot not in rovers(file):
        raise RuntimeError(f"robot: {file} has no {robot}; it has {', '.join(rovers(file))}")


def options(pairs):
    """Command-line options for those values that are set."""
    return [word for name, value in pairs if value for word in ("--" + name, value)]


def degrees(radians):
    return str(float(radians) * 57.29577951308232) if radians else ""


def stop_if_failed(event, _):
    """Without one of its sensors a run in lockstep would wait for ever."""
    return [EmitEvent(event=Shutdown(reason=f"{event.process_name} failed"))] if event.returncode else []


def start(context):
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    program = selene(value["executable"])
    file = scenario(value["world"], value["params_file"])
    check_robot(file, value["robot"])
    common = ["--scenario", file] + options([
        ("namespace", value["namespace"]), ("data", value["data"]),
        ("x", value["x"]), ("y", value["y"]), ("z", value["z"]), ("yaw", degrees(value["yaw"]))])
    traced = common + options([("device", value["device"])])
    simulation = ExecuteProcess(
        cmd=[program, "simulation"] + common + ["--participants", "camera,lidar,navigation"] + options([
            ("pace", value["pace"]), ("for", value["duration"]), ("record", value["record"])]),
        name="simulation", output="screen")
    sensors = [
        ExecuteProcess(cmd=[program, name] + (traced if name != "navigation" else common), name=name, output="screen")
        for name in ("camera", "lidar", "navigation")]
    ended = RegisterEventHandler(OnProcessExit(target_action=simulation, on_exit=[EmitEvent(event=Shutdown())]))
    failed = [RegisterEventHandler(OnProcessExit(target_action=node, on_exit=stop_if_failed)) for node in sensors]
    wanted = value["rviz"] == "true" or value["headless"] == "false"
    view = [ExecuteProcess(cmd=["rviz2", "-d", os.path.join(ROOT, "launch", "viper.rviz"),
                                "--ros-args", "-p", "use_sim_time:=" + value["use_sim_time"]],
                           name="rviz2", output="screen")] if wanted else []
    return [*sensors, simulation, ended, *failed, *view]


def generate_launch_description():
    declared = [DeclareLaunchArgument(name, default_value=default, description=text)
                for name, default, text in ARGUMENTS]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])
