"""A stand-in for a user's stack: it has its own arguments, one with the same name as one of Selene's."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration

WAITS = "trap 'echo the stack was interrupted; exit 0' INT; echo \"$0\"; while :; do sleep 0.1; done"
ARGUMENTS = {"use_sim_time": "false", "world": "its own", "namespace": "its own"}


def start(context):
    has = ", ".join(f"{name}={LaunchConfiguration(name).perform(context)}" for name in ARGUMENTS)
    return [ExecuteProcess(cmd=["sh", "-c", WAITS, f"the stack has {has}"], name="stack", output="screen")]


def generate_launch_description():
    declared = [DeclareLaunchArgument(name, default_value=default) for name, default in ARGUMENTS.items()]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])
