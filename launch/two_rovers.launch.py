"""Two rovers in one world, each under its own namespace: /rover_1/cmd_vel, /rover_2/navcam_left/image_raw and so on.

    ros2 launch selene two_rovers.launch.py [world:=convoy] [headless:=false] ...

Arguments are those of selene.launch.py, except those of a single rover (robot, namespace, x, y, z, yaw): a scenario
with several rovers refuses them.
"""

import os

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

SELENE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "selene.launch.py")


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument("world", default_value="two_rovers",
                              description="scenario of several rovers: a name in config/scenario or a YAML file"),
        DeclareLaunchArgument("rviz_config", default_value="two_rovers.rviz",
                              description="a file beside the launch files, or any other"),
        IncludeLaunchDescription(PythonLaunchDescriptionSource(SELENE)),
    ])
