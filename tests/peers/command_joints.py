"""A foreign DDS peer that drives VIPER in every way except forward by cmd_vel: sideways, as a
car, joint by joint, along a trajectory; it checks that joint_states follow each time.

    command_joints.py DOMAIN

Exits with 0 if all is as expected, else prints what is not."""

import math
import sys
import time

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

import ros_types as ros

RELIABLE = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(200))
WHEELS = ["front_left", "front_right", "rear_left", "rear_right"]
RADIUS_M, WHEELBASE_M, TRACK_M = 0.25, 2 * 0.6418, 2 * 0.6098
# Tolerance: a servo under load is a little off its target, and joint_states come at 50 Hz.
ANGLE_RAD, RATE_RAD_S = 0.02, 0.05
faults = []


def expect(true, what):
    print(("ok    " if true else "fault ") + what)
    if not true:
        faults.append(what)


class Peer:
    def __init__(self, domain):
        self.participant = DomainParticipant(domain)
        self.joints, self.values = {}, {}
        self.states = self.reader("/joint_states", ros.JointState)
        self.diagnostics = self.reader("/diagnostics", ros.DiagnosticArray)
        self.twist = self.writer("/cmd_vel", ros.TwistStamped)
        self.ackermann = self.writer("/ackermann_cmd", ros.AckermannDriveStamped)
        self.trajectory = self.writer("/joint_trajectory", ros.JointTrajectory)
        joints = [f"{wheel}_{part}" for wheel in WHEELS for part in ("drive", "steer")] + ["mast_pan"]
        self.of_joint = {name: self.writer(f"/{name}/command", ros.Float64) for name in joints}
        self.now_s = 0.0

    def reader(self, name, kind):
        return DataReader(self.participant, Topic(self.participant, "rt" + name, kind), qos=RELIABLE)

    def writer(self, name, kind):
        return DataWriter(self.participant, Topic(self.participant, "rt" + name, kind), qos=RELIABLE)

    def hear(self, seconds, say=lambda: None):
        """Listens for a number of simulated seconds and sends a command ten times in each."""
        self.take()
        end_s, next_s, give_up = self.now_s + seconds, self.now_s, time.time() + 20 * seconds + 10
        while self.now_s < end_s and time.time() < give_up:
            if self.now_s >= next_s:
                say()
                next_s += 0.1
            self.take()
            time.sleep(0.002)
        expect(self.now_s >= end_s, f"{seconds} s of joint_states heard")

    def take(self):
        for message in self.states.take(N=100):
            if message.sample_info.valid_data:
                self.now_s = message.header.stamp.seconds()
                self.joints = dict(zip(message.name, zip(message.position, message.velocity)))
        for message in self.diagnostics.take(N=100):
            if message.sample_info.valid_data:
                self.values.update({pair.key: pair.value for status in message.status for pair in status.values})

    def wait(self):
        give_up = time.time() + 60
        matched = lambda: all(w.get_matched_subscriptions() for w in [self.twist, *self.of_joint.values()])
        while time.time() < give_up and not (self.joints and matched()):
            self.take()
            time.sleep(0.01)
        expect(self.joints, "joint_states are heard")

    def expect_angles(self, expected, what):
        measured = [self.joints[f"{wheel}_steer"][0] for wheel in WHEELS]
        expect(all(abs(m - e) < ANGLE_RAD for m, e in zip(measured, expected)), f"{what}: {measured} for {expected}")

    def expect_rates(self, expected, what):
        measured = [self.joints[f"{wheel}_drive"][1] for wheel in WHEELS]
        expect(all(abs(m - e) < RATE_RAD_S for m, e in zip(measured, expected)), f"{what}: {measured} for {expected}")


def header():
    return ros.Header(ros.Time(0, 0), "base_link")


def crab(peer):
    forward, left = 0.1, 0.03
    twist = ros.Twist(ros.Vector3(forward, left, 0.0), ros.Vector3(0.0, 0.0, 0.0))
    peer.hear(3.0, lambda: peer.twist.write(ros.TwistStamped(header(), twist)))
    peer.expect_angles([math.atan2(left, forward)] * 4, "crab")
    peer.expect_rates([math.hypot(forward, left) / RADIUS_M] * 4, "crab")


def car(peer):
    speed, angle = 0.1, 0.25
    drive = ros.AckermannDrive(angle, 0.2, speed, 0.1, 0.0)
    peer.hear(4.0, lambda: peer.ackermann.write(ros.AckermannDriveStamped(header(), drive)))
    radius = WHEELBASE_M / math.tan(angle)
    left, right = (math.atan(WHEELBASE_M / (radius - side * TRACK_M / 2)) for side in (1, -1))
    peer.expect_angles([left, right, 0.0, 0.0], "Ackermann")
    rear = [speed * (radius - side * TRACK_M / 2) / radius / RADIUS_M for side in (1, -1)]
    front = [rate / math.cos(steer) for rate, steer in zip(rear, (left, right))]
    peer.expect_rates(front + rear, "Ackermann")
    peer.hear(1.0)
    peer.expect_rates([0.0] * 4, "Ackermann, silent for 1 s")


def joints(peer):
    angles, rates = [0.1, -0.1, 0.2, -0.2], [0.2, -0.2, 0.3, -0.3]

    def say():
        for wheel, angle, rate in zip(WHEELS, angles, rates):
            peer.of_joint[f"{wheel}_steer"].write(ros.Float64(angle))
            peer.of_joint[f"{wheel}_drive"].write(ros.Float64(rate))
        peer.of_joint["mast_pan"].write(ros.Float64(0.6))

    peer.hear(3.0, say)
    peer.expect_angles(angles, "joint by joint")
    peer.expect_rates(rates, "joint by joint")
    pan = peer.joints["mast_pan"][0]
    expect(abs(pan - 0.6) < ANGLE_RAD, f"mast_pan at {pan} for 0.6")
    peer.hear(1.0)
    peer.expect_rates([0.0] * 4, "joint by joint, silent for 1 s")
    peer.expect_angles(angles, "joint by joint, silent for 1 s")


def trajectory(peer):
    names = ["front_left_steer", "front_right_steer", "rear_left_drive", "mast_pan"]
    points = [
        ros.JointTrajectoryPoint([0.3, 0.2, 0.0, 0.0], [0.0, 0.0, 0.4, 0.0], [], [], ros.Duration(2, 0)),
        ros.JointTrajectoryPoint([0.0, 0.1, 0.0, -0.4], [0.0, 0.0, 0.4, 0.0], [], [], ros.Duration(4, 0))]
    start_s = math.ceil(peer.now_s + 0.5)
    peer.trajectory.write(ros.JointTrajectory(ros.Header(ros.Time(start_s, 0), ""), names, points))
    peer.hear(start_s + 2.0 - peer.now_s)
    peer.expect_angles([0.3, 0.2, 0.2, -0.2], "trajectory, first point")
    peer.hear(start_s + 3.0 - peer.now_s)
    u = (peer.now_s - start_s - 2.0) / 2.0
    smooth = u * u * (3.0 - 2.0 * u)
    peer.expect_angles([0.3 - 0.3 * smooth, 0.2 - 0.1 * smooth, 0.2, -0.2], f"trajectory, cubic after {2 + 2 * u:.2f} s")
    peer.expect_rates([0.0, 0.0, 0.4, 0.0], "trajectory")
    peer.hear(2.0)
    peer.expect_angles([0.0, 0.1, 0.2, -0.2], "trajectory, last point")
    peer.expect_rates([0.0] * 4, "trajectory, a second after its last point")
    pan = peer.joints["mast_pan"][0]
    expect(abs(pan + 0.4) < ANGLE_RAD, f"mast_pan at {pan} for -0.4")


def refusals(peer):
    point = ros.JointTrajectoryPoint([0.0], [], [], [], ros.Duration(1, 0))
    peer.trajectory.write(ros.JointTrajectory(header(), ["tail"], [point]))
    peer.of_joint["front_left_drive"].write(ros.Float64(math.nan))
    peer.hear(2.5)
    expect(peer.values.get("commands_refused") == "2", f"commands_refused {peer.values.get('commands_refused')}, not 2")
    said = peer.values.get("last_refusal", "")
    expect("front_left_drive: target: NaN" in said or "\"tail\"" in said, f"last_refusal says: {said}")


def main():
    peer = Peer(int(sys.argv[1]))
    peer.wait()
    for part in (crab, car, joints, trajectory, refusals):
        part(peer)
    print(f"{len(faults)} faults" if faults else "all as expected")
    return 1 if faults else 0


sys.exit(main())
