"""A control stack that uses only topics: it drives EX1 of config/scenario/sil.yaml around a rock to a waypoint with
ground-truth odometry, a lidar and cmd_vel, and answers once in every tenth of a simulated second.

    closed_loop.py DOMAIN X Y ROCK_X ROCK_Y   drives to (X, Y); the rock's position is only for the check
    closed_loop.py --same BAG BAG             whether two bags have the same messages, byte for byte

Exits with 0 if all is as expected, else says what is not."""

import math
import sys
import time
from pathlib import Path

# Simulated seconds between two answers, and before driving starts, when all topics are connected.
PERIOD_S, STANDS_S = 0.1, 1.0
SPEED_M_S, TURN_GAIN, TURN_MAX_RAD_S = 0.3, 1.5, 0.8
# Points higher than this above the axles, within this distance ahead and to each side, are obstacles, m.
HIGH_M, AHEAD_M, BESIDE_M = 0.15, 3.5, 0.9
# Sideways distance from an obstacle's points at which the rover passes, m.
CLEARANCE_M = 1.3
ARRIVED_M, PASSED_M = 0.3, 0.35
# Minimum distance between the centres of rover and rock, m: half the rover's width plus the rock's radius.
NEAREST_M = 0.75
# Topics that differ between bags: they contain wall time and the run's id.
NOT_COMPARED = {"/diagnostics", "/rosout", "/parameter_events"}


def main():
    if sys.argv[1] == "--same":
        return same(Path(sys.argv[2]), Path(sys.argv[3]))
    x, y, rock_x, rock_y = map(float, sys.argv[2:6])
    return drive(int(sys.argv[1]), Driver((x, y)), (rock_x, rock_y))


class Driver:
    """Heads for the goal, or first for a point beside an obstacle that it has seen on its way."""

    def __init__(self, goal):
        self.goal, self.bypass = goal, None
        self.has_passed = False

    def command(self, pose, obstacles):
        """Forward speed, m/s, and turn rate, rad/s; obstacles are points x, y in base_link."""
        x, y, yaw = pose
        if self.bypass is None and len(obstacles) > 0:
            self.bypass = self.beside(pose, obstacles)
        if self.bypass and not self.has_passed:
            self.has_passed = math.dist((x, y), self.bypass) < PASSED_M
        target = self.bypass if self.bypass and not self.has_passed else self.goal
        if target == self.goal and math.dist((x, y), self.goal) < ARRIVED_M:
            return 0.0, 0.0
        bearing = math.atan2(target[1] - y, target[0] - x) - yaw
        bearing = math.atan2(math.sin(bearing), math.cos(bearing))
        turn = max(-TURN_MAX_RAD_S, min(TURN_MAX_RAD_S, TURN_GAIN * bearing))
        return SPEED_M_S * max(0.3, math.cos(bearing)), turn

    def beside(self, pose, obstacles):
        x, y, yaw = pose
        count = len(obstacles)
        ahead, left = (sum(float(p[i]) for p in obstacles) / count for i in (0, 1))
        # Passes on the side where the way around is shorter.
        left += CLEARANCE_M if left <= 0.0 else -CLEARANCE_M
        return (x + ahead * math.cos(yaw) - left * math.sin(yaw), y + ahead * math.sin(yaw) + left * math.cos(yaw))


def heading(q):
    return math.atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z))


def rotated(q, v):
    """A vector rotated by a quaternion."""
    tx, ty, tz = 2 * (q.y * v[2] - q.z * v[1]), 2 * (q.z * v[0] - q.x * v[2]), 2 * (q.x * v[1] - q.y * v[0])
    return (v[0] + q.w * tx + q.y * tz - q.z * ty, v[1] + q.w * ty + q.z * tx - q.x * tz,
            v[2] + q.w * tz + q.x * ty - q.y * tx)


def obstacles_in(cloud, transforms):
    """Points of obstacles ahead, in base_link."""
    import numpy
    formats = {"x": "<f4", "y": "<f4", "z": "<f4"}
    fields = [field for field in cloud.fields if field.name in formats]
    layout = numpy.dtype({
        "names": [field.name for field in fields], "formats": [formats[field.name] for field in fields],
        "offsets": [field.offset for field in fields], "itemsize": cloud.point_step})
    points = [tuple(map(float, p)) for p in numpy.frombuffer(bytes(cloud.data), layout)]
    frame = cloud.header.frame_id
    while frame != "base_link":
        transform = transforms[frame]
        t, q = transform.transform.translation, transform.transform.rotation
        moved = (rotated(q, p) for p in points)
        points = [(p[0] + t.x, p[1] + t.y, p[2] + t.z) for p in moved]
        frame = transform.header.frame_id
    return [(x, y) for x, y, z in points if z > HIGH_M and 0.5 < x < AHEAD_M and abs(y) < BESIDE_M]


class Stack:
    """Readers and writers of the rover's topics."""

    def __init__(self, domain):
        from cyclonedds.core import Policy, Qos
        from cyclonedds.domain import DomainParticipant
        from cyclonedds.pub import DataWriter
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic
        from cyclonedds.util import duration
        import ros_types as ros
        self.ros = ros
        self.participant = DomainParticipant(domain)
        reliable = [Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(200)]
        topic = lambda name, kind: Topic(self.participant, "rt" + name, kind)
        reader = lambda name, kind, *policies: DataReader(self.participant, topic(name, kind), qos=Qos(*policies))
        self.readers = {
            "clock": reader("/clock", ros.Clock, Policy.Reliability.BestEffort, Policy.History.KeepLast(200)),
            "odometry": reader("/ground_truth/odom", ros.Odometry, *reliable),
            "scan": reader("/obstacle_lidar/points", ros.PointCloud2, *reliable),
            "frames": reader("/tf_static", ros.TFMessage, *reliable, Policy.Durability.TransientLocal)}
        self.commands = DataWriter(self.participant, topic("/cmd_vel", ros.TwistStamped), qos=Qos(*reliable))
        self.ticks, self.transforms = 0, {}
        # Odometry by its stamp and scans by their start, in tenths of a second.
        self.odometry, self.scans = {}, {}

    def wait_for_peers(self):
        end = time.time() + 60
        matched = lambda: self.commands.get_matched_subscriptions() and all(
            reader.get_matched_publications() for reader in self.readers.values())
        while time.time() < end and not matched():
            time.sleep(0.05)
        # The other side discovers this one at about the same time.
        time.sleep(1.0)
        return bool(matched())

    def hear(self):
        take = lambda name: (s for s in self.readers[name].take(N=200) if s.sample_info.valid_data)
        for message in take("frames"):
            self.transforms.update({t.child_frame_id: t for t in message.transforms})
        for message in take("scan"):
            self.scans[tenth(message.header.stamp)] = message
        for message in take("odometry"):
            self.odometry[tenth(message.header.stamp)] = message
        for message in take("clock"):
            self.ticks = max(self.ticks, tenth(message.clock) or 0)

    def hear_until(self, has_come, seconds):
        end = time.time() + seconds
        self.hear()
        while not has_come() and time.time() < end and not self.is_over():
            time.sleep(0.0005)
            self.hear()
        return has_come()

    def is_over(self):
        """Whether the simulation has ended after it was heard."""
        return self.ticks > 0 and not self.readers["clock"].get_matched_publications()

    def say(self, tick, forward, turn):
        ros = self.ros
        nanoseconds = tick * 100_000_000
        stamp = ros.Time(nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000)
        twist = ros.Twist(ros.Vector3(forward, 0.0, 0.0), ros.Vector3(0.0, 0.0, turn))
        self.commands.write(ros.TwistStamped(ros.Header(stamp, "base_link"), twist))


def tenth(stamp):
    """A stamp in tenths of a second; None if it is not a whole number of them."""
    nanoseconds = stamp.sec * 1_000_000_000 + stamp.nanosec
    return nanoseconds // 100_000_000 if nanoseconds % 100_000_000 == 0 else None


def drive(domain, driver, rock):
    stack = Stack(domain)
    if not stack.wait_for_peers():
        return f"no simulation on domain {domain} within a minute"
    answered, nearest_m, at = 0, math.inf, (math.nan, math.nan)
    while stack.hear_until(lambda: stack.ticks > answered, 10.0):
        tick = stack.ticks
        if tick * PERIOD_S < STANDS_S:
            stack.say(tick, 0.0, 0.0)
        else:
            # Odometry at the held instant, and the scan that ended then.
            complete = lambda: tick in stack.odometry and tick - 1 in stack.scans
            if not stack.hear_until(complete, 10.0):
                return f"at {tick * PERIOD_S:.1f} s odometry or scan is missing"
            pose = stack.odometry[tick].pose.pose
            at = (pose.position.x, pose.position.y)
            nearest_m = min(nearest_m, math.dist(at, rock))
            obstacles = obstacles_in(stack.scans[tick - 1], stack.transforms)
            stack.say(tick, *driver.command((*at, heading(pose.orientation)), obstacles))
        if tick != answered + 1:
            return f"simulated time went on from {answered} to {tick} tenths of a second without an answer"
        answered = tick
        for seen in (stack.odometry, stack.scans):
            for old in [key for key in seen if key is None or key < tick - 5]:
                del seen[old]
    print(f"answered {answered} holds; at ({at[0]:.3f}, {at[1]:.3f}) m, {nearest_m:.3f} m from the rock at least")
    if not driver.bypass:
        return "the rock was not seen"
    if nearest_m < NEAREST_M:
        return f"the rover came within {nearest_m:.3f} m of the rock's middle"
    left_m = math.dist(at, driver.goal)
    return 0 if left_m < 2 * ARRIVED_M else f"the waypoint is {left_m:.2f} m away"


def messages(bag):
    """For each topic, publish time and bytes of every message, in order."""
    from mcap.reader import make_reader
    found = {}
    for file in sorted(bag.glob("*.mcap")):
        with open(file, "rb") as stream:
            for _, channel, message in make_reader(stream).iter_messages(log_time_order=False):
                found.setdefault(channel.topic, []).append((message.publish_time, message.data))
    return {topic: told for topic, told in found.items() if topic not in NOT_COMPARED}


def same(first, second):
    one, other = messages(first), messages(second)
    if one.keys() != other.keys():
        return f"topics differ: {sorted(one.keys() ^ other.keys())}"
    for topic, told in one.items():
        for i, (a, b) in enumerate(zip(told, other[topic])):
            if a != b:
                return f"{topic}: message {i}, of {a[0]} and {b[0]} ns, differs"
        if len(told) != len(other[topic]):
            return f"{topic}: {len(told)} and {len(other[topic])} messages"
    print(f"same: {sum(map(len, one.values()))} messages on {len(one)} topics")
    return 0 if one else "both bags are empty"


sys.exit(main())
