"""A run in one process that records all topics.

    ros2 launch selene record.launch.py [record:=FOLDER] [robot:=ex1] [duration:=60] ...

The bag is complete however the run ends, even by Ctrl-C: `ros2 bag info FOLDER`. Arguments are those of
selene.launch.py.
"""

import os
import time

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

SELENE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "selene.launch.py")


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument("record", default_value=time.strftime("selene_%Y_%m_%d-%H_%M_%S"),
                              description="new folder for the rosbag2; by default one of the current time"),
        # One process: topics of nodes in other processes would not be in the bag.
        IncludeLaunchDescription(PythonLaunchDescriptionSource(SELENE), launch_arguments={"processes": "one"}.items()),
    ])
