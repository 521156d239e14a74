"""A control stack at the other end of a link that delays and loses frames: it drives VIPER backwards with commands at
20 Hz from a reliable publisher, waits while the link is down, and drives on.

    over_link.py DOMAIN DELAY_S

Every other command is invalid (NaN): Selene refuses it and counts it on /diagnostics, which shows how many arrive.
Stamps of /clock and `clock_at_zero_s` of /diagnostics are UTC (`--clock-authority wall`), which gives each message's
latency. Prints `take the link down` when the caller must do so, for DOWN_S. Exits with 0 if all is as expected, else
says what is not."""

import math
import statistics
import sys
import time

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

import ros_types as ros

EACH_S = 0.05
SPEED_M_S = -0.1
MEET_WITHIN_S = 60.0
DRIVE_S = 10.0
# Time within which the last commands arrive, are counted on /diagnostics (1 Hz) and take effect.
SETTLE_WITHIN_S = 20.0
# How long the link is down, the shortest silence that counts, and the time until all topics are back.
DOWN_S, SILENT_S, BACK_WITHIN_S = 5.0, 2.5, 20.0
# How much later than the link's delay the median of the clock's messages may be, and how much earlier any of them: a
# heartbeat of 5 ms is published when it is ready, at the earliest when the previous one was due. 1 ms is tolerance.
LATE_S, EARLY_S = 1.0, 0.006
# Minimum time at rest while the link is down: commands hold for 0.5 s.
RESTS_S = 2.0


class Fault(Exception):
    pass


class Stack:
    def __init__(self, domain):
        self.participant = DomainParticipant(domain)
        reliable = [Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(10)]
        topic = lambda name, kind: Topic(self.participant, "rt" + name, kind)
        reader = lambda name, kind, *policies: DataReader(self.participant, topic(name, kind), qos=Qos(*policies))
        self.readers = {
            "clock": reader("/clock", ros.Clock, Policy.Reliability.BestEffort, Policy.History.KeepLast(200)),
            "tf": reader("/tf", ros.TFMessage, *reliable),
            "odometry": reader("/ground_truth/odom", ros.Odometry, *reliable),
            "diagnostics": reader("/diagnostics", ros.DiagnosticArray, *reliable)}
        self.commands = DataWriter(self.participant, topic("/cmd_vel", ros.TwistStamped), qos=Qos(*reliable))
        self.counts, self.stamps = dict.fromkeys(self.readers, 0), dict.fromkeys(self.readers, -1.0)
        self.values, self.odometry = {}, None
        # Arrival time (UTC) and stamp of each /clock.
        self.ticks = []

    def hear(self):
        for name, reader in self.readers.items():
            for message in reader.take(N=200):
                if message.sample_info.valid_data:
                    self.counts[name] += 1
                    getattr(self, f"hear_{name}")(message)

    def hear_clock(self, message):
        self.stamps["clock"] = message.clock.seconds()
        self.ticks.append((time.time(), self.stamps["clock"]))

    def hear_tf(self, message):
        self.stamps["tf"] = max(t.header.stamp.seconds() for t in message.transforms)

    def hear_odometry(self, message):
        self.stamps["odometry"], self.odometry = message.header.stamp.seconds(), message

    def hear_diagnostics(self, message):
        self.stamps["diagnostics"] = message.header.stamp.seconds()
        for status in message.status:
            self.values.update({value.key: value.value for value in status.values})

    def until(self, what, is_so, seconds, each=lambda: None):
        """Listens until `is_so()` and calls `each` at 20 Hz meanwhile."""
        end, due = time.monotonic() + seconds, time.monotonic()
        while not is_so():
            if time.monotonic() > end:
                raise Fault(f"not within {seconds} s: {what}; heard {self.counts}, {self.values}")
            if time.monotonic() >= due:
                each()
                due += EACH_S
            self.hear()
            time.sleep(0.001)

    def send(self, speed_m_s):
        zero = ros.Vector3(0.0, 0.0, 0.0)
        twist = ros.Twist(ros.Vector3(speed_m_s, 0.0, 0.0), zero)
        self.commands.write(ros.TwistStamped(ros.Header(ros.Time(0, 0), "base_link"), twist))

    def refused(self):
        return int(self.values.get("commands_refused", "0"))

    def silent_s(self):
        return time.time() - self.ticks[-1][0]

    def goes(self, speed_m_s):
        """Whether the rover drives in that direction with at least a quarter of the speed."""
        return self.odometry.twist.twist.linear.x * speed_m_s > 0.25 * speed_m_s**2

    def place(self):
        """Time and position of the last odometry, s and m."""
        at = self.odometry.pose.pose.position
        return self.stamps["odometry"], (at.x, at.y, at.z)


class Commands:
    """Valid and invalid commands, alternately."""

    def __init__(self, stack, speed_m_s):
        self.stack, self.speed_m_s = stack, speed_m_s
        self.sent = self.senseless = 0

    def send(self):
        self.sent += 1
        self.senseless += self.sent % 2 == 0
        self.stack.send(math.nan if self.sent % 2 == 0 else self.speed_m_s)


def after(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def meet(stack):
    is_known = lambda: stack.values.get("publishers /cmd_vel") == "1" and "clock_at_zero_s" in stack.values
    flows = lambda: all(stack.counts.values()) and stack.commands.get_matched_subscriptions()
    stack.until("topics flow both ways", lambda: flows() and is_known(), MEET_WITHIN_S)


def drive(stack, speed_m_s, seconds):
    """Drives; checks that every command arrives and that the rover moves."""
    before, commands = stack.refused(), Commands(stack, speed_m_s)
    stack.until("the drive's end", after(seconds), 2 * seconds, commands.send)
    goes, keep_on = lambda: stack.goes(speed_m_s), lambda: stack.send(speed_m_s)
    stack.until(f"the rover goes at {speed_m_s} m/s", goes, SETTLE_WITHIN_S, keep_on)
    awaited = before + commands.senseless
    what = f"{commands.sent} commands arrive, {awaited} are refused in all"
    stack.until(what, lambda: stack.refused() >= awaited, SETTLE_WITHIN_S)
    # Nor does any command arrive twice: waits for another /diagnostics.
    told = stack.counts["diagnostics"]
    stack.until("diagnostics", lambda: stack.counts["diagnostics"] > told + 1, SETTLE_WITHIN_S)
    if stack.refused() != awaited:
        raise Fault(f"{stack.refused()} commands were refused, {awaited} were to be")
    print(f"all of {commands.sent} commands arrived", flush=True)


def check_latency(ticks, at_zero_s, delay_s):
    late_s = [come - (stamp + at_zero_s) for come, stamp in ticks]
    least_s, median_s = min(late_s), statistics.median(late_s)
    print(f"{len(late_s)} of /clock came after {least_s * 1e3:.1f} ms at least, {median_s * 1e3:.1f} ms by median")
    if not delay_s - EARLY_S <= least_s <= median_s < delay_s + LATE_S:
        raise Fault(f"the link delays by {delay_s} s")


def lose_link(stack):
    """The rover stands while the link is down; then everything flows again."""
    keep_on = lambda: stack.send(SPEED_M_S)
    stack.until("the rover goes", lambda: stack.goes(SPEED_M_S), SETTLE_WITHIN_S, keep_on)
    begun_s, begun = stack.place()
    print("take the link down", flush=True)
    stack.until("the link is down", lambda: stack.silent_s() > SILENT_S, SETTLE_WITHIN_S, keep_on)
    went_silent, within_s = time.monotonic() - stack.silent_s(), DOWN_S + BACK_WITHIN_S
    left_s = lambda: within_s - (time.monotonic() - went_silent)
    stack.until("/clock is back", lambda: stack.silent_s() < SILENT_S, left_s(), keep_on)
    # Messages that were kept during the outage arrive first.
    back_s = stack.stamps["clock"]
    is_back = lambda name: stack.stamps[name] >= back_s
    stack.until("odometry is back", lambda: is_back("odometry"), left_s(), keep_on)
    ended_s, ended = stack.place()
    stack.until("all topics are back", lambda: all(map(is_back, stack.stamps)), left_s(), keep_on)
    print(f"all topics were back after {time.monotonic() - went_silent:.1f} s, with {DOWN_S} s of them down")
    moved_m, gap_s = math.dist(begun, ended), ended_s - begun_s
    print(f"the rover moved {moved_m:.3f} m in {gap_s:.2f} s without a link", flush=True)
    if gap_s < SILENT_S or moved_m > abs(SPEED_M_S) * (gap_s - RESTS_S):
        raise Fault("the rover goes on without commands")


def main():
    domain, delay_s = int(sys.argv[1]), float(sys.argv[2])
    stack = Stack(domain)
    try:
        meet(stack)
        stack.ticks.clear()
        drive(stack, SPEED_M_S, DRIVE_S)
        check_latency(stack.ticks, float(stack.values["clock_at_zero_s"]), delay_s)
        lose_link(stack)
        drive(stack, -SPEED_M_S, DRIVE_S / 2)
    except Fault as fault:
        return str(fault)
    return 0


sys.exit(main())
