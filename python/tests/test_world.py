"""Tests of worlds: stepping, commands, sensors, saving, refused arguments."""

import ctypes
import gc
import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
import selene
from conftest import ROOT

PLAIN = "learning_plain"


@pytest.fixture(scope="module")
def plain():
    world = selene.World(PLAIN)
    yield world


def test_a_scenario_is_found_by_name_and_by_path_and_they_are_the_same(plain):
    assert PLAIN in selene.scenarios()
    by_path = selene.World(ROOT / "config/scenario/learning_plain.yaml")
    plain.reset()
    assert by_path.state_hash() == plain.state_hash()
    assert by_path.rovers == ["ex1"] and by_path.sensors() == ["ex1_camera"]


@pytest.mark.parametrize("instruments", [True, False])
def test_a_world_has_the_hash_that_the_program_prints(program, instruments):
    file = str(ROOT / "config/scenario/sorato.yaml")
    printed = subprocess.run([program, "hash", file, "--for", "0.5"], check=True, capture_output=True, text=True)
    world = selene.World(file, instruments=instruments)
    assert world.step(0.5) == pytest.approx(0.5)
    assert f"{world.state_hash():016x}" == printed.stdout.strip()


def figures(program: str, folder: Path, *arguments: object) -> dict[str, object]:
    """The figures of a run of the program without sensors."""
    alone = ["--no-dds", "--no-sensors", "--no-pictures", "--pace", "fast", "--device", "cpu", "--quiet"]
    file = folder / "figures.json"
    command = [program, "run", *map(str, arguments), *alone, "--figures", str(file)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120)
    return json.loads(file.read_text())


def test_a_world_that_drives_its_route_comes_to_the_state_of_a_run(program, tmp_path):
    file = ROOT / "config/scenario/sorato.yaml"
    world = selene.World(file)
    start = world.rover()["position_m"]
    world.step(1.0)
    assert np.linalg.norm(world.rover()["position_m"][:2] - start[:2]) > 0.01
    assert figures(program, tmp_path, file, "--for", 1)["state_hash"] == f"{world.state_hash():016x}"


def test_a_run_goes_on_from_what_python_has_driven(program, tmp_path):
    file = ROOT / "config/scenario/learning_plain.yaml"
    world = selene.World(file)
    world.drive(0.5, 0.3)
    world.step(0.2)
    state = tmp_path / "driven.state"
    state.write_bytes(world.save())
    saved = world.state_hash()
    # The command holds for 0.3 s more, then the rover brakes.
    world.step(0.6)
    run = figures(program, tmp_path, file, "--resume", state, "--for", 0.6)
    assert run["state_hash"] == f"{world.state_hash():016x}" != f"{saved:016x}"
    assert run["distance_m"] > 0.1


def test_a_driven_rover_moves_and_its_wheels_are_told(plain):
    plain.reset()
    start = plain.rover()
    for _ in range(10):
        plain.drive(0.5)
        plain.step(0.2)
    now = plain.rover()
    way = now["position_m"] - start["position_m"]
    assert 0.5 < way[0] < 1.1 and abs(way[1]) < 0.1
    assert now["velocity_m_s"][0] == pytest.approx(0.5, abs=0.1)
    assert np.linalg.norm(now["orientation_xyzw"]) == pytest.approx(1.0)
    for key in ["slip", "sinkage_m", "wheel_torque_nm", "wheel_rate_rad_s"]:
        assert now[key].shape == (4,) and np.isfinite(now[key]).all()
    assert now["wheel_force_n"].shape == (4, 3)
    # Together the wheels carry the rover: 21.63 kg at 1.62 m/s2.
    assert now["wheel_force_n"][:, 2].sum() == pytest.approx(21.63 * 1.62, rel=0.1)


def test_one_joint_turns_at_its_set_point(plain):
    plain.reset()
    joint = plain.joints()[0]
    plain.set_joint(joint, 1.0)
    plain.step(0.4)
    assert plain.rover()["wheel_rate_rad_s"][0] == pytest.approx(1.0, abs=0.2)


def test_sensors_give_arrays_and_a_datum_is_the_same_until_the_next():
    world = selene.World("instruments")
    assert world.read("adis16495") is None
    world.step(0.5)
    imu = world.read("adis16495")
    # At rest an accelerometer measures the ground's support: 1.62 m/s2 upward.
    assert np.linalg.norm(imu["linear_acceleration_m_s2"]) == pytest.approx(1.62, abs=0.3)
    assert imu["angular_velocity_rad_s"].shape == (3,)
    assert world.read("adis16495") is imu
    world.step(0.5)
    later = world.read("adis16495")
    assert later["index"] > imu["index"] and later["time_s"] > imu["time_s"]
    kinds = [world.read(name) for name in world.sensors()]
    assert sum(datum is not None for datum in kinds) > 5


def is_view_of_rust(array: np.ndarray) -> bool:
    """Whether an array's memory is that of a Rust vector, so that NumPy has made no copy of it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return not array.flags.owndata and array.base is not None


def test_a_radar_gives_rows_and_an_altimeter_a_distance():
    world = selene.World("instruments", instruments=False, lidars=True)
    world.step(0.2)
    radar, altimeter = world.read("ars408_near"), world.read("altimeter")
    # Range, azimuth, elevation, speed, ratio of signal to noise.
    returns = radar["returns"]
    assert returns.ndim == 2 and len(returns) > 10 and returns.shape[1] == 5
    assert returns.dtype == np.float64 and is_view_of_rust(returns)
    assert (returns[:, 0] > 0).all() and (returns[:, 0] < 71).all() and (np.abs(returns[:, 1]) < 1.5).all()
    assert isinstance(altimeter["range_m"], float) and 0.05 < altimeter["range_m"] < 1.5
    assert list(altimeter["limits_m"]) == pytest.approx([0.05, 40.0])
    assert world.read("adis16495") is None


def test_clouds_and_depth_images_are_views_of_what_the_sensor_made(changed):
    kinect = changed(
        "sensor/azure_kinect.yaml",
        *("width: 640", "width: 64", "height: 576", "height: 58", "look_at_m: [2.0, 0, 0]", "look_at_m: [1.6, 0, 0]"),
        # Enough light to unwrap the two frequencies in sunlight over the whole image.
        *("emitted_w: 2", "emitted_w: 21.5", "illumination_deg: [75, 65]", "illumination_deg: [75, 70]"),
        *("cloud: false", "cloud: true", "truth: false", "truth: true"),
    )
    lidar = f"{ROOT}/config/sensor/obstacle_lidar.yaml"
    world = selene.World(changed("scenario/sil.yaml", lidar, f"{lidar}\n  - {kinect}"), lidars=True)
    world.step(0.3)

    points = world.read("obstacle_lidar")["points"]
    assert points.dtype.names == ("x", "y", "z", "intensity", "ring", "time") and points.dtype.itemsize == 22
    assert len(points) > 100 and points["ring"].max() < 8 and is_view_of_rust(points)
    # A rock of 0.9 m lies 3 m ahead, higher than the ground, which is more than 0.4 m below the lidar.
    distance_m, azimuth_rad = np.hypot(points["x"], points["y"]), np.arctan2(points["y"], points["x"])
    is_rock = (np.abs(azimuth_rad) < 0.2) & (points["z"] > -0.4) & (distance_m > 2) & (distance_m < 3.2)
    assert is_rock.sum() > 2

    datum = world.read("azure_kinect")
    depth_m, true_m = datum["depth_m"], datum["truth"]["depth_m"]
    assert depth_m.shape == true_m.shape == (58, 64) and depth_m.dtype == np.float32
    assert datum["amplitude"].dtype == np.uint16 and datum["points"].dtype.names[:3] == ("x", "y", "z")
    assert all(is_view_of_rust(datum[key]) for key in ["depth_m", "amplitude", "intensity", "points"])
    assert len(datum["points"]) == np.isfinite(depth_m).sum()
    is_seen = np.isfinite(depth_m) & (true_m < 3.0)
    is_right = np.abs(depth_m[is_seen] - true_m[is_seen]) < 0.3
    assert is_right.sum() > 500 and is_right.mean() > 0.8


def test_a_picture_leaves_the_world_as_it_is(plain):
    plain.reset()
    before = plain.state_hash()
    picture = plain.render()
    assert picture.dtype == np.uint8 and picture.shape == (512, 640, 3) and picture.std() > 1.0
    # A mosaic of colours; sunlit ground is redder than it is blue.
    red, _, blue = picture.reshape(-1, 3).mean(axis=0)
    assert red > 1.05 * blue
    assert np.array_equal(plain.render("ex1_camera"), picture) and plain.state_hash() == before


def test_a_camera_image_comes_at_the_camera_s_rate(changed):
    small = changed("sensor/ex1_camera.yaml", "width: 640\n  height: 512", "width: 80\n  height: 64")
    file = changed("scenario/learning_plain.yaml", f"{ROOT}/config/sensor/ex1_camera.yaml", small)
    world = selene.World(file, cameras=True)
    world.step(0.5)
    datum = world.read("ex1_camera")
    assert datum["image"].shape == (64, 80) and datum["image"].dtype == np.uint16
    assert datum["encoding"] == "bayer_rggb16" and datum["k"].shape == (3, 3)
    assert datum["depth"].shape == (64, 80) and datum["depth"].dtype == np.float32
    assert not datum["image"].flags.owndata  # a view of the camera's bytes, not a copy
    assert datum["time_s"] == pytest.approx(0.4)


def test_a_saved_state_goes_on_as_the_run_that_it_is_of(plain):
    plain.reset()
    plain.drive(0.5, 0.3)
    plain.step(0.1)
    saved = plain.save()
    twin = plain.clone()
    plain.step(0.3)
    other = selene.World(PLAIN)
    other.restore(saved)
    other.step(0.3)
    twin.step(0.3)
    assert other.state_hash() == plain.state_hash() == twin.state_hash()
    with pytest.raises(selene.Error, match="damaged"):
        other.restore(saved[: len(saved) // 2])
    assert other.state_hash() == plain.state_hash()


def test_a_reset_begins_the_same_world_and_another_seed_another_one(plain):
    plain.reset()
    first = plain.state_hash()
    plain.step(0.1)
    assert plain.state_hash() != first
    plain.reset()
    assert plain.state_hash() == first
    other = selene.World(PLAIN, seed=5)
    plain.reset(seed=5)
    assert plain.seed == 5 and plain.state_hash() == other.state_hash() != first
    plain.reset(seed=1)
    assert plain.state_hash() == first


def test_what_is_refused_says_file_and_line(changed, tmp_path):
    with pytest.raises(selene.Error) as raised:
        selene.World(changed("scenario/learning_plain.yaml", "gravity_m_s2: 1.62", "gravity_m_s2: 99"))
    assert raised.value.file == str(tmp_path / "learning_plain.yaml") and raised.value.line == 5
    assert "99" in str(raised.value) and "0 to 30" in str(raised.value)
    with pytest.raises(selene.Error, match="neither a file nor one of config/scenario: .*polar") as raised:
        selene.World("nowhere")
    assert raised.value.file == "nowhere" and raised.value.line is None


def test_arguments_that_cannot_be_meant_are_refused_and_the_world_stays(plain):
    plain.reset()
    before = plain.rover()["position_m"]
    for wrong in [
        lambda: plain.step(0.0123),
        lambda: plain.step(float("nan")),
        lambda: plain.step(-1.0),
        lambda: plain.step(0.1, heartbeats=3),
        lambda: plain.drive(float("nan")),
        lambda: plain.drive(0.1, rover="nobody"),
        lambda: plain.set_joint("elbow", 0.0),
        lambda: plain.read("nose"),
        lambda: plain.render("nose"),
    ]:
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(ValueError, match="takes no commands; those that do are"):
        plain.set_joint("elbow", 0.0)
    assert plain.time == 0.0 and np.array_equal(plain.rover()["position_m"], before)


def test_a_drum_tells_the_soil_in_it():
    world = selene.World("learning_dig")
    assert world.rover()["drum_soil_kg"].tolist() == [0.0, 0.0]
    world.set_joint("front_arm", -0.3)
    for _ in range(5):
        world.set_joint("front_drum", 2.0)
        world.step(0.4)
    front, rear = world.rover()["drum_soil_kg"]
    assert front > 0.0 and rear == 0.0


def test_other_threads_run_while_a_world_is_stepped(plain):
    plain.reset()
    ticks, done = [0], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks[0] += 1

    other = threading.Thread(target=tick)
    other.start()
    plain.step(10.0)
    done.set()
    other.join()
    assert ticks[0] > 5


def test_a_signal_ends_a_long_step_and_the_world_goes_on(plain):
    plain.reset()
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        plain.step(1e6)
    timer.join()
    stopped = plain.time
    assert 0.0 < stopped < 1e6
    plain.step(0.1)
    assert plain.time == pytest.approx(stopped + 0.1)


def resident_kb() -> int:
    """Resident memory, kB, without what has been freed."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_resets_leave_memory_flat():
    count = 10_000 if os.environ.get("SELENE_LONG_RUNS") else 4_000
    world = selene.World(PLAIN)

    def some(resets: int) -> int:
        for _ in range(resets):
            world.reset()
            world.drive(0.5)
            world.step(heartbeats=2)
        return resident_kb()

    first = some(count // 5)
    # A leak of 1 kB in each would show.
    assert some(count) - first < count * 8 // 10
