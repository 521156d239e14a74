"""How many steps of environments a second: `python -m selene.bench`.

All environments drive on, each by an action of its own that changes every step. What is timed begins after a second of
simulated time, so that ground that is made at first is there. The share of Python is the part of the time that is not
spent in Rust.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from selene._native import Environments
from selene.vector import RoverVectorEnv

_WARM_UP_STEPS = 20
_COURSES = {"data-driven wheels": "waypoint", "SCM at 5 cm": "slope_climb"}


class _Timed:
    """Environments that say how long they took in Rust."""

    def __init__(self, worlds: Environments) -> None:
        self._worlds = worlds
        self.seconds = 0.0

    def step(self, actions: np.ndarray) -> Any:
        began = time.perf_counter()
        step = self._worlds.step(actions)
        self.seconds += time.perf_counter() - began
        return step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._worlds, name)


def measure(course: str, count: int, seconds: float, threads: int | None = None) -> tuple[float, float]:
    """Steps of environments a second on a course, and Python's share of that time."""
    envs = RoverVectorEnv(count, course, threads=threads)
    envs.reset(seed=1)
    chance = np.random.default_rng(1)
    actions = chance.uniform(-0.5, 0.5, (1000, count, 2)).astype(np.float32)
    actions[..., 0] += 0.5
    for step in range(_WARM_UP_STEPS):
        envs.step(actions[step])
    timed = _Timed(envs._worlds)
    envs._worlds = timed  # type: ignore[assignment]
    steps, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        envs.step(actions[steps % len(actions)])
        steps += 1
    envs.close()
    return steps * count / elapsed, 1.0 - timed.seconds / elapsed


def main() -> None:
    """Prints a line for each course."""
    parser = argparse.ArgumentParser(prog="python -m selene.bench", description="Steps of environments a second.")
    parser.add_argument("--count", type=int, default=64, help="environments (64)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each course is timed (10)")
    parser.add_argument("--threads", type=int, help="threads (all)")
    args = parser.parse_args()
    for what, course in _COURSES.items():
        steps_per_s, share = measure(course, args.count, args.seconds, args.threads)
        print(f"env_steps_per_s: {steps_per_s:.0f} ({args.count} environments, {what}; Python's share {share:.1%})")


if __name__ == "__main__":
    main()
