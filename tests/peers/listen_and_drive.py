"""A foreign DDS peer: subscribes to every topic with the type and QoS that ROS users expect,
checks the messages' contents, and drives the rover backward by cmd_vel.

    listen_and_drive.py DOMAIN SECONDS

Exits with 0 if all is as expected, else prints what is not."""

import math
import struct
import sys
import time

from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

import ros_types as ros

BEST_EFFORT, RELIABLE = "best effort", "reliable"
VOLATILE, LATCHED = "volatile", "transient local"
# topic, type, reliability, durability, minimum number of messages per simulated second
EXPECTED = [
    ("/clock", ros.Clock, BEST_EFFORT, VOLATILE, 100),
    ("/tf", ros.TFMessage, RELIABLE, VOLATILE, 40),
    ("/tf_static", ros.TFMessage, RELIABLE, LATCHED, 0),
    ("/robot_description", ros.String, RELIABLE, LATCHED, 0),
    ("/joint_states", ros.JointState, RELIABLE, VOLATILE, 45),
    ("/ground_truth/odom", ros.Odometry, RELIABLE, VOLATILE, 45),
    ("/ground_truth/wheels", ros.WheelStates, RELIABLE, VOLATILE, 45),
    ("/diagnostics", ros.DiagnosticArray, RELIABLE, VOLATILE, 0.5),
    ("/rosout", ros.Log, RELIABLE, LATCHED, 0),
    ("/imu/data", ros.Imu, BEST_EFFORT, VOLATILE, 180),
    ("/gps/fix", ros.NavSatFix, RELIABLE, VOLATILE, 4),
    ("/lidar/points", ros.PointCloud2, BEST_EFFORT, VOLATILE, 4),
    ("/navcam_left/image_raw", ros.Image, BEST_EFFORT, VOLATILE, 1.5),
    ("/navcam_left/camera_info", ros.CameraInfo, BEST_EFFORT, VOLATILE, 1.5),
    ("/navcam_left/depth/image_rect_raw", ros.Image, BEST_EFFORT, VOLATILE, 1.5),
    ("/navcam_left/depth/camera_info", ros.CameraInfo, BEST_EFFORT, VOLATILE, 1.5),
    ("/navcam_left/segmentation/image", ros.Image, BEST_EFFORT, VOLATILE, 1.5),
    ("/navcam_left/segmentation/camera_info", ros.CameraInfo, BEST_EFFORT, VOLATILE, 1.5),
    ("/navcam_right/image_raw", ros.Image, BEST_EFFORT, VOLATILE, 1.5),
    ("/navcam_right/camera_info", ros.CameraInfo, BEST_EFFORT, VOLATILE, 1.5),
]
BACKWARD_M_S = -0.15
DRIVE_S = 4.0
faults = []


def expect(true, what):
    if not true:
        faults.append(what)


def qos(reliability, durability, depth=200):
    reliable = Policy.Reliability.Reliable(duration(seconds=1))
    return Qos(
        reliable if reliability == RELIABLE else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if durability == LATCHED else Policy.Durability.Volatile,
        Policy.History.KeepLast(depth))


class Peer:
    def __init__(self, domain):
        self.participant = DomainParticipant(domain)
        self.publications = BuiltinDataReader(self.participant, BuiltinTopicDcpsPublication)
        self.offered = {}
        self.readers, self.heard = {}, {}
        for name, kind, reliability, durability, _ in EXPECTED:
            topic = Topic(self.participant, "rt" + name, kind)
            self.readers[name] = DataReader(self.participant, topic, qos=qos(reliability, durability))
            self.heard[name] = []
        topic = Topic(self.participant, "rt/cmd_vel", ros.TwistStamped)
        self.commands = DataWriter(self.participant, topic, qos=qos(RELIABLE, VOLATILE, 10))

    def hear(self, seconds, each=lambda: None):
        end = time.time() + seconds
        while time.time() < end:
            for name, reader in self.readers.items():
                self.heard[name] += [s for s in reader.take(N=100) if s.sample_info.valid_data]
            for publication in self.publications.take(N=100):
                if publication.sample_info.valid_data:
                    self.offered[publication.topic_name] = publication
            each()
            time.sleep(0.005)

    def hear_simulated(self, seconds):
        """Listens for a number of simulated seconds, which take longer on a machine under load."""
        end_s, give_up = self.heard["/clock"][-1].clock.seconds() + seconds, time.time() + 20 * seconds
        while self.heard["/clock"][-1].clock.seconds() < end_s and time.time() < give_up:
            self.hear(0.05)

    def drive(self, speed_m_s):
        zero = ros.Vector3(0.0, 0.0, 0.0)
        twist = ros.Twist(ros.Vector3(speed_m_s, 0.0, 0.0), zero)
        self.commands.write(ros.TwistStamped(ros.Header(ros.Time(0, 0), "base_link"), twist))

    def speed(self):
        return self.heard["/ground_truth/odom"][-1].twist.twist.linear.x

    def wait_for_clock(self, seconds):
        end = time.time() + seconds
        while time.time() < end and not self.heard["/clock"]:
            self.hear(0.05)
        expect(self.heard["/clock"], f"no /clock within {seconds} s")


def check_offers(peer):
    for name, kind, reliability, durability, _ in EXPECTED:
        publication = peer.offered.get("rt" + name)
        expect(publication, f"{name}: not offered")
        if not publication:
            continue
        wanted = kind.__idl_typename__.replace(".", "::")
        expect(publication.type_name == wanted, f"{name}: type {publication.type_name}, not {wanted}")
        offered = str(publication.qos)
        has = {
            RELIABLE: "Policy.Reliability.Reliable" in offered, BEST_EFFORT: "Policy.Reliability.BestEffort" in offered,
            LATCHED: "Policy.Durability.TransientLocal" in offered, VOLATILE: "Policy.Durability.Volatile" in offered}
        expect(has[reliability] and has[durability], f"{name}: offered {offered}, not {reliability}, {durability}")


def check_rates(peer, simulated_s):
    for name, _, reliability, durability, least in EXPECTED:
        got = len(peer.heard[name])
        # Best effort may lose samples: up to one in five on a machine under load.
        wanted = least * simulated_s * (0.8 if reliability == BEST_EFFORT else 0.95)
        expect(got >= max(1, math.floor(wanted)), f"{name}: {got} messages in {simulated_s:.1f} s, expected {wanted:.0f}")


def check_contents(peer):
    last = {name: messages[-1] for name, messages in peer.heard.items() if messages}
    if len(last) < len(EXPECTED):
        return
    image, info = last["/navcam_left/image_raw"], last["/navcam_left/camera_info"]
    expect((image.width, image.height) == (640, 360), f"image {image.width}x{image.height}")
    expect(len(image.data) == image.step * image.height, "image data is not step * height")
    expect(max(image.data) - min(image.data) > 50, "image has no contrast")
    stamps = {m.header.stamp.seconds() for m in peer.heard["/navcam_left/camera_info"]}
    expect(image.header.stamp.seconds() in stamps, "image and camera_info stamps differ")
    expect(image.header.frame_id == info.header.frame_id, "image and camera_info frames differ")
    expect(len(info.d) == 5 and info.distortion_model == "plumb_bob", "plumb_bob has five coefficients")
    right = last["/navcam_right/camera_info"]
    expect(info.p[3] == 0.0 and right.p[3] < 0.0, "right camera's P[3] must be -fx B")
    depth = last["/navcam_left/depth/image_rect_raw"]
    metres = struct.unpack(f"<{depth.width * depth.height}f", bytes(depth.data))
    expect(depth.encoding == "32FC1" and 0.5 < min(metres) < 10, f"nearest depth {min(metres)} m")
    segmentation = last["/navcam_left/segmentation/image"]
    classes = set(struct.unpack(f"<{segmentation.width * segmentation.height}H", bytes(segmentation.data)))
    expect(segmentation.encoding == "16UC1" and 1 in classes, f"classes {classes}")
    check_cloud(last["/lidar/points"])
    check_log(peer.heard["/rosout"])
    check_truth(last)


def check_cloud(cloud):
    names = [field.name for field in cloud.fields]
    expect(names == ["x", "y", "z", "intensity", "ring", "time"], f"cloud fields {names}")
    expect(cloud.width * cloud.point_step == cloud.row_step == len(cloud.data), "cloud sizes")
    raw = bytes(cloud.data)
    at = {field.name: field.offset for field in cloud.fields}
    points = range(0, len(raw), cloud.point_step)
    rings = {struct.unpack_from("<H", raw, p + at["ring"])[0] for p in points}
    times = [struct.unpack_from("<f", raw, p + at["time"])[0] for p in points]
    expect(rings and max(rings) < 16, f"rings {rings}")
    expect(times == sorted(times) and 0 <= times[0] and times[-1] < 0.25, "per-point times")


def check_log(lines):
    first = lines[0]
    expect((first.level, first.name) == (20, "selene") and "begins" in first.msg, f"/rosout begins with {first}")


def check_truth(last):
    imu = last["/imu/data"].linear_acceleration
    felt = math.sqrt(imu.x**2 + imu.y**2 + imu.z**2)
    expect(1.2 < felt < 2.1, f"the IMU feels {felt} m/s2")
    fix = last["/gps/fix"]
    expect(-90 <= fix.latitude <= 90 and fix.status.status >= 0, "position fix")
    expect("<robot" in last["/robot_description"].data, "robot_description is no URDF")
    names = last["/joint_states"].name
    expect(len(names) == len(last["/joint_states"].position) >= 8, f"joints {names}")
    wheels = last["/ground_truth/wheels"].wheels
    expect(len(wheels) == 4 and all(0 < w.sinkage < 0.1 for w in wheels), f"wheels {wheels}")
    frames = {(t.header.frame_id, t.child_frame_id) for m in (last["/tf"], last["/tf_static"]) for t in m.transforms}
    children = [child for _, child in frames]
    expect({("map", "odom"), ("odom", "base_link")} <= frames, f"frames {frames}")
    expect(len(children) == len(set(children)), "a frame has two parents")
    for needed in ("navcam_left_optical", "lidar"):
        expect(any(needed in child for child in children), f"no frame {needed}")


def main():
    domain, seconds = int(sys.argv[1]), float(sys.argv[2])
    peer = Peer(domain)
    peer.wait_for_clock(60)
    # Messages that were sent during discovery do not count.
    peer.hear(1.0)
    for name, _, _, durability, _ in EXPECTED:
        if durability == VOLATILE:
            peer.heard[name].clear()
    begun = time.time()
    peer.hear(seconds)
    clocks = peer.heard["/clock"]
    simulated_s = clocks[-1].clock.seconds() - clocks[0].clock.seconds() if clocks else 0.0
    print(f"heard {simulated_s:.1f} simulated s in {time.time() - begun:.1f} s")
    for name, _, _, _, _ in EXPECTED:
        print(f"  {name}: {len(peer.heard[name])}")
    check_offers(peer)
    check_rates(peer, simulated_s)
    check_contents(peer)
    peer.hear(DRIVE_S, each=lambda: peer.drive(BACKWARD_M_S))
    driven = peer.speed()
    expect(driven < 0.5 * BACKWARD_M_S, f"cmd_vel {BACKWARD_M_S} m/s is not obeyed: {driven:.3f} m/s")
    peer.hear_simulated(2.0)
    expect(abs(peer.speed()) < 0.01, f"silent for 2 s, yet the rover moves at {peer.speed():.3f} m/s")
    print(f"driven at {driven:.3f} m/s, then at rest with {peer.speed():.4f} m/s")
    print("\n".join(faults) or "all as expected")
    return 1 if faults else 0


sys.exit(main())
