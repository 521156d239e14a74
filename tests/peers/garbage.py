"""A foreign DDS peer that sends messages which do not decode on /cmd_vel, mixed with good ones.

    garbage.py DOMAIN

The rover obeys the good ones and /diagnostics counts the others. Prints what it checks, exits with 1 if a check fails."""

import sys
import time
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, uint8
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

import ros_types as ros

RELIABLE = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(1000))
FOUND_WITHIN_S, OBEYED_WITHIN_S = 60.0, 30.0
DROPPED, SPEED_M_S, TURN_RAD_S = "messages_dropped /cmd_vel", 0.1, 0.1
GARBAGE = 50


@dataclass
class Short(IdlStruct, typename="geometry_msgs::msg::dds_::TwistStamped_"):
    """By its name a TwistStamped, but with too few bytes for one."""

    data: array[uint8, 5]


@dataclass
class Endless(IdlStruct, typename="geometry_msgs::msg::dds_::TwistStamped_"):
    """By its name a TwistStamped; the bytes after the stamp say that a string of 4 GiB follows."""

    data: array[uint8, 64]


class Peer:
    def __init__(self, domain):
        # One participant for each type: a participant has one type for a topic.
        self.participants = [DomainParticipant(domain) for _ in range(3)]
        self.short, self.endless, self.good = (
            DataWriter(participant, Topic(participant, "rt/cmd_vel", kind), qos=RELIABLE)
            for participant, kind in zip(self.participants, (Short, Endless, ros.TwistStamped)))
        good = self.participants[2]
        reader = lambda name, kind: DataReader(good, Topic(good, name, kind), qos=RELIABLE)
        self.joints = reader("rt/joint_states", ros.JointState)
        self.diagnostics = reader("rt/diagnostics", ros.DiagnosticArray)
        self.dropped, self.drives = 0, False

    def is_found(self):
        return all(writer.get_matched_subscriptions() for writer in (self.short, self.endless, self.good))

    def hear(self):
        for message in self.joints.take(N=100):
            if message.sample_info.valid_data:
                rates = dict(zip(message.name, message.velocity))
                self.drives = rates["front_right_drive"] > 0.5 * SPEED_M_S
        for message in self.diagnostics.take(N=100):
            if message.sample_info.valid_data:
                values = {pair.key: pair.value for status in message.status for pair in status.values}
                self.dropped = int(values.get(DROPPED, self.dropped))

    def send(self, number):
        if number < GARBAGE:
            self.short.write(Short([255] * 5))
            self.endless.write(Endless([0] * 8 + [255] * 56))
        twist = ros.Twist(ros.Vector3(SPEED_M_S, 0.0, 0.0), ros.Vector3(0.0, 0.0, TURN_RAD_S))
        self.good.write(ros.TwistStamped(ros.Header(ros.Time(0, 0), "base_link"), twist))


def until(within_s, is_so, act):
    end = time.monotonic() + within_s
    while time.monotonic() < end and not is_so():
        act()
        time.sleep(0.02)
    return is_so()


def main():
    peer = Peer(int(sys.argv[1]))
    if not until(FOUND_WITHIN_S, peer.is_found, peer.hear):
        sys.exit("nothing listens to /cmd_vel")
    sent = 0

    def act():
        nonlocal sent
        peer.send(sent)
        sent += 1
        peer.hear()

    # A reader that falls behind keeps the last ten messages only, so not every one need be counted.
    is_counted = until(OBEYED_WITHIN_S, lambda: peer.drives and peer.dropped >= GARBAGE, act)
    print(f"drives: {peer.drives}, dropped: {peer.dropped} of {2 * GARBAGE}")
    return 0 if is_counted and peer.dropped <= 2 * GARBAGE else 1


sys.exit(main())
