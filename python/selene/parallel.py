"""Several rovers in one world with PettingZoo's parallel interface."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from selene._native import Environments
from selene.environments import Observation, action_space, observation, observation_space


class RoversEnv(ParallelEnv[str, Observation, NDArray[np.float32]]):
    """The learning rovers of a course, named as in its scenario. A rover whose episode has ended stands still."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "name": "selene_rovers_v0", "is_parallelizable": True}

    def __init__(
        self, course: str = "two_waypoints", *, data: str | None = None, render_mode: str | None = None
    ) -> None:
        """`course` is the file of a course or the name of a shipped one; `data` the folder of elevation data."""
        self._worlds = Environments(course, 1, autoreset="disabled", data=data)
        self.possible_agents = self._worlds.learners
        self.agents: list[str] = []
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode: '{render_mode}' is not allowed: must be rgb_array or None")
        self.render_mode = render_mode
        self.observation_spaces = {agent: observation_space(self._worlds) for agent in self.possible_agents}
        self.action_spaces = {agent: action_space(self._worlds) for agent in self.possible_agents}
        self._is_seeded = False

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Observation]:
        """Space of a rover's observation."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[NDArray[np.float32]]:
        """Space of a rover's action."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begins a seed's first episode; without a seed the next episode, at first one of a random seed."""
        if seed is None and not self._is_seeded:
            seed = int(np.random.default_rng().integers(2**63))
        self._is_seeded = True
        rows, images = self._worlds.reset([seed]), self._worlds.images()
        self.agents = list(self.possible_agents)
        observed = {agent: _seen_by(i, rows, images) for i, agent in enumerate(self.agents)}
        return observed, {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, NDArray[np.float32]]
    ) -> tuple[
        dict[str, Observation],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Steps by the course's `control_s`. `actions` must have exactly the agents in `agents`."""
        step = self._worlds.step(self._rows(actions))
        ends = step.get("ends", [None] * len(self.possible_agents))
        live = [(i, agent) for i, agent in enumerate(self.possible_agents) if agent in self.agents]
        reported = (
            {agent: _seen_by(i, step["observations"], step.get("images")) for i, agent in live},
            {agent: float(step["rewards"][i]) for i, agent in live},
            {agent: bool(step["terminated"][i]) for i, agent in live},
            {agent: bool(step["truncated"][i]) for i, agent in live},
            {agent: {} if ends[i] is None else {"end": ends[i]} for i, agent in live},
        )
        self.agents = [agent for i, agent in live if not (step["terminated"][i] or step["truncated"][i])]
        return reported

    def _rows(self, actions: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        if set(actions) != set(self.agents):
            raise ValueError(f"actions: given for {sorted(actions)}; must be one for each of {sorted(self.agents)}")
        # Rovers whose episode has ended stand still: their action is zero.
        rows = np.zeros((len(self.possible_agents), self._worlds.action_width), np.float32)
        for i, agent in enumerate(self.possible_agents):
            if agent not in actions:
                continue
            action = np.asarray(actions[agent], np.float32)
            if action.shape != rows[i].shape:
                raise ValueError(f"action of {agent}: shape {action.shape} is not allowed: must be {rows[i].shape}")
            rows[i] = action
        return rows

    def render(self) -> NDArray[np.uint8] | None:
        """Image that the first rover's camera would take now."""
        return self._worlds.render() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Frees the world; every later step is refused."""
        self._worlds.close()


def _seen_by(learner: int, rows: NDArray[np.float32], images: NDArray[np.uint8] | None) -> Observation:
    return observation(rows[learner], None if images is None else images[learner])
