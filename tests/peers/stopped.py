"""A subscriber of a simulation that is stopped (SIGSTOP) and continued, and may be stopped with it.

    stopped.py listen DOMAIN STOPS   receives /clock and /tf, and again after each of STOPS stops
    stopped.py join DOMAIN           a new subscriber: receives /clock, /tf and the latched topics

Prints `receives` and `receives again` when it does. Exits with 0 if all is as expected, else says what is not."""

import sys
import time

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

import ros_types as ros

# A silence of /clock (200 Hz) of this length counts as a stop.
SILENT_S = 1.5
# Number of messages of each topic that must arrive, and the time limit.
COUNTS, WITHIN_S = {"clock": 100, "tf": 25}, 60.0


class Subscriber:
    def __init__(self, domain):
        self.participant = DomainParticipant(domain)
        reliable = Policy.Reliability.Reliable(duration(seconds=1))
        topic = lambda name, kind: Topic(self.participant, "rt/" + name, kind)
        reader = lambda name, kind, *policies: DataReader(self.participant, topic(name, kind), qos=Qos(*policies))
        self.readers = {
            "clock": reader("clock", ros.Clock, Policy.Reliability.BestEffort, Policy.History.KeepLast(200)),
            "tf": reader("tf", ros.TFMessage, reliable, Policy.History.KeepLast(200)),
            "robot_description": reader(
                "robot_description", ros.String, reliable, Policy.Durability.TransientLocal, Policy.History.KeepLast(1))}
        self.stamps = {name: [] for name in self.readers}
        self.stops, self.last = 0, None

    def hear(self):
        for name, reader in self.readers.items():
            for message in reader.take(N=200):
                if message.sample_info.valid_data:
                    self.note(name, message)

    def note(self, name, message):
        if name == "clock":
            now, last = time.monotonic(), self.last
            self.last = now
            if last is not None and now - last > SILENT_S:
                self.stops += 1
                self.stamps = {name: [] for name in self.readers}
        self.stamps[name].append(stamp_of(name, message))

    def hear_until(self, what, is_so):
        end = time.monotonic() + WITHIN_S
        while not is_so():
            if time.monotonic() > end:
                heard = {name: len(stamps) for name, stamps in self.stamps.items()}
                sys.exit(f"not within {WITHIN_S} s: {what}; heard {heard}, {self.stops} stops")
            self.hear()
            time.sleep(0.005)

    def flows(self):
        return all(len(self.stamps[name]) >= count for name, count in COUNTS.items())

    def check_order(self):
        for name, stamps in self.stamps.items():
            if any(a > b for a, b in zip(stamps, stamps[1:])):
                sys.exit(f"stamps of {name} go back: {stamps}")


def stamp_of(name, message):
    if name == "clock":
        return message.clock.seconds()
    return max(t.header.stamp.seconds() for t in message.transforms) if name == "tf" else 0.0


def listen(subscriber, stops):
    subscriber.hear_until("clock and transforms", subscriber.flows)
    print("receives", flush=True)
    for stop in range(1, stops + 1):
        subscriber.hear_until(f"stop {stop}", lambda: subscriber.stops >= stop)
        subscriber.hear_until(f"clock and transforms after stop {stop}", subscriber.flows)
        subscriber.check_order()
        print("receives again", flush=True)


def join(subscriber):
    latched = lambda: subscriber.stamps["robot_description"]
    subscriber.hear_until("clock, transforms and what is latched", lambda: subscriber.flows() and latched())
    subscriber.check_order()
    print("receives", flush=True)


def main():
    subscriber = Subscriber(int(sys.argv[2]))
    if sys.argv[1] == "listen":
        listen(subscriber, int(sys.argv[3]))
    else:
        join(subscriber)


main()
