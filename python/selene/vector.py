"""Many environments in one process with Gymnasium's vector interface; Rust steps them all in one call on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from selene._native import Environments
from selene.environments import Observation, action_space, observation, observation_space

if TYPE_CHECKING:
    from selene._native import StepResult

_MODES = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "disabled",
}


class RoverVectorEnv(VectorEnv[Observation, NDArray[np.float32], NDArray[Any]]):
    """Rovers on one course, each in a world of its own.

    After `reset(seed=s)` environment `i` runs exactly as `RoverEnv` with the seed `s + i`, for any number of
    environments and threads.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}

    def __init__(
        self,
        num_envs: int = 1,
        course: str = "waypoint",
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
        data: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        """`course` is the file of a course or the name of a shipped one; by default all threads are used."""
        mode = AutoresetMode(autoreset_mode)
        self._worlds = Environments(course, num_envs, autoreset=_MODES[mode], threads=threads, data=data)
        if len(self._worlds.learners) != 1:
            raise ValueError(f"course {course}: {len(self._worlds.learners)} rovers learn; see selene.parallel")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode: '{render_mode}' is not allowed: must be rgb_array or None")
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "autoreset_mode": mode, "render_fps": round(1.0 / self._worlds.control_s)}
        self.single_observation_space = observation_space(self._worlds)
        self.single_action_space = action_space(self._worlds)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._is_seeded = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Resets all environments, or those in `options["reset_mask"]`, as Gymnasium's own vector environments do."""
        chosen = self._mask(options)
        rows = self._worlds.reset(self._seeds(seed), chosen)
        return observation(rows, self._worlds.images()), {}

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None and not self._is_seeded:
            seed = int(self.np_random.integers(2**62))
        self._is_seeded = True
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + i for i in range(self.num_envs)]
        return list(seed)

    def _mask(self, options: dict[str, Any] | None) -> list[bool] | None:
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return None
        is_mask = isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (self.num_envs,)
        if not is_mask or not mask.any():
            raise ValueError(f"reset_mask: must be {self.num_envs} booleans, one of them true, as an array of NumPy")
        return mask.tolist()

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Steps all environments by the course's `control_s`."""
        step = self._worlds.step(np.asarray(actions, np.float32))
        infos = self._infos(step) if "ends" in step or "last_observed" in step else {}
        observed = observation(step["observations"], step.get("images"))
        return observed, step["rewards"], step["terminated"], step["truncated"], infos

    def _infos(self, step: StepResult) -> dict[str, Any]:
        """How episodes ended, and in mode SAME_STEP their last observations, in Gymnasium's layout."""
        infos: dict[str, Any] = {}
        last = step.get("last_observed", {})
        for i, end in enumerate(step.get("ends", [None] * self.num_envs)):
            info = {} if end is None else {"end": end}
            if i in last:
                rows, images = last[i]
                seen = observation(rows[0], None if images is None else images[0])
                info = {"final_obs": seen, "final_info": info}
            infos = self._add_info(infos, info, i)
        return infos

    def state_hash(self) -> int:
        """A hash over the states of all worlds."""
        return self._worlds.state_hash()

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Images that the rovers' cameras would take now."""
        if self.render_mode != "rgb_array":
            return None
        return tuple(self._worlds.render(i) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Frees the worlds; every later step is refused."""
        self._worlds.close()
