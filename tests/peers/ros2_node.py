"""A node of a real ROS 2 (rclpy on its default middleware) receives from Selene with its usual profiles and drives the rover.

ros2_node.py: listens on ROS_DOMAIN_ID, drives, prints what it heard, and exits with 1 if something is missing.
ros2_node.py once TOPIC VALUE: publishes a number once, as `ros2 topic pub --once` does."""

import subprocess
import sys
import time

import rclpy
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, Imu, JointState, PointCloud2
from std_msgs.msg import Float64, String

# Wall time; the run has a pace of 0.4.
LISTEN_S = 25.0
DRIVE_S = 10.0
TURN_WITHIN_S = 30.0
# A publisher stays this long after its only message, s: the default of `ros2 topic pub --once`.
STAY_S = 0.1
PAN_TOPIC, PAN_JOINT = "/mast_pan/command", "mast_pan"
PANS_RAD = [0.3, -0.3, 0.2, -0.2]
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
DEFAULT = QoSProfile(depth=10)
# Topic, type, profile, Hz, minimum fraction that must arrive: all on reliable topics; best effort may lose samples
# when the machine has no time for the listener.
TOPICS = [
    ("/navcam_left/image_raw", Image, qos_profile_sensor_data, 2, 0.8),
    ("/navcam_left/depth/image_rect_raw", Image, qos_profile_sensor_data, 2, 0.8),
    ("/navcam_left/camera_info", CameraInfo, qos_profile_sensor_data, 2, 0.8),
    ("/lidar/points", PointCloud2, qos_profile_sensor_data, 5, 0.8),
    ("/imu/data", Imu, qos_profile_sensor_data, 200, 0.8),
    ("/joint_states", JointState, DEFAULT, 50, 1.0),
    ("/ground_truth/odom", Odometry, DEFAULT, 50, 1.0),
]


class Listener(Node):
    def __init__(self):
        super().__init__("listener", parameter_overrides=[Parameter("use_sim_time", value=True)])
        self.stamps = {topic: [] for topic, *_ in TOPICS}
        self.clock, self.logged, self.description, self.odom, self.joints = [], [], [], None, {}
        for topic, kind, qos, _, _ in TOPICS:
            self.create_subscription(kind, topic, lambda message, topic=topic: self.hear(topic, message), qos)
        self.create_subscription(Clock, "/clock", lambda message: self.clock.append(seconds(message.clock)), qos_profile_sensor_data)
        self.create_subscription(Log, "/rosout", lambda message: self.logged.append(message.name), DEFAULT)
        self.create_subscription(String, "/robot_description", lambda text: self.description.append(text.data), LATCHED)
        self.commands = self.create_publisher(TwistStamped, "/cmd_vel", DEFAULT)

    def hear(self, topic, message):
        self.stamps[topic].append(seconds(message.header.stamp))
        if topic == "/ground_truth/odom":
            self.odom = message
        if topic == "/joint_states":
            self.joints = dict(zip(message.name, message.position))

    def drive(self, speed_m_s):
        command = TwistStamped()
        command.header.stamp = self.get_clock().now().to_msg()
        command.twist.linear.x = speed_m_s
        self.commands.publish(command)


def seconds(stamp):
    return stamp.sec + 1e-9 * stamp.nanosec


def spin(node, duration_s, each=lambda: None):
    end = time.monotonic() + duration_s
    due = time.monotonic()
    while time.monotonic() < end:
        if time.monotonic() >= due:
            each()
            due += 0.1
        rclpy.spin_once(node, timeout_sec=0.02)


def publish_once(topic, value):
    """Publishes to the first subscriber that is discovered, and is gone."""
    rclpy.init()
    node = Node("once")
    publisher = node.create_publisher(Float64, topic, DEFAULT)
    while publisher.get_subscription_count() == 0:
        time.sleep(0.01)
    publisher.publish(Float64(data=value))
    time.sleep(STAY_S)
    rclpy.shutdown()


def turns(node, angle_rad):
    """Whether the mast turns to an angle that another process publishes once."""
    subprocess.run([sys.executable, __file__, "once", PAN_TOPIC, str(angle_rad)], check=True, timeout=60)
    end = time.monotonic() + TURN_WITHIN_S
    while abs(node.joints[PAN_JOINT] - angle_rad) > 0.02 and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    return abs(node.joints[PAN_JOINT] - angle_rad) <= 0.02


def main():
    rclpy.init()
    node = Listener()
    faults = []

    def expect(what, is_so):
        print("ok  " if is_so else "FAIL", what)
        if not is_so:
            faults.append(what)

    begun = time.monotonic()
    while not all(node.stamps.values()) and time.monotonic() < begun + 60:
        rclpy.spin_once(node, timeout_sec=0.1)
    spin(node, LISTEN_S)
    heard = {topic: list(stamps) for topic, stamps in node.stamps.items()}
    for topic, _, _, rate_hz, share in TOPICS:
        stamps = heard[topic]
        sent = round((stamps[-1] - stamps[0]) * rate_hz) + 1 if stamps else 0
        expect(f"{topic}: {len(stamps)} of {sent}", len(stamps) > 5 and len(stamps) >= share * sent)
        expect(f"{topic}: stamps rise", all(a < b for a, b in zip(stamps, stamps[1:])))
    expect("the clock rises", len(node.clock) > 100 and all(a <= b for a, b in zip(node.clock, node.clock[1:])))
    expect("the description is latched", bool(node.description) and "<robot" in node.description[0])
    expect("what is logged is on /rosout", bool(node.logged))
    names = [name for name, _ in node.get_node_names_and_namespaces()]
    expect(f"the node is in the graph: {names}", "selene" in names)
    types = dict(node.get_topic_names_and_types())
    expect("types are ROS 2's", types.get("/navcam_left/image_raw") == ["sensor_msgs/msg/Image"])
    told = ("/selene/run_info", "/selene/simulate_steps/_action/feedback", "/selene/simulate_steps/_action/status")
    internal = [topic for topic in types if topic.startswith("/selene/") and topic not in told]
    expect(f"nothing internal is on the wire: {internal}", not internal)
    before = node.odom.pose.pose.position
    spin(node, DRIVE_S, lambda: node.drive(-0.1))
    after = node.odom.pose.pose.position
    back_m = before.x - after.x
    expect(f"the rover drives backwards when told to: {back_m:.3f} m", back_m > 0.1)
    for angle_rad in PANS_RAD:
        expect(f"the mast turns to {angle_rad} rad, which was published once", turns(node, angle_rad))
    sys.exit(1 if faults else 0)


if sys.argv[1:2] == ["once"]:
    publish_once(sys.argv[2], float(sys.argv[3]))
else:
    main()
