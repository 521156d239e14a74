"""Measures environment steps per second: `python -m selene.bench`; `--beside mujoco` measures MuJoCo as well and prints
the ratio of each course's rate to it.

All environments drive, each by its own action, which changes every step. Timing begins after a second of simulated
time, when the ground around the start has been made. Python's share is the part of the time that is not spent in Rust.

MuJoCo runs the native rollout of its package on the same number of threads: a rover of the same size, mass and wheels
on a rigid height field, elliptic friction cones, steps of 10 ms, and no observations or rewards; all begin anew every
20 s. `_SOIL` says how the grounds differ.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
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
    """Environments that measure the time spent in Rust."""

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
    """Environment steps per second on a course, and Python's share of the time, 0 to 1."""
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


_SOIL = (
    "difference in soil: MuJoCo's ground is rigid and holds wheels by friction alone; Selene's wheels sink and slip by "
    "laws of soil, and SCM keeps their tracks. Selene's steps include observations, rewards and episodes, MuJoCo's do not."
)
_WHEELS = [(x, y) for x in (-0.2, 0.2) for y in (-0.22, 0.22)]
_MUJOCO_STEPS = 5
# 20 s: at half a metre a second rovers have driven 10 m then, and the edge of the field is 12.8 m away.
_MUJOCO_RESTART_STEPS = 400
_MUJOCO_ROVER = """
<mujoco>
  <option timestep="0.01" gravity="0 0 -1.62" cone="elliptic" integrator="implicitfast"/>
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
    """Steps of 0.05 s per second of MuJoCo's rovers, over all rovers."""
    import mujoco
    from mujoco import rollout

    names = [f"wheel_{i}" for i in range(4)]
    wheels = [_MUJOCO_WHEEL.format(x=x, y=y, name=name) for (x, y), name in zip(_WHEELS, names, strict=True)]
    motors = [f'<velocity joint="{name}" kv="2"/>' for name in names]
    model = mujoco.MjModel.from_xml_string(_MUJOCO_ROVER.format(wheels="".join(wheels), motors="".join(motors)))
    chance = np.random.default_rng(1)
    # As rough as the plain: heights of neighbouring posts differ by some millimetres.
    model.hfield_data[:] = chance.uniform(0.0, 0.1, model.hfield_data.shape)
    threads = threads or os.cpu_count() or 1
    datas = [mujoco.MjData(model) for _ in range(threads)]
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    begun = np.empty(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, datas[0], begun, full)
    steps = 0
    with rollout.Rollout(nthread=threads) as pool:
        began = time.perf_counter()
        while (elapsed := time.perf_counter() - began) < seconds or steps <= _WARM_UP_STEPS:
            if steps == _WARM_UP_STEPS:
                began = time.perf_counter()
            if steps % _MUJOCO_RESTART_STEPS == 0:
                states = np.tile(begun, (count, 1))
            rates = np.repeat(chance.uniform(2, 8, (count, 1, 4)), _MUJOCO_STEPS, axis=1)
            states = pool.rollout(model, datas, states, rates)[0][:, -1]
            steps += 1
    return (steps - _WARM_UP_STEPS) * count / elapsed


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a line for each course, and with `--beside` its ratio to MuJoCo's rate."""
    parser = argparse.ArgumentParser(prog="python -m selene.bench", description="Steps of environments a second.")
    parser.add_argument("--count", type=int, default=64, help="environments (64)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each course is timed (10)")
    parser.add_argument("--threads", type=int, help="threads (all)")
    parser.add_argument("--beside", choices=["mujoco"], help="what to measure beside, where it is installed")
    args = parser.parse_args(arguments)
    rates = {}
    for what, course in _COURSES.items():
        steps_per_s, share = measure(course, args.count, args.seconds, args.threads)
        rates[what] = steps_per_s
        print(f"env_steps_per_s: {steps_per_s:.0f} ({args.count} environments, {what}; Python's share {share:.1%})")
    if args.beside:
        beside = measure_mujoco(args.count, args.seconds, args.threads)
        print(f"mujoco_steps_per_s: {beside:.0f} ({args.count} rovers on rigid ground, no environments about them)")
        for what, steps_per_s in rates.items():
            print(f"ratio_to_mujoco: {steps_per_s / beside:.3g} ({what})")
        print(_SOIL)


if __name__ == "__main__":
    main()
