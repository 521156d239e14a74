"""Software in the loop: simulated time waits for the commands of an unchanged control stack.

    ros2 launch selene sil.launch.py stack:=FILE.launch.py [world:=sil] [robot:=ex1] ...

The scenario names the topics for which simulated time waits, and the timeouts. `stack` is started beside Selene with
use_sim_time:=true and no other argument, and ends with it; without `stack`, start yours by hand. All other arguments
are those of selene.launch.py.
"""

import os

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import AnyLaunchDescriptionSource, PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

SELENE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "selene.launch.py")


def stack(context):
    """The stack's launch file, without Selene's arguments, whose names may clash with its own."""
    file = LaunchConfiguration("stack").perform(context)
    if not file:
        return []
    if not os.path.isfile(file):
        raise RuntimeError(f"stack:={file}: no such launch file")
    own = {"use_sim_time": LaunchConfiguration("use_sim_time").perform(context)}
    return [GroupAction([IncludeLaunchDescription(AnyLaunchDescriptionSource(file))], scoped=True, forwarding=False,
                        launch_configurations=own)]


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument("stack", default_value="", description="launch file of the stack; empty for none"),
        DeclareLaunchArgument("world", default_value="sil",
                              description="scenario that names the topics: a name in config/scenario or a YAML file"),
        DeclareLaunchArgument("pace", default_value="fast",
                              description="fast: as fast as Selene and the stack go together; real-time, or a factor"),
        IncludeLaunchDescription(PythonLaunchDescriptionSource(SELENE)),
        OpaqueFunction(function=stack),
    ])
