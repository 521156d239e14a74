"""A client of a real ROS 2 (rclpy) calls the parameter services of Selene's simulation node, as `ros2 param` does, and
changes the pace, a camera's exposure and the Sun's time.

    ros2_services.py

Listens on ROS_DOMAIN_ID. Prints what it checks, and exits with 1 if a check fails."""

import sys
import time

import rclpy
from rcl_interfaces.msg import Parameter, ParameterEvent, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from rosgraph_msgs.msg import Clock

NODE = "/selene_simulation"
# Timeouts for the node's discovery and for an answer.
FOUND_WITHIN_S, ANSWERED_WITHIN_S = 60.0, 20.0
# A pace that every machine can keep, and how long it is measured.
PACE, LOOK_S = 0.25, 6.0
# Upper limit of the simulated time under way when the pace changed, s.
SLACK_S = 0.5


class Client:
    def __init__(self, node):
        self.node = node
        self.faults, self.events, self.clock_s = [], [], None
        node.create_subscription(ParameterEvent, "/parameter_events", self.events.append, QoSProfile(depth=100))
        node.create_subscription(Clock, "/clock", self.hear_clock, qos_profile_sensor_data)
        self.clients = {
            kind: node.create_client(kind, f"{NODE}/{name}")
            for kind, name in ((ListParameters, "list_parameters"), (DescribeParameters, "describe_parameters"),
                               (GetParameters, "get_parameters"), (SetParameters, "set_parameters"))}

    def hear_clock(self, message):
        self.clock_s = message.clock.sec + 1e-9 * message.clock.nanosec

    def expect(self, what, is_so):
        print("ok  " if is_so else "FAIL", what, flush=True)
        if not is_so:
            self.faults.append(what)

    def call(self, kind, **asked):
        future = self.clients[kind].call_async(kind.Request(**asked))
        rclpy.spin_until_future_complete(self.node, future, timeout_sec=ANSWERED_WITHIN_S)
        if not future.done():
            sys.exit(f"{kind.__name__} is not answered within {ANSWERED_WITHIN_S} s")
        return future.result()

    def spin(self, seconds, is_enough=lambda: False):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not is_enough():
            rclpy.spin_once(self.node, timeout_sec=0.02)
        return is_enough()

    def set(self, name, value):
        answer = self.call(SetParameters, parameters=[Parameter(name=name, value=value)])
        return answer.results[0]

    def get(self, *names):
        return self.call(GetParameters, names=list(names)).values


def double(value):
    return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)


def boolean(value):
    return ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=value)


def text(value):
    return ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)


def integer(value):
    return ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=value)


def check_what_is_there(client):
    names = client.call(ListParameters).result.names
    awaited = {"pace", "use_sim_time", "run", "scenario", "utc", "seed", "gravity_m_s2", "step_s", "heartbeat_s"}
    client.expect(f"parameters are listed: {names}", set(names) >= awaited)
    pace, seed = client.call(DescribeParameters, names=["pace", "seed"]).descriptors
    range_ = pace.floating_point_range
    client.expect(f"the pace is a double that can be set: {pace}",
                  pace.name == "pace" and pace.type == ParameterType.PARAMETER_DOUBLE and not pace.read_only
                  and len(range_) == 1 and range_[0].to_value == 1000.0)
    client.expect(f"the seed is an integer that cannot: {seed}",
                  seed.type == ParameterType.PARAMETER_INTEGER and seed.read_only)
    pace, seed, none = client.get("pace", "seed", "nothing_of_that_name")
    client.expect(f"values: {pace.double_value}, {seed.integer_value}", pace.double_value == 1.0 and seed.integer_value == 1)
    client.expect("what is not there is not set", none.type == ParameterType.PARAMETER_NOT_SET)


def check_refusals(client):
    for name, value in (("pace", double(-1.0)), ("pace", double(1e4)), ("pace", text("fast")), ("seed", integer(2)),
                        ("nothing_of_that_name", double(1.0))):
        result = client.set(name, value)
        client.expect(f"{name}: refused: {result.reason}", not result.successful and result.reason)
    pace, seed = client.get("pace", "seed")
    client.expect("what is refused stays as it was", pace.double_value == 1.0 and seed.integer_value == 1)


def check_pace(client):
    result = client.set("pace", double(PACE))
    client.expect(f"the pace is set: {result.reason}", result.successful)
    client.expect("it is read back", client.get("pace")[0].double_value == PACE)
    changed = lambda: [(event.node, p.name, p.value.double_value) for event in client.events for p in event.changed_parameters]
    is_told = client.spin(ANSWERED_WITHIN_S, lambda: (NODE, "pace", PACE) in changed())
    client.expect(f"/parameter_events tells it: {changed()}", is_told)
    before_s, begun = client.clock_s, time.monotonic()
    client.spin(LOOK_S)
    simulated_s, wall_s = client.clock_s - before_s, time.monotonic() - begun
    client.expect(f"{simulated_s:.3f} s in {wall_s:.3f} s", 0.0 < simulated_s < PACE * wall_s + SLACK_S)


def check_settings(client):
    exposure, utc = "viper.navcam_left.exposure_s", "utc"
    told = client.call(DescribeParameters, names=[exposure]).descriptors[0]
    range_ = told.floating_point_range
    client.expect(f"an exposure can be set: {told}",
                  told.type == ParameterType.PARAMETER_DOUBLE and not told.read_only and range_[0].to_value == 10.0)
    for name, value in ((exposure, double(11.0)), (utc, text("tomorrow")), ("viper.imu.enabled", double(1.0))):
        result = client.set(name, value)
        client.expect(f"{name}: refused: {result.reason}", not result.successful and result.reason)
    later = "2026-12-05T12:00:00Z"
    for name, value in ((exposure, double(0.004)), (utc, text(later)), ("viper.imu.enabled", boolean(False))):
        result = client.set(name, value)
        client.expect(f"{name} is set: {result.reason}", result.successful)
    # Time for the node to apply the settings and to report those of its world.
    client.spin(1.0)
    values = client.get(exposure, utc, "viper.imu.enabled")
    client.expect(f"they are read back: {values}", values[0].double_value == 0.004 and values[1].string_value == later
                  and values[2].type == ParameterType.PARAMETER_BOOL and not values[2].bool_value)
    told = lambda: {p.name for event in client.events if event.node == NODE for p in event.changed_parameters}
    client.expect("/parameter_events tells them",
                  client.spin(ANSWERED_WITHIN_S, lambda: told() >= {exposure, utc, "viper.imu.enabled"}))


def main():
    rclpy.init()
    client = Client(rclpy.create_node("client"))
    for kind, service in client.clients.items():
        if not service.wait_for_service(timeout_sec=FOUND_WITHIN_S):
            sys.exit(f"{kind.__name__} is not found within {FOUND_WITHIN_S} s")
    client.expect("the clock is heard", client.spin(FOUND_WITHIN_S, lambda: client.clock_s is not None))
    check_what_is_there(client)
    check_refusals(client)
    check_pace(client)
    check_settings(client)
    sys.exit(1 if client.faults else 0)


main()
