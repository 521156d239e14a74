"""How many steps of environments a second: `python -m selene.bench`, with `--beside mujoco` next to MuJoCo's.

All environments drive on, each by an action of its own that changes every step. What is timed begins after a second of
simulated time, so that ground that is made at first is there. The share of Python is the part of the time that is not
spent in Rust.

MuJoCo's is the native rollout of its own package on as many threads: a rover of the same size, mass and wheels on a
rigid height field, elliptic friction cones, steps of 5 ms, and no observations, rewards or episodes. It has rigid
contacts where Selene has soil that yields, slips and keeps tracks.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np

from selene._native import Environments
from selene.vector import RoverVectorEnv

_WARM_UP_STEPS = 20
_COURSES = {
    "data-driven wheels": "waypoint",
    "SCM at 5 cm": "slope_climb",
    "an 80 x 45 camera": "waypoint_seen",
}


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


_WHEELS = [(x, y) for x in (-0.2, 0.2) for y in (-0.22, 0.22)]
_MUJOCO_STEPS = 10
_MUJOCO_ROVER = """
<mujoco>
  <option timestep="0.005" gravity="0 0 -1.62" cone="elliptic" integrator="implicitfast"/>
  <asset><hfield name="plain" nrow="512" ncol="512" size="12.8 12.8 0.05 0.1"/></asset>
  <worldbody>
    <geom type="hfield" hfield="plain" friction="0.6 0.005 0.0001"/>
    <body pos="0 0 0.3"><freejoint/><geom type="box" size="0.25 0.15 0.08" mass="17.6" contype="0" conaffinity="0"/>
      {wheels}
    </body>
  </worldbody>
  <actuator>{motors}</actuator>
</mujoco>
"""
_MUJOCO_WHEEL = """<body pos="{x} {y} -0.1"><joint name="{name}" axis="0 1 0" damping="0.01"/>
<geom type="cylinder" size="0.1 0.05" euler="90 0 0" mass="1" friction="0.6 0.005 0.0001"/></body>"""


def measure_mujoco(count: int, seconds: float, threads: int | None = None) -> float:
    """Steps of 0.05 s a second of MuJoCo's rovers."""
    import mujoco
    from mujoco import rollout

    names = [f"wheel_{i}" for i in range(4)]
    wheels = [_MUJOCO_WHEEL.format(x=x, y=y, name=name) for (x, y), name in zip(_WHEELS, names, strict=True)]
    motors = [f'<velocity joint="{name}" kv="2"/>' for name in names]
    model = mujoco.MjModel.from_xml_string(_MUJOCO_ROVER.format(wheels="".join(wheels), motors="".join(motors)))
    chance = np.random.default_rng(1)
    # As rough as the plain: some millimetres from post to post.
    model.hfield_data[:] = chance.uniform(0.0, 0.1, model.hfield_data.shape)
    threads = threads or os.cpu_count() or 1
    datas = [mujoco.MjData(model) for _ in range(threads)]
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    begun = np.empty(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, datas[0], begun, full)
    states = np.tile(begun, (count, 1))
    steps = 0
    with rollout.Rollout(nthread=threads) as pool:
        began = time.perf_counter()
        while (elapsed := time.perf_counter() - began) < seconds or steps <= _WARM_UP_STEPS:
            if steps == _WARM_UP_STEPS:
                began = time.perf_counter()
            rates = np.repeat(chance.uniform(2, 8, (count, 1, 4)), _MUJOCO_STEPS, axis=1)
            states = pool.rollout(model, datas, states, rates)[0][:, -1]
            steps += 1
    return (steps - _WARM_UP_STEPS) * count / elapsed


def main() -> None:
    """Prints a line for each course."""
    parser = argparse.ArgumentParser(prog="python -m selene.bench", description="Steps of environments a second.")
    parser.add_argument("--count", type=int, default=64, help="environments (64)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each course is timed (10)")
    parser.add_argument("--threads", type=int, help="threads (all)")
    parser.add_argument("--beside", choices=["mujoco"], help="what to measure beside, where it is installed")
    args = parser.parse_args()
    for what, course in _COURSES.items():
        steps_per_s, share = measure(course, args.count, args.seconds, args.threads)
        print(f"env_steps_per_s: {steps_per_s:.0f} ({args.count} environments, {what}; Python's share {share:.1%})")
    if args.beside:
        steps_per_s = measure_mujoco(args.count, args.seconds, args.threads)
        print(f"mujoco_steps_per_s: {steps_per_s:.0f} ({args.count} rovers on rigid ground, no environments about them)")


if __name__ == "__main__":
    main()
