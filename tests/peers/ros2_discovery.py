"""Checks that a node of a real ROS 2 (rclpy) and Selene discover each other as the environment says (ROS_DOMAIN_ID,
ROS_AUTOMATIC_DISCOVERY_RANGE, ROS_STATIC_PEERS): the node receives from VIPER, calls a service and drives backwards.

    ros2_discovery.py            exits with 0 if all of that works
    ros2_discovery.py nobody S   exits with 0 if Selene is not visible for S seconds"""

import sys
import time

import rclpy
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import GetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

NODE = "selene_simulation"
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
DEFAULT = QoSProfile(depth=10)
WITHIN_S, EACH_S = 60.0, 0.1
SPEED_M_S = -0.1


class Stack:
    def __init__(self, node):
        self.node = node
        self.clock, self.odometry, self.description = None, None, None
        node.create_subscription(Clock, "/clock", lambda m: setattr(self, "clock", m), qos_profile_sensor_data)
        node.create_subscription(Odometry, "/ground_truth/odom", lambda m: setattr(self, "odometry", m), DEFAULT)
        node.create_subscription(String, "/robot_description", lambda m: setattr(self, "description", m), LATCHED)
        self.commands = node.create_publisher(TwistStamped, "/cmd_vel", DEFAULT)
        self.parameters = node.create_client(GetParameters, f"/{NODE}/get_parameters")

    def names(self):
        return [name for name, _ in self.node.get_node_names_and_namespaces()]

    def until(self, what, is_so, each=lambda: None):
        end, due = time.monotonic() + WITHIN_S, time.monotonic()
        while not is_so():
            if time.monotonic() > end:
                sys.exit(f"not within {WITHIN_S} s: {what}; nodes: {self.names()}")
            if time.monotonic() >= due:
                each()
                due += EACH_S
            rclpy.spin_once(self.node, timeout_sec=0.02)
        print(what, flush=True)

    def drive(self):
        command = TwistStamped()
        command.twist.linear.x = SPEED_M_S
        self.commands.publish(command)

    def goes_back(self):
        return self.odometry.twist.twist.linear.x < 0.5 * SPEED_M_S


def meet(stack):
    stack.until("Selene is in the graph", lambda: NODE in stack.names())
    stack.until("topics come, latched ones too", lambda: stack.clock and stack.odometry and stack.description)
    stack.until("the service is there", stack.parameters.service_is_ready)
    answer = stack.parameters.call_async(GetParameters.Request(names=["pace"]))
    stack.until("it answers", answer.done)
    stack.until("the rover goes back when told to", stack.goes_back, stack.drive)


def meet_nobody(stack, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rclpy.spin_once(stack.node, timeout_sec=0.02)
        if stack.clock or NODE in stack.names():
            sys.exit("Selene shows")


def main():
    rclpy.init()
    stack = Stack(rclpy.create_node("stack"))
    if sys.argv[1:2] == ["nobody"]:
        meet_nobody(stack, float(sys.argv[2]))
    else:
        meet(stack)


main()
