"""Hardware in the loop: the robot's own computer on the network, in real time.

    ros2 launch selene hil.launch.py interface:=eth0 [domain_id:=7] [clock_authority:=ptp:/dev/ptp0] [realtime_priority:=40] ...

One process without RViz; images and clouds that would be sent late are dropped, so that received data are fresh.
Arguments are those of selene.launch.py.
"""

import os

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

SELENE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "selene.launch.py")


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument("late_frames", default_value="drop",
                              description="images and clouds that leave late: send, drop or drop:SECONDS"),
        DeclareLaunchArgument("rviz_config", default_value="hil.rviz",
                              description="a file beside the launch files, or any other; this one shows no images"),
        IncludeLaunchDescription(PythonLaunchDescriptionSource(SELENE), launch_arguments={
            "pace": "real-time", "processes": "one"}.items()),
    ])
