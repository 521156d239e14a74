"""Runs a launch file as `ros2 launch` does: with ROS 2's package `launch` if it is installed, else with a stand-in.

    run_launch.py FILE [NAME:=VALUE ...]

exits with 0 if nothing failed.
"""

import sys

sys.dont_write_bytecode = True
try:
    import launch.actions
except ImportError:
    import launch_stand_in

    launch_stand_in.install()

from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource


def main(file, *given):
    arguments = [tuple(argument.split(":=", 1)) for argument in given]
    included = IncludeLaunchDescription(PythonLaunchDescriptionSource(file), launch_arguments=arguments)
    service = LaunchService()
    service.include_launch_description(LaunchDescription([included]))
    return service.run()


sys.exit(main(*sys.argv[1:]))
