"""A node /lab/teleop of a real ROS 2 that publishes commands without a stamp, as many teleoperation programs do, until it
is stopped."""

import rclpy
from geometry_msgs.msg import Twist


def main():
    rclpy.init()
    node = rclpy.create_node("teleop", namespace="lab")
    publisher = node.create_publisher(Twist, "/cmd_vel", 10)
    node.create_timer(0.1, lambda: publisher.publish(Twist()))
    rclpy.spin(node)


main()
