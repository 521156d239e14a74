"""A stand-in for the part of ROS 2's package `launch` that Selene's launch files use, for machines without ROS 2.

As in `launch`, entities are visited in order; SIGINT to the launcher requests the end, and the terminal sends it to the
processes; the event Shutdown sends it to each of them; an exception ends everything, with exit status 1.
"""

import importlib.util
import os
import signal
import subprocess
import sys
import time
import types


class Context:
    def __init__(self, service):
        self.service, self.launch_configurations, self.is_shutdown = service, {}, False

    def visit(self, entities):
        for entity in entities or []:
            entity.execute(self)


class LaunchDescription(list):
    def execute(self, context):
        context.visit(self)


class LaunchConfiguration:
    def __init__(self, name):
        self.name = name

    def perform(self, context):
        return context.launch_configurations[self.name]


class DeclareLaunchArgument:
    def __init__(self, name, *, default_value=None, description="", choices=None):
        self.name, self.default, self.choices = name, default_value, choices

    def execute(self, context):
        value = context.launch_configurations.setdefault(self.name, self.default)
        if self.choices is not None and value not in self.choices:
            raise RuntimeError(f'Argument "{self.name}" provided value "{value}" is not valid. '
                               f"Valid options are: {self.choices}")


class OpaqueFunction:
    def __init__(self, *, function):
        self.function = function

    def execute(self, context):
        context.visit(self.function(context))


class PythonLaunchDescriptionSource:
    def __init__(self, file):
        self.file = file

    def load(self):
        spec = importlib.util.spec_from_file_location("launch_file", self.file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.generate_launch_description()


class IncludeLaunchDescription:
    def __init__(self, source, *, launch_arguments=()):
        self.source, self.arguments = source, launch_arguments

    def execute(self, context):
        context.launch_configurations.update(self.arguments)
        context.visit(self.source.load())


class GroupAction:
    def __init__(self, actions, *, scoped, forwarding, launch_configurations):
        assert scoped and not forwarding
        self.actions, self.configurations = actions, launch_configurations

    def execute(self, context):
        outer, context.launch_configurations = context.launch_configurations, dict(self.configurations)
        context.visit(self.actions)
        context.launch_configurations = outer


class ExecuteProcess:
    def __init__(self, *, cmd, name, output, additional_env=None, sigterm_timeout="5", sigkill_timeout="5"):
        self.command, self.name, self.environment = cmd, name, {**os.environ, **(additional_env or {})}
        self.process = None

    def execute(self, context):
        if not context.is_shutdown:
            self.process = subprocess.Popen(self.command, env=self.environment)
            context.service.running.append(self)


class OnProcessExit:
    def __init__(self, *, target_action, on_exit):
        self.target, self.on_exit = target_action, on_exit


class RegisterEventHandler:
    def __init__(self, handler):
        self.handler = handler

    def execute(self, context):
        context.service.handlers.append(self.handler)


class Shutdown:
    def __init__(self, *, reason):
        self.reason = reason


class EmitEvent:
    def __init__(self, *, event):
        self.event = event

    def execute(self, context):
        context.service.shut_down()


class LaunchService:
    def __init__(self):
        self.context, self.running, self.handlers, self.entities, self.status = Context(self), [], [], [], 0

    def include_launch_description(self, description):
        self.entities.append(description)

    def run(self):
        signal.signal(signal.SIGINT, lambda *_: setattr(self.context, "is_shutdown", True))
        self.guarded(self.context.visit, self.entities)
        while self.running:
            for ended in [running for running in self.running if running.process.poll() is not None]:
                self.running.remove(ended)
                self.guarded(self.tell, ended)
            time.sleep(0.02)
        return self.status

    def tell(self, ended):
        event = types.SimpleNamespace(process_name=ended.name, returncode=ended.process.returncode)
        for handler in [handler for handler in self.handlers if handler.target is ended]:
            self.context.visit(handler.on_exit(event, self.context))

    def guarded(self, act, *values):
        try:
            act(*values)
        except Exception as error:
            print(f"[ERROR] [launch]: Caught exception in launch: {error}", file=sys.stderr)
            self.status = 1
            self.shut_down()

    def shut_down(self):
        if not self.context.is_shutdown:
            self.context.is_shutdown = True
            for running in self.running:
                running.process.send_signal(signal.SIGINT)


def install():
    """Installs the modules of `launch` that the launch files import."""
    modules = {
        "launch": [LaunchDescription, LaunchService],
        "launch.actions": [DeclareLaunchArgument, EmitEvent, ExecuteProcess, GroupAction, IncludeLaunchDescription,
                           OpaqueFunction, RegisterEventHandler],
        "launch.event_handlers": [OnProcessExit],
        "launch.events": [Shutdown],
        "launch.launch_description_sources": [PythonLaunchDescriptionSource],
        "launch.substitutions": [LaunchConfiguration],
    }
    for name, members in modules.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update({member.__name__: member for member in members})
    sys.modules["launch.launch_description_sources"].AnyLaunchDescriptionSource = PythonLaunchDescriptionSource
