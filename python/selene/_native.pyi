"""Worlds and environments, written in Rust. Units are SI, angles radians; the map frame is x east, y north, z up."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = ["Environments", "Error", "World", "__version__"]

__version__: str

class Error(Exception):
    """Selene refuses a request; the message says why."""

    file: str | None
    """The input file that is at fault; None if no file is."""
    line: int | None
    """The line in that file, counted from 1."""

@type_check_only
class RoverState(TypedDict):
    """True state of a rover, without sensors. Arrays over wheels are in the order of the rover's file."""

    position_m: NDArray[np.float64]
    """(3,) position of `base_link` in the map frame."""
    orientation_xyzw: NDArray[np.float64]
    """(4,) quaternion from `base_link` to the map frame."""
    velocity_m_s: NDArray[np.float64]
    """(3,) velocity of `base_link` in its own axes."""
    angular_velocity_rad_s: NDArray[np.float64]
    """(3,) in the axes of `base_link`."""
    acceleration_m_s2: NDArray[np.float64]
    """(3,) in the map frame, averaged over the last heartbeat."""
    joint_position: NDArray[np.float64]
    """Position of each moving joint, rad or m."""
    joint_velocity: NDArray[np.float64]
    """Velocity of each moving joint, rad/s or m/s."""
    joint_effort: NDArray[np.float64]
    """Torque or force of each moving joint, N m or N."""
    slip: NDArray[np.float64]
    """Slip ratio of each wheel: 1 - v/(wR) driving, wR/v - 1 braking."""
    slip_angle_rad: NDArray[np.float64]
    """Angle from each wheel's heading to its velocity."""
    sinkage_m: NDArray[np.float64]
    """Depth of each wheel's lowest point below undisturbed ground."""
    wheel_rate_rad_s: NDArray[np.float64]
    """Rotation rate of each wheel about its axle."""
    wheel_torque_nm: NDArray[np.float64]
    """Torque of each wheel's motor."""
    wheel_force_n: NDArray[np.float64]
    """(wheels, 3) force of the soil on each wheel, in the axes of `base_link`."""
    drum_soil_kg: NDArray[np.float64]
    """Mass of soil in each drum, in the order of the rover's file; 0 for a drum outside granular windows."""

@type_check_only
class StepResult(TypedDict, total=False):
    """Result of a step of environments: one row for each learning rover, environment by environment."""

    observations: NDArray[np.float32]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    ends: list[str | None]
    """arrived, tipped, hit, stuck, lost, full or left; absent if the task has ended no episode in this step."""
    images: NDArray[np.uint8]
    """(rovers, height, width, channels); absent if the course has no camera."""
    last_observed: dict[int, tuple[NDArray[np.float32], NDArray[np.uint8] | None]]
    """Last rows and images of the environments that were reset in this same step, by their index."""

@final
class World:
    """A simulated world that you step, made from a scenario's file or from a shipped scenario by its name."""

    def __new__(
        cls,
        scenario: str | PathLike[str],
        *,
        seed: int | None = None,
        data: str | PathLike[str] | None = None,
        instruments: bool = True,
        cameras: bool = False,
        lidars: bool = False,
    ) -> World:
        """`seed` replaces the scenario's; `data` is the folder of elevation data that sites may name.

        Sensors that are switched off cost nothing: `instruments` are all sensors that give readings, such as inertial
        units and encoders; `lidars` are all that measure distances, radars included; `cameras` take images at their
        own rates.
        """

    def step(self, seconds: float | None = None, *, heartbeats: int | None = None) -> float:
        """Steps by a whole number of heartbeats, by default one; returns the simulated time, s.

        Ctrl-C ends a long step between two heartbeats: `time` gives the time reached, and stepping can continue.
        """

    def drive(
        self, forward_m_s: float, turn_rad_s: float = 0.0, *, left_m_s: float = 0.0, rover: str | None = None
    ) -> None:
        """Commands a rover's velocity. The command holds for half a second of simulated time."""

    def drive_car(self, speed_m_s: float, steering_angle_rad: float, *, rover: str | None = None) -> None:
        """Commands a rover to drive like a car. The command holds for half a second of simulated time."""

    def set_joint(self, joint: str, target: float, *, rover: str | None = None) -> None:
        """Sets the target of one joint: rad/s for drives and rate servos, rad for steering and position servos."""

    def set_lamp(self, lamp: str, level: float, *, rover: str | None = None) -> None:
        """Sets the brightness of a lamp as a fraction of its full flux, 0 to 1."""

    def reset(self, seed: int | None = None) -> None:
        """Goes back to the start. With another seed the ground is made again, which takes as long as loading."""

    def save(self) -> bytes:
        """The state, with the recent history that sensors need, as the bytes of a file for `selene run --resume`."""

    def restore(self, state: bytes) -> None:
        """Continues from a state that was saved with this scenario and seed."""

    def clone(self) -> World:
        """An independent world in the same state. Earlier sensor data are not copied."""

    def state_hash(self) -> int:
        """A hash over every bit of the state: the same that `selene hash` prints."""

    @property
    def time(self) -> float:
        """Simulated time, s."""

    @property
    def heartbeat_s(self) -> float:
        """Duration of one heartbeat, s."""

    @property
    def seed(self) -> int:
        """The seed of every random stream."""

    @property
    def rovers(self) -> list[str]:
        """Names of the rovers. If there is only one, methods do not need their argument `rover`."""

    def sensors(self, rover: str | None = None) -> list[str]:
        """Names of a rover's sensors."""

    def joints(self, rover: str | None = None) -> list[str]:
        """Names of a rover's joints and servos that can be commanded."""

    def read(self, sensor: str, *, rover: str | None = None) -> dict[str, Any] | None:
        """The latest datum of a sensor; None before its first; the same dictionary until there is a newer one.

        All have `frame`, `time_s`, `stamp_ns` and `index`, and `truth` if the sensor's file asks for it. Then, by kind:
        camera `image` (rows, columns[, 3]) with the number type of its `encoding`, `exposure_s`, `gain`, `k`, `d`,
        `r`, `p`, and `rectified`, `depth`, `segmentation`, `instances`, `normals`, `albedo`, `sun_visibility`, `flow`
        if asked for; lidar `points` (records); radar `returns` (rows of range, azimuth, elevation, speed,
        signal-to-noise ratio); inertial unit `angular_velocity_rad_s`, `linear_acceleration_m_s2`,
        `orientation_xyzw`; position receiver
        `latitude_longitude_altitude` (degrees, degrees, m; None without service), `velocity_m_s`; encoders and torques
        `names`, `position_rad`, `velocity_rad_s`, `effort_nm`; odometry `position_m`, `orientation_xyzw`, `twist`;
        battery `voltage_v`, `current_a`, `charge_ah`, `health`; magnetometer `field_t`; inclinometer `roll_rad`,
        `pitch_rad`; Sun sensor `sun_direction`; star tracker `icrf_from_sensor_xyzw`, `map_from_sensor_xyzw`;
        thermometer `celsius`; contact sensor `in_contact`, `load_n`; force-torque sensor `force_n`, `torque_nm`. A
        sensor that found nothing to measure has `nothing`.
        """

    def rover(self, name: str | None = None) -> RoverState:
        """True state of a rover."""

    def render(self, camera: str | None = None, *, rover: str | None = None) -> NDArray[np.uint8]:
        """Image that a camera would take now, (rows, columns, 3); without a name, the rover's first camera.

        The world does not change. Colours of a Bayer mosaic are interpolated.
        """

@final
class Environments:
    """Many environments of one course, stepped at once; wrapped by `selene.vector` and `selene.parallel`."""

    def __new__(
        cls,
        course: str | PathLike[str],
        count: int = 1,
        *,
        seed: int = 0,
        autoreset: Literal["next_step", "same_step", "disabled"] = "next_step",
        threads: int | None = None,
        data: str | PathLike[str] | None = None,
    ) -> Environments:
        """Environment `i` has the seed `seed + i`. Without `threads`, the process's common threads are used.

        There may be 4096 environments, because each keeps a world in memory, and 1024 threads.
        """

    @property
    def count(self) -> int:
        """Number of environments; 0 once closed."""

    @property
    def learners(self) -> list[str]:
        """Names of the learning rovers in each environment, in the order of rows of actions and observations."""

    @property
    def observation_names(self) -> list[str]:
        """Names of one rover's observations, in order, with units."""

    @property
    def action_width(self) -> int:
        """Number of components of one rover's action."""

    @property
    def action_names(self) -> list[str]:
        """Names of an action's components, in order; each is a fraction of the rover's maximum, -1 to 1."""

    @property
    def steps_max(self) -> int:
        """Maximum number of steps of an episode."""

    @property
    def control_s(self) -> float:
        """Time between two actions, s."""

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """Height, width and channels of observed images; None if the course has no camera."""

    def images(self) -> NDArray[np.uint8] | None:
        """The images that are observed now, (rovers, height, width, channels); None if the course has no camera."""

    def reset(
        self, seeds: Sequence[int | None] | None = None, chosen: Sequence[bool] | None = None
    ) -> NDArray[np.float32]:
        """Resets all environments or the `chosen` ones: with a seed to its first episode, else to the next one."""

    def step(self, actions: NDArray[np.float32]) -> StepResult:
        """Applies one row of actions per rover and steps by `control_s`."""

    def state_hash(self) -> int:
        """A hash over the states of all environments."""

    def state_hash_of(self, index: int = 0) -> int:
        """Hash of one environment's state; a `World` in this state has the same."""

    def render(self, index: int = 0, learner: int = 0) -> NDArray[np.uint8]:
        """Image that a learning rover's first camera would take now, (rows, columns, 3)."""

    def close(self) -> None:
        """Frees the worlds; every later call is refused."""
