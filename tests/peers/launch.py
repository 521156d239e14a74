"""Runs a launch file with stand-ins for ROS 2's `launch` package, and tells what it would start.

    launch.py FILE [NAME:=VALUE ...]

prints {"started": [[word, ...], ...]} or {"refused": why}. Arguments that are not given have their defaults.
"""

import importlib.util
import json
import sys
import types


class Action:
    """Keeps what it is made with."""

    def __init__(self, *values, **named):
        self.values, self.named = values, named


class DeclareLaunchArgument(Action):
    pass


class ExecuteProcess(Action):
    pass


class OpaqueFunction(Action):
    pass


class LaunchConfiguration(Action):
    def perform(self, context):
        return context[self.values[0]]


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


def description_of(file):
    stand_in("launch", LaunchDescription=list)
    stand_in("launch.actions", DeclareLaunchArgument=DeclareLaunchArgument, EmitEvent=Action,
             ExecuteProcess=ExecuteProcess, OpaqueFunction=OpaqueFunction, RegisterEventHandler=Action)
    stand_in("launch.event_handlers", OnProcessExit=Action)
    stand_in("launch.events", Shutdown=Action)
    stand_in("launch.substitutions", LaunchConfiguration=LaunchConfiguration)
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("launch_file", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate_launch_description()


def main(file, *given):
    description = description_of(file)
    declared = [action for action in description if isinstance(action, DeclareLaunchArgument)]
    values = {action.values[0]: action.named["default_value"] for action in declared}
    for name, value in (argument.split(":=", 1) for argument in given):
        if name not in values:
            sys.exit(f"{name} is no argument; there are {', '.join(values)}")
        values[name] = value
    start, = (action.named["function"] for action in description if isinstance(action, OpaqueFunction))
    try:
        started = [action.named["cmd"] for action in start(values) if isinstance(action, ExecuteProcess)]
        print(json.dumps({"started": started}))
    except RuntimeError as error:
        print(json.dumps({"refused": str(error)}))


main(*sys.argv[1:])
