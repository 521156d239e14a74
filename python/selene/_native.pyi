"""What Rust does: worlds and environments. Units are SI, angles in radians; the map frame is x east, y north, z up."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, final

import numpy as np
from numpy.typing import NDArray

__version__: str

class Error(Exception):
    """Selene cannot do what is asked."""

    file: str | None
    """The input file where the reason is; None where it is in none."""
    line: int | None
    """Its line there, from 1."""

class RoverState(TypedDict):
    """A rover as it is, without any sensor. Arrays of wheels are in the order of the rover's file."""

    position_m: NDArray[np.float64]
    """(3,) of `base_link` in the map frame."""
    orientation_xyzw: NDArray[np.float64]
    """(4,) quaternion from `base_link` to the map frame."""
    velocity_m_s: NDArray[np.float64]
    """(3,) in `base_link`."""
    angular_velocity_rad_s: NDArray[np.float64]
    """(3,) in `base_link`."""
    acceleration_m_s2: NDArray[np.float64]
    """(3,) in the map frame, mean over the last heartbeat."""
    joint_position: NDArray[np.float64]
    """Of each moving joint, rad or m."""
    joint_velocity: NDArray[np.float64]
    """Of each moving joint, rad/s or m/s."""
    joint_effort: NDArray[np.float64]
    """Of each moving joint, N m or N."""
    slip: NDArray[np.float64]
    """Slip ratio of each wheel: 1 - v/(wR) driving, wR/v - 1 braking."""
    slip_angle_rad: NDArray[np.float64]
    """From each wheel's heading to its velocity."""
    sinkage_m: NDArray[np.float64]
    """Of each wheel's lowest point below undisturbed ground."""
    wheel_rate_rad_s: NDArray[np.float64]
    """Of each wheel about its axle."""
    wheel_torque_nm: NDArray[np.float64]
    """What each wheel's motor gives."""
    wheel_force_n: NDArray[np.float64]
    """(wheels, 3), soil on wheel, in `base_link`."""
    drum_soil_kg: NDArray[np.float64]
    """Soil in each drum, in the order of the rover's file; 0 where it is in no granular window."""

class StepResult(TypedDict, total=False):
    """What a step of environments led to; a row for each rover that learns, environment by environment."""

    observations: NDArray[np.float32]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    ends: list[str | None]
    """arrived, tipped, hit, stuck, lost, full or left; not there where no episode has ended by its task."""
    images: NDArray[np.uint8]
    """(rovers, height, width, channels); not there where the course has no camera."""
    last_observed: dict[int, tuple[NDArray[np.float32], NDArray[np.uint8] | None]]
    """Rows and images of environments that began anew in this same step, by their number."""

@final
class World:
    """A world that is stepped, as a scenario's file or the name of one that is shipped says."""

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

        What is not looked through costs nothing: `instruments` are all sensors whose datum is a reading, `lidars` all
        that measure distances, `cameras` take their images at their own rates.
        """

    def step(self, seconds: float | None = None, *, heartbeats: int | None = None) -> float:
        """Goes on by a whole number of heartbeats (one where nothing is given); simulated time then, s.

        Ctrl-C ends a long step between two heartbeats: `time` tells how far the world came, and it can go on.
        """

    def drive(
        self, forward_m_s: float, turn_rad_s: float = 0.0, *, left_m_s: float = 0.0, rover: str | None = None
    ) -> None:
        """Tells a rover to drive. It holds for half a second of simulated time."""

    def drive_car(self, speed_m_s: float, steering_angle_rad: float, *, rover: str | None = None) -> None:
        """Tells a rover to drive like a car. It holds for half a second of simulated time."""

    def set_joint(self, joint: str, target: float, *, rover: str | None = None) -> None:
        """Gives one joint a target: rad/s for a drive or a servo by rate, rad for a steer or a servo by position."""

    def set_lamp(self, lamp: str, level: float, *, rover: str | None = None) -> None:
        """Makes a lamp as bright as `level` of its full flux, 0 to 1."""

    def reset(self, seed: int | None = None) -> None:
        """Goes back to the start. Another seed makes the ground anew, which takes as long as loading."""

    def save(self) -> bytes:
        """The state with what its sensors need: the bytes of a file that `selene run --resume` takes."""

    def restore(self, state: bytes) -> None:
        """Goes on from a state that was saved of this scenario and seed."""

    def clone(self) -> World:
        """Another world in the same state, which goes its own way. What sensors told before is not copied."""

    def state_hash(self) -> int:
        """A hash over every bit of the state: that which `selene hash` prints."""

    @property
    def time(self) -> float:
        """Simulated time, s."""

    @property
    def heartbeat_s(self) -> float:
        """Time of one heartbeat, s."""

    @property
    def seed(self) -> int:
        """The seed of every random stream."""

    @property
    def rovers(self) -> list[str]:
        """Names of the rovers. `rover` in methods may be left out where there is one."""

    def sensors(self, rover: str | None = None) -> list[str]:
        """Names of a rover's sensors."""

    def joints(self, rover: str | None = None) -> list[str]:
        """Names of a rover's joints and servos that take targets."""

    def read(self, sensor: str, *, rover: str | None = None) -> dict[str, Any] | None:
        """The latest datum of a sensor; None before its first. The same dictionary until there is a newer one.

        All have `frame`, `time_s`, `stamp_ns` and `index`; `truth` where the sensor's file asks for it. Then, by kind:
        camera `image` (rows, columns[, 3]) in numbers of its `encoding`, `exposure_s`, `gain`, `k`, `d`, `r`, `p`,
        and `rectified`, `depth`, `segmentation`, `instances`, `normals`, `albedo`, `sun_visibility`, `flow` where asked
        for; lidar `points` (records); radar `returns` (rows of range, azimuth, elevation, speed, signal over noise);
        inertial unit `angular_velocity_rad_s`, `linear_acceleration_m_s2`, `orientation_xyzw`; position receiver
        `latitude_longitude_altitude` (degrees, degrees, m; None without service), `velocity_m_s`; encoders and torques
        `names`, `position_rad`, `velocity_rad_s`, `effort_nm`; odometry `position_m`, `orientation_xyzw`, `twist`;
        battery `voltage_v`, `current_a`, `charge_ah`, `health`; magnetometer `field_t`; inclinometer `roll_rad`,
        `pitch_rad`; Sun sensor `sun_direction`; star tracker `icrf_from_sensor_xyzw`, `map_from_sensor_xyzw`;
        thermometer `celsius`; contact sensor `in_contact`, `load_n`; force-torque sensor `force_n`, `torque_nm`; what
        saw nothing to measure has `nothing`.
        """

    def rover(self, name: str | None = None) -> RoverState:
        """A rover as it is."""

    def render(self, camera: str | None = None, *, rover: str | None = None) -> NDArray[np.uint8]:
        """(rows, columns, 3): what a camera would take now; without a name the rover's first. The world stays as it is.

        A Bayer mosaic is grey.
        """

@final
class Environments:
    """Many environments of one course, stepped at once. `selene.vector` and others give them their usual interfaces."""

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
        """Environment `i` has the seed `seed + i`. `threads` are the process's own where their number is not given."""

    @property
    def count(self) -> int:
        """How many environments there are; 0 once closed."""

    @property
    def learners(self) -> list[str]:
        """Names of the rovers that learn in each: rows of actions and observations."""

    @property
    def observation_names(self) -> list[str]:
        """What one rover observes, in order, with units."""

    @property
    def action_width(self) -> int:
        """Numbers of one rover's action."""

    @property
    def action_names(self) -> list[str]:
        """What they are, in order: parts of the rover's greatest, -1 to 1."""

    @property
    def steps_max(self) -> int:
        """Steps of an episode at most."""

    @property
    def control_s(self) -> float:
        """Time between two actions, s."""

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """Height, width and channels of the images that are observed; None where the course has no camera."""

    def images(self) -> NDArray[np.uint8] | None:
        """Images that are observed now, (rovers, height, width, channels)."""

    def reset(
        self, seeds: Sequence[int | None] | None = None, chosen: Sequence[bool] | None = None
    ) -> NDArray[np.float32]:
        """Begins anew, or only where `chosen`: with a seed its first episode, without one the next."""

    def step(self, actions: NDArray[np.float32]) -> StepResult:
        """Takes a row of actions for each rover and goes on by `control_s`."""

    def state_hash(self) -> int:
        """A hash over the states of all environments."""

    def state_hash_of(self, index: int = 0) -> int:
        """The hash of one environment's state."""

    def render(self, index: int = 0, learner: int = 0) -> NDArray[np.uint8]:
        """What the first camera of a rover that learns would take now."""

    def close(self) -> None:
        """Gives the worlds back. Whatever is asked afterwards is refused."""
