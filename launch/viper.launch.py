"""One rover with simulation, cameras, lidars and navigation as separate processes: by default VIPER near the lunar
south pole.

    ros2 launch selene viper.launch.py [robot:=curiosity] [world:=hadley] [headless:=false] ...

The processes find one another over DDS; simulated time waits for the sensors, so that no frame is lost while they
start. Arguments are those of selene.launch.py.
"""

import os

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

SELENE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "selene.launch.py")


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument("processes", default_value="several", choices=["one", "several"],
                              description="all in one process, or simulation, cameras, lidars and navigation apart"),
        IncludeLaunchDescription(PythonLaunchDescriptionSource(SELENE)),
    ])
