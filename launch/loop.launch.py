"""A rover on the closed route of the heading studies: Sorato with its two side cameras, or EX1.

    ros2 launch selene loop.launch.py [world:=ex1_loop] [utc:=2026-11-16T12:00:00Z] [record:=FOLDER] ...

Arguments are those of selene.launch.py; `utc` moves the Sun.
"""

import os

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

SELENE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "selene.launch.py")


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument("world", default_value="sorato_loop",
                              description="scenario whose route returns (sorato_loop, ex1_loop): a name in "
                                          "config/scenario or a YAML file"),
        IncludeLaunchDescription(PythonLaunchDescriptionSource(SELENE)),
    ])
