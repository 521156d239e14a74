"""A single environment with Gymnasium's interface, and the names under which environments are registered."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from selene._native import Environments

REGISTERED = {
    "Selene/Waypoint-v0": "waypoint",
    "Selene/ObstacleField-v0": "obstacle_field",
    "Selene/SlopeClimb-v0": "slope_climb",
    "Selene/ConvoyFollower-v0": "convoy_follower",
    "Selene/Dig-v0": "dig",
}


def register() -> None:
    """Registers the environments with Gymnasium; names that are already registered stay unchanged."""
    for name, course in REGISTERED.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="selene.environments:RoverEnv",
                vector_entry_point="selene.vector:RoverVectorEnv",
                kwargs={"course": course},
            )


Observation = NDArray[np.float32] | dict[str, NDArray[Any]]
"""A row of numbers; on a course with a camera a dictionary with these as `state` and with an `image`."""


def observation_space(worlds: Environments) -> gymnasium.spaces.Box | gymnasium.spaces.Dict:
    """Space of one rover's observation: numbers in SI units, without bounds, and an image if there is a camera."""
    state = gymnasium.spaces.Box(-np.inf, np.inf, (len(worlds.observation_names),), np.float32)
    if worlds.image_shape is None:
        return state
    image = gymnasium.spaces.Box(0, 255, tuple(worlds.image_shape), np.uint8)
    return gymnasium.spaces.Dict({"image": image, "state": state})


def observation(rows: NDArray[np.float32], images: NDArray[np.uint8] | None) -> Observation:
    """An observation in the form of its space, for one rover or for rows of several."""
    return rows if images is None else {"image": images, "state": rows}


def action_space(worlds: Environments) -> gymnasium.spaces.Box:
    """Space of one rover's action: forward speed and turn rate as fractions of its maximum; arm and drum if it digs."""
    return gymnasium.spaces.Box(-1.0, 1.0, (worlds.action_width,), np.float32)


class RoverEnv(gymnasium.Env[Observation, NDArray[np.float32]]):
    """One rover on a course. The environment's seed and the episode's number determine each episode's world."""

    metadata = {"render_modes": ["rgb_array"]}

    def __init__(self, course: str = "waypoint", *, data: str | None = None, render_mode: str | None = None) -> None:
        """`course` is the file of a course or the name of a shipped one; `data` the folder of elevation data."""
        self._worlds = Environments(course, 1, autoreset="disabled", data=data)
        if len(self._worlds.learners) != 1:
            raise ValueError(f"course {course}: {len(self._worlds.learners)} rovers learn; see selene.parallel")
        self.observation_space = observation_space(self._worlds)
        self.action_space = action_space(self._worlds)
        self.metadata = {**self.metadata, "render_fps": round(1.0 / self._worlds.control_s)}
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode: '{render_mode}' is not allowed: must be rgb_array or None")
        self.render_mode = render_mode
        self._is_seeded = False

    @property
    def observation_names(self) -> list[str]:
        """Names of the observations, in order, with units."""
        return self._worlds.observation_names

    @property
    def action_names(self) -> list[str]:
        """Names of an action's components, in order."""
        return self._worlds.action_names

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins a seed's first episode; without a seed the next episode, at first one of a random seed."""
        super().reset(seed=seed)
        if seed is None and not self._is_seeded:
            seed = int(self.np_random.integers(2**63))
        self._is_seeded = True
        rows, images = self._worlds.reset([seed]), self._worlds.images()
        return observation(rows[0], None if images is None else images[0]), {}

    def step(self, action: NDArray[np.float32]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Steps by the course's `control_s`. `info["end"]` says how an episode ended."""
        row = np.asarray(action, np.float32)
        if row.shape != self.action_space.shape:
            raise ValueError(f"action: shape {row.shape} is not allowed: must be {self.action_space.shape}")
        step = self._worlds.step(row[np.newaxis])
        info = {"end": step["ends"][0]} if "ends" in step else {}
        return (
            observation(step["observations"][0], step["images"][0] if "images" in step else None),
            float(step["rewards"][0]),
            bool(step["terminated"][0]),
            bool(step["truncated"][0]),
            info,
        )

    def state_hash(self) -> int:
        """The hash of the world's state."""
        return self._worlds.state_hash_of(0)

    def render(self) -> NDArray[np.uint8] | None:
        """Image that the rover's camera would take now."""
        return self._worlds.render() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Frees the world; every later step is refused."""
        self._worlds.close()
