"""An external stage of a camera's pipeline: it halves every pixel that Selene sends to it, and checks that Selene
publishes the result.

    own_stage.py DOMAIN CAMERA STAGE COUNT   at least COUNT images must come back as they were sent

Exits with 0 if all is as expected, else says what is not."""

import sys
import time

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

import ros_types as ros

HALF = bytes(value // 2 for value in range(256))


def main():
    domain, camera, stage, count = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    participant = DomainParticipant(domain)
    reliable = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(10))
    best_effort = Qos(Policy.Reliability.BestEffort, Policy.History.KeepLast(200))
    topic = lambda name: Topic(participant, f"rt/{camera}/{name}", ros.Image)
    given = DataReader(participant, topic(f"stages/{stage}/in"), qos=reliable)
    made = DataWriter(participant, topic(f"stages/{stage}/out"), qos=reliable)
    published = DataReader(participant, topic("image_raw"), qos=best_effort)
    take = lambda reader: [s for s in reader.take(N=50) if s.sample_info.valid_data]
    key = lambda image: (image.header.stamp.sec, image.header.stamp.nanosec)

    sent, seen = {}, {}
    end = time.time() + 120
    was_there = False
    while time.time() < end:
        for image in take(given):
            image.data = bytes(image.data).translate(HALF)
            sent[key(image)] = bytes(image.data)
            made.write(image)
        seen.update({key(image): bytes(image.data) for image in take(published)})
        is_there = bool(given.get_matched_publications())
        if was_there and not is_there:
            break
        was_there = was_there or is_there
        time.sleep(0.001)

    wrong = [stamp for stamp, data in seen.items() if sent.get(stamp) != data]
    print(f"{len(sent)} images made darker, {len(seen)} published")
    if wrong:
        return f"published images of {wrong} are not what was made of them"
    if not any(any(data) for data in seen.values()):
        return "all images are black"
    return 0 if len(seen) >= count else f"{len(seen)} images were published, not {count}"


sys.exit(main())
