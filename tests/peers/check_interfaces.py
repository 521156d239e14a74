"""Checks a rosbag2 directory with two readers that are independent of Selene.

usage: check_interfaces.py [--killed] [--published FILE] [--size] BAG
       check_interfaces.py --definitions FOLDER

rosbags: every schema parses; a standard type has the fields and constants of
ROS 2 Jazzy; every message deserialises by the bag's own schema.
mcap-ros2-support: every message decodes, to the same values as with rosbags.
--published: both readers give every message byte for byte as it was published;
FILE has one line per message: topic, stamp in nanoseconds, CDR bytes in hexadecimal. Where the
bag has several files, each later one begins with the last message of every latched topic.
--size: the bag is as large as the same messages by another MCAP writer with rosbag2's
settings (chunks of 786432 bytes, no compression), within 5 %.
--definitions: every definition in FOLDER (pkg.msg.Type.msg, with its dependencies) parses,
and its type hash (pkg.msg.Type.hash) is the one that rosbags computes from it. Those of core
packages, which rosbags knows, have the fields and constants of ROS 2 Jazzy; ours and those of
BEYOND_CORE are compared with nothing.
"""

import argparse
import io
import sys
from collections import Counter, namedtuple
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

# Our own packages, which no standard typestore has.
OWN_PACKAGES = {"selene_msgs"}
# Standard packages that are not among the core packages which rosbags knows.
BEYOND_CORE = {"grid_map_msgs", "radar_msgs", "simulation_interfaces", "vision_msgs"}
# Field that rosidl adds to messages without fields; it is in no .msg text.
DUMMY = "structure_needs_at_least_one_member"
# From ros-drivers/ackermann_msgs; rosbags has only common_interfaces and rcl_interfaces.
ACKERMANN = {
    "ackermann_msgs/msg/AckermannDrive":
        "float32 steering_angle\nfloat32 steering_angle_velocity\nfloat32 speed\nfloat32 acceleration\nfloat32 jerk",
    "ackermann_msgs/msg/AckermannDriveStamped": "std_msgs/Header header\nAckermannDrive drive",
}

# A message of an MCAP file.
Recorded = namedtuple("Recorded", "schema channel message is_latched")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bag", type=Path, nargs="?")
    parser.add_argument("--killed", action="store_true", help="the recording was cut off: metadata may tell fewer messages")
    parser.add_argument("--published", type=Path)
    parser.add_argument("--size", action="store_true")
    parser.add_argument("--definitions", type=Path)
    arguments = parser.parse_args()
    if arguments.definitions:
        return check_definitions(arguments.definitions)
    bag = arguments.bag
    seen = read_with_rosbags(bag, arguments.killed)
    compare_with_mcap(bag, seen)
    if arguments.published:
        compare_with_published(bag, arguments.published)
    if arguments.size:
        compare_size(bag)
    counts = Counter(topic for topic, _ in seen)
    for topic, count in sorted(counts.items()):
        print(f"{count:8d} {topic}")
    print(f"ok: {len(seen)} messages on {len(counts)} topics")


def check_definitions(folder):
    files = sorted(folder.glob("*.msg"))
    for file in files:
        name = file.stem.replace(".", "/")
        types = get_types_from_msg(file.read_text(), name)
        check_against_jazzy(types)
        check_hash(name, types, file.with_suffix(".hash").read_text())
    print(f"ok: {len(files)} definitions")


def check_hash(name, types, told):
    store = get_typestore(Stores.EMPTY)
    store.register(types)
    expected = store.hash_rihs01(name)
    assert told == expected, f"{name}: hash {told} is not {expected}"


def standard_definitions():
    known = dict(get_typestore(Stores.ROS2_JAZZY).fielddefs)
    for name, text in ACKERMANN.items():
        known |= get_types_from_msg(text, name)
    return known


def read_with_rosbags(bag, killed):
    """[(topic, value)] of the whole bag; checks the types as well."""
    seen = []
    with Reader(bag) as reader:
        store = get_typestore(Stores.EMPTY)
        for connection in reader.connections:
            types = get_types_from_msg(connection.msgdef.data, connection.msgtype)
            check_against_jazzy(types)
            store.register({name: known for name, known in types.items() if name not in store.fielddefs})
            assert len(connection.ext.offered_qos_profiles) == 1, f"{connection.topic} has no QoS"
        for connection, _, data in reader.messages(reader.connections):
            seen.append((connection.topic, store.deserialize_cdr(data, connection.msgtype)))
        told = sum(connection.msgcount for connection in reader.connections)
        complete = len(seen) == told == reader.message_count
        assert complete or killed and len(seen) >= reader.message_count, f"{len(seen)} messages read, {told} told"
    return seen


def check_against_jazzy(types):
    jazzy = standard_definitions()
    for name, definition in types.items():
        if name.split("/")[0] in OWN_PACKAGES | BEYOND_CORE:
            continue
        constants, members = definition
        expected_constants, expected = jazzy[name]
        expected = [member for member in expected if member[0] != DUMMY]
        assert list(members) == expected, f"{name}: {members} is not {expected}"
        same_constants = sorted(map(tuple, constants)) == sorted(map(tuple, expected_constants))
        assert same_constants, f"{name}: {constants} is not {expected_constants}"


def mcap_files(bag):
    return sorted(bag.glob("*.mcap"), key=lambda file: int(file.stem.rsplit("_", 1)[1]))


def compare_with_mcap(bag, seen):
    decoded = []
    for file in mcap_files(bag):
        with file.open("rb") as stream:
            reader = make_reader(stream, decoder_factories=[DecoderFactory()])
            decoded += [(channel.topic, message) for _, channel, _, message in reader.iter_decoded_messages()]
    assert len(decoded) == len(seen), f"mcap reads {len(decoded)} messages, rosbags {len(seen)}"
    by_topic = lambda pairs: sorted(pairs, key=lambda pair: pair[0])
    for (topic, ours), (other_topic, theirs) in zip(by_topic(seen), by_topic(decoded)):
        assert topic == other_topic and same(ours, theirs), f"{topic}: {ours} is not {theirs}"


def read_with_mcap(bag):
    """The messages of each file, in the order in which they were written."""
    files = []
    for file in mcap_files(bag):
        with file.open("rb") as stream:
            messages = make_reader(stream).iter_messages(log_time_order=False)
            files.append([Recorded(schema, channel, message, is_latched(channel)) for schema, channel, message in messages])
    return files


def is_latched(channel):
    profiles = channel.metadata["offered_qos_profiles"]
    return "durability: 1\n" in profiles or "durability: transient_local\n" in profiles


def each_once(files):
    """All messages without those that later files repeat; checks that each repeats every latched topic's last one."""
    once, latest = [], {}
    for number, file in enumerate(files):
        identity = lambda read: (read.channel.topic, read.message.sequence, read.message.publish_time, read.message.data)
        known = {identity(read) for read in once if read.is_latched}
        head = 0
        while number and head < len(file) and file[head].is_latched and identity(file[head]) in known:
            head += 1
        repeated = {identity(read) for read in file[:head]}
        for topic, last in latest.items():
            assert not number or last in repeated, f"file {number} does not begin with the last message of {topic}"
        once += file[head:]
        latest |= {read.channel.topic: identity(read) for read in file if read.is_latched}
    return once


def compare_with_published(bag, published):
    lines = (line.split() for line in published.read_text().splitlines())
    published = sorted((topic, int(stamp), bytes.fromhex(data)) for topic, stamp, data in lines)
    files = read_with_mcap(bag)
    by_mcap = sorted((read.channel.topic, read.message.publish_time, read.message.data) for read in each_once(files))
    assert by_mcap == published, "mcap's messages are not those published"
    with Reader(bag) as reader:
        by_rosbags = sorted((c.topic, bytes(data)) for c, _, data in reader.messages(reader.connections))
    all_messages = sorted((read.channel.topic, read.message.data) for file in files for read in file)
    assert by_rosbags == all_messages, "rosbags' messages are not those in the files"
    print(f"{len(published)} messages byte for byte as published, in {len(files)} files")


def compare_size(bag):
    output = io.BytesIO()
    writer = Writer(output, chunk_size=786432, compression=CompressionType.NONE)
    writer.start(profile="ros2")
    schemas, channels = {}, {}
    for schema, channel, message, _ in (read for file in read_with_mcap(bag) for read in file):
        if schema.name not in schemas:
            schemas[schema.name] = writer.register_schema(schema.name, schema.encoding, schema.data)
        if channel.topic not in channels:
            known = schemas[schema.name]
            channels[channel.topic] = writer.register_channel(channel.topic, "cdr", known, channel.metadata)
        writer.add_message(channels[channel.topic], message.log_time, message.data, message.publish_time)
    writer.finish()
    ours, theirs = sum(file.stat().st_size for file in mcap_files(bag)), output.tell()
    assert 0.95 <= ours / theirs <= 1.05, f"{ours} bytes, by another writer {theirs}"
    print(f"{ours} bytes, {ours / theirs:.3f} of another writer's")


def same(left, right):
    """Whether the values of two readers are equal, field by field."""
    if is_dataclass(left):
        # ROS 2 requires constants in capitals and fields in small letters.
        names = [field.name for field in fields(left) if field.name.islower()]
        names = [name for name in names if name not in ("__msgtype__", DUMMY)]
        return all(same(getattr(left, name), getattr(right, name)) for name in names)
    if isinstance(left, (list, tuple, numpy.ndarray)):
        return len(left) == len(right) and (
            numpy.array_equal(left, numpy.frombuffer(right, "u1"))
            if isinstance(right, (bytes, bytearray))
            else all(map(same, left, right))
        )
    return left == right or (left != left and right != right)


if __name__ == "__main__":
    sys.exit(main())
