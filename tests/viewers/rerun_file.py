"""Rerun's own readers on what a run wrote: the file of --rerun against the bag of the same run, and the bag itself.

    python rerun_file.py RRD BAG     BAG: the .mcap file; needs rerun-sdk, mcap and mcap-ros2-support
"""

import sys
from collections import defaultdict

import numpy as np
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rerun.experimental import McapReader, RrdReader

# Half of the smallest step between single precision numbers near 100 m.
TOLERANCE_M = 4e-6


def entities(reader):
    """Rows of each entity, one after the other, by component."""
    rows = defaultdict(lambda: defaultdict(list))
    for chunk in reader.stream().to_chunks():
        for name, column in chunk.to_record_batch().to_pydict().items():
            rows[str(chunk.entity_path)][name].extend(value for value in column if value is not None)
    return rows


def messages(bag):
    """Decoded messages of a bag by topic."""
    by_topic = defaultdict(list)
    with open(bag, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for _, channel, _, message in reader.iter_decoded_messages():
            by_topic[channel.topic].append(message)
    return by_topic


def same_images(shown, sent):
    """The pixels of each image, whatever Rerun calls them."""
    kinds = [kind for kind in ("Image", "DepthImage", "SegmentationImage") if shown.get(f"{kind}:buffer")]
    assert len(kinds) == 1, kinds
    buffers = shown[f"{kinds[0]}:buffer"]
    assert len(buffers) == len(sent), f"{len(buffers)} images of {len(sent)}"
    for buffer, image in zip(buffers, sent):
        assert bytes(buffer[0]) == bytes(image.data), "other pixels"


def same_points(shown, sent):
    clouds = shown["Points3D:positions"]
    assert len(clouds) == len(sent), f"{len(clouds)} clouds of {len(sent)}"
    for cloud, message in zip(clouds, sent):
        offsets = {field.name: field.offset for field in message.fields}
        raw = np.frombuffer(bytes(message.data), np.uint8).reshape(-1, message.point_step)
        axes = [raw[:, offsets[axis] : offsets[axis] + 4].copy().view("<f4")[:, 0] for axis in "xyz"]
        expected = np.stack(axes, axis=1)
        expected = expected[np.isfinite(expected).all(axis=1)]
        assert np.array_equal(np.array(cloud, np.float32).reshape(-1, 3), expected), "other points"


def same_boxes(shown, sent):
    arrays = shown["Boxes2D:centers"]
    assert len(arrays) == len(sent), f"{len(arrays)} arrays of boxes of {len(sent)}"
    assert any(message.detections for message in sent), "no box at all"
    for centers, message in zip(arrays, sent):
        expected = [[box.bbox.center.position.x, box.bbox.center.position.y] for box in message.detections]
        assert np.allclose(np.array(centers).reshape(-1, 2), np.array(expected).reshape(-1, 2), rtol=0, atol=1e-3), "other boxes"


def same_frame(shown, sent, frame):
    places = [t.transform.translation for message in sent for t in message.transforms if t.child_frame_id == frame]
    translations = [row[0] for row in shown["Transform3D:translation"]]
    assert len(translations) == len(places), f"{frame}: {len(translations)} transforms of {len(places)}"
    expected = [[place.x, place.y, place.z] for place in places]
    assert np.allclose(translations, expected, rtol=0, atol=TOLERANCE_M), f"{frame} is elsewhere"


def same_plot(shown, expected, what):
    values = [row[0] for row in shown["Scalars:scalars"]]
    assert np.array_equal(values, expected), f"{what}: another curve"


def is_ground(shown, sent):
    """A mesh every two seconds, with the rover at its middle."""
    meshes = shown["Mesh3D:vertex_positions"]
    assert len(meshes) >= 2, f"{len(meshes)} meshes"
    start = sent[0].pose.pose.position
    middle = np.mean(np.array(meshes[0]), axis=0)
    assert np.hypot(middle[0] - start.x, middle[1] - start.y) < 0.2, f"{middle} is not {start}"


def main(rrd, bag):
    shown, sent = entities(RrdReader(rrd)), messages(bag)
    compared = []
    for topic, of_topic in sent.items():
        kind = type(of_topic[0]).__name__
        if kind == "Image":
            same_images(shown[topic], of_topic)
        elif kind == "PointCloud2":
            same_points(shown[topic], of_topic)
        elif kind == "Detection2DArray":
            same_boxes(shown[topic.replace("detections", "image_raw/detections")], of_topic)
        elif topic == "/tf":
            same_frame(shown["/tf/base_link"], of_topic, "base_link")
        elif topic == "/ground_truth/wheels":
            for i, wheel in enumerate(of_topic[0].wheels):
                expected = [message.wheels[i].slip_ratio for message in of_topic]
                same_plot(shown[f"{topic}/slip/{wheel.name}"], expected, wheel.name)
        elif topic == "/ground_truth/odom":
            is_ground(shown["/ground/viper"], of_topic)
        else:
            continue
        compared.append(f"{topic} ({len(of_topic)})")
    print("as the bag has it:", ", ".join(sorted(compared)))
    kinds = {kind for kind in ("image_raw", "points", "detections", "/tf", "wheels", "odom") if any(kind in c for c in compared)}
    assert len(kinds) == 6, f"compared only {kinds}"
    of_bag = entities(McapReader(bag))
    missing = [topic for topic in sent if not of_bag.get(topic)]
    assert not missing, f"Rerun does not show of the bag: {missing}"
    print(f"Rerun's reader finds all {len(sent)} topics of the bag")


main(*sys.argv[1:])
