"""Trains a follower of `selene study convoy` by proximal policy optimisation on the CPU.

    selene study convoy --courses-only --courses 32 --first 1000 --terrain rigid --out out/training
    python -m venv .venv && .venv/bin/pip install . -r tools/studies/convoy_follower/requirements.txt
    .venv/bin/python tools/studies/convoy_follower/train.py out/training --minutes 60 --weights out/follower.safetensors
    selene study convoy --weights out/follower.safetensors

The study evaluates on courses 0 to 127; train on others. All three followers of a world learn, on rigid ground, as in
the paper (A. Young et al., 2022, section 4.2), but on the study's own kind of course with its obstacles.

Observations are the latest image (80 x 45 colour pixels) and four numbers: the relative position of the truck ahead
(east, north), the own heading and the closing speed. An action is steering and acceleration, each -1 to 1, as for
`Throttle` in tools/studies/src/convoy/follower.rs. The network's part of it is added to the plain controller's (residual
policy learning, T. Silver et al., 2018), so training begins with a follower that drives.

The reward of a step depends on the distance from the gap, and is given only while the truck ahead is within 45 degrees
of straight ahead (figure 7). It falls with the distance from the leader's path and the difference from the leader's
speed there, which are what the study measures; the policy does not see them. An episode ends when the truck ahead is
hit or lost. `Policy` in tools/studies/src/convoy/policy.rs evaluates the same network.
"""

import argparse
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn
from torch.distributions import Normal

import selene

COLUMNS, ROWS = 80, 45
SCALES = (20.0, 20.0, math.pi, 5.0)
CONTROL_S = 0.05
# The same values as in follower.rs.
GAP_M, ACCELERATION_MAX_M_S2, SPEED_MAX_M_S, STEER_MAX_RAD = 12.0, 3.0, 8.0, 0.5236
HIT_M, LOST_M, BEARING_MAX_RAD = 6.0, 40.0, math.pi / 4
WHEELBASE_M, GAP_GAIN, CLOSING_GAIN = 3.378, 0.25, 1.0
# The value of SHARE in policy.rs.
SHARE = 0.5
# Weights of the distance from the leader's path, 1/m, and of the difference from its speed, s/m; the greatest of both.
PATH_COST, SPEED_COST, COST_MAX = 1.0, 0.5, 3.0
EPISODE_STEPS = 700
FOLLOWERS = [f"follower_{i}" for i in (1, 2, 3)]
AHEAD = {"follower_1": "leader", "follower_2": "follower_1", "follower_3": "follower_2"}
# Parameters of the optimisation.
STEPS, EPOCHS, BATCH = 128, 4, 256
LEARNING_RATE, DISCOUNT, TRACE, CLIP, ENTROPY, VALUE = 3e-4, 0.99, 0.95, 0.2, 0.003, 0.5


class Convoy:
    """A world of four trucks on one course, for many episodes."""

    def __init__(self, file):
        self.world = selene.World(file, cameras=True, instruments=False)
        self.reset()

    def reset(self):
        self.world.reset()
        self.world.step(CONTROL_S)
        self.speeds = dict.fromkeys(FOLLOWERS, 0.0)
        self.apart = {name: None for name in FOLLOWERS}
        self.bearing, self.closing = {}, {}
        self.led_m, self.led_m_s = [], []
        self.steps = 0
        self.follow_leader()
        return self.observe()

    def follow_leader(self):
        """Keeps the leader's positions and speeds."""
        at_m = self.world.rover("leader")["position_m"][:2]
        before_m = self.led_m[-1] if self.led_m else at_m
        self.led_m.append(at_m)
        self.led_m_s.append(math.dist(at_m, before_m) / CONTROL_S)

    def observe(self):
        return [self.observe_one(name) for name in FOLLOWERS]

    def observe_one(self, name):
        own, ahead = self.world.rover(name), self.world.rover(AHEAD[name])
        east, north = (ahead["position_m"] - own["position_m"])[:2]
        x, y, z, w = own["orientation_xyzw"]
        heading = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        apart = math.hypot(east, north)
        before = self.apart[name]
        closing = 0.0 if before is None else (before - apart) / CONTROL_S
        self.apart[name], self.closing[name] = apart, closing
        self.bearing[name] = math.remainder(math.atan2(north, east) - heading, math.tau)
        datum = self.world.read("convoy_camera", rover=name)
        image = np.zeros((ROWS, COLUMNS, 3), np.uint8) if datum is None else datum["image"]
        numbers = np.array([east, north, heading, closing]) / SCALES
        return image.transpose(2, 0, 1), numbers.astype(np.float32)

    def plain(self, name):
        """The plain controller's steering and acceleration, as `plain` in follower.rs."""
        apart = max(self.apart[name], 1e-3)
        steer = math.atan(2.0 * WHEELBASE_M * math.sin(self.bearing[name]) / apart) / STEER_MAX_RAD
        accelerate = (GAP_GAIN * (apart - GAP_M) - CLOSING_GAIN * self.closing[name]) / ACCELERATION_MAX_M_S2
        return np.clip([steer, accelerate], -1.0, 1.0)

    def step(self, actions):
        """Observations, rewards, and whether the episode has ended by itself or by its length. An action is the
        network's part, -1 to 1."""
        for name, residual in zip(FOLLOWERS, actions):
            steer, accelerate = np.clip(self.plain(name) + SHARE * residual, -1.0, 1.0)
            gained = ACCELERATION_MAX_M_S2 * accelerate * CONTROL_S
            self.speeds[name] = min(max(self.speeds[name] + gained, 0.0), SPEED_MAX_M_S)
            self.world.drive_car(self.speeds[name], STEER_MAX_RAD * steer, rover=name)
        self.world.step(CONTROL_S)
        self.steps += 1
        self.follow_leader()
        seen = self.observe()
        rewards = [self.reward(name) for name in FOLLOWERS]
        ended = any(not HIT_M < self.apart[name] < LOST_M for name in FOLLOWERS)
        rewards = [reward - (10.0 if not HIT_M < self.apart[name] < LOST_M else 0.0)
                   for name, reward in zip(FOLLOWERS, rewards)]
        return seen, rewards, ended, self.steps >= EPISODE_STEPS

    def reward(self, name):
        kept = 1.0 / (1.0 + abs(self.apart[name] - GAP_M) / 3.0) if abs(self.bearing[name]) < BEARING_MAX_RAD else 0.0
        return kept - min(self.deviation(name), COST_MAX)

    def deviation(self, name):
        """Costs of the distance from the leader's path and of the difference from its speed there. Where the follower
        has not reached the leader's start, there are none."""
        led_m, at_m = np.asarray(self.led_m), self.world.rover(name)["position_m"][:2]
        nearest = int(np.linalg.norm(led_m - at_m, axis=1).argmin())
        if not 0 < nearest < len(led_m) - 1:
            return 0.0
        # Positions are up to 0.25 m apart: the distance is that from the line through the neighbours.
        (x, y), (dx, dy) = at_m - led_m[nearest], led_m[nearest + 1] - led_m[nearest - 1]
        away_m = abs(dx * y - dy * x) / max(math.hypot(dx, dy), 1e-6)
        return PATH_COST * away_m + SPEED_COST * abs(self.speeds[name] - self.led_m_s[nearest])


class Policy(nn.Module):
    """The network of policy.rs, with a value function that is only for training."""

    def __init__(self):
        super().__init__()
        planes = [3, 8, 16, 16]
        convolutions = [nn.Conv2d(taken, given, 3, stride=2, padding=1) for taken, given in zip(planes, planes[1:])]
        self.image = nn.ModuleList(convolutions)
        self.state = nn.ModuleList([nn.Linear(4, 16)])
        rows, columns = ROWS, COLUMNS
        for _ in convolutions:
            rows, columns = (rows + 1) // 2, (columns + 1) // 2
        sizes = [planes[-1] * rows * columns + 16, 64, 64, 64]
        self.joint = nn.ModuleList([nn.Linear(taken, given) for taken, given in zip(sizes, sizes[1:])])
        self.joint.append(nn.Linear(64, 2))
        self.value = nn.Linear(64, 1)
        self.deviation = nn.Parameter(torch.full((2,), -1.2))
        nn.init.normal_(self.joint[-1].weight, std=0.01)

    def forward(self, images, numbers):
        looked = images
        for layer in self.image:
            looked = torch.relu(layer(looked))
        known = numbers
        for layer in self.state:
            known = torch.relu(layer(known))
        both = torch.cat([looked.flatten(1), known], 1)
        for layer in self.joint[:-1]:
            both = torch.relu(layer(both))
        return Normal(torch.tanh(self.joint[-1](both)), self.deviation.exp()), self.value(both).squeeze(1)


def tensors(seen):
    images = torch.from_numpy(np.stack([image for image, _ in seen])).float() / 255
    return images, torch.from_numpy(np.stack([numbers for _, numbers in seen]))


def collect(policy, convoys, seen, threads):
    """Steps all convoys together; collects observations, actions and rewards."""
    kept = {key: [] for key in ("images", "numbers", "actions", "chances", "values", "rewards", "goes_on", "bootstrap")}
    for _ in range(STEPS):
        images, numbers = tensors(seen)
        with torch.no_grad():
            chosen, values = policy(images, numbers)
            actions = chosen.sample()
            chances = chosen.log_prob(actions).sum(1)
        each = actions.clamp(-1, 1).numpy().reshape(len(convoys), len(FOLLOWERS), 2)
        stepped = list(threads.map(lambda pair: pair[0].step(pair[1]), zip(convoys, each)))
        rewards = torch.tensor([reward for _, paid, _, _ in stepped for reward in paid])
        over = [ended or late for _, _, ended, late in stepped]
        after = torch.zeros(len(rewards))
        if any(late and not ended for _, _, ended, late in stepped):
            # An episode cut by its length would have continued: add the value of its last state.
            with torch.no_grad():
                then = policy(*tensors([one for part, _, _, _ in stepped for one in part]))[1]
            cut = torch.tensor([late and not ended for _, _, ended, late in stepped]).repeat_interleave(len(FOLLOWERS))
            after = torch.where(cut, then, after)
        seen = []
        for convoy, (part, _, _, _), is_over in zip(convoys, stepped, over):
            seen += convoy.reset() if is_over else part
        goes_on = torch.tensor([0.0 if is_over else 1.0 for is_over in over]).repeat_interleave(len(FOLLOWERS))
        row = (images, numbers, actions, chances, values, rewards, goes_on, after)
        for key, value in zip(kept, row):
            kept[key].append(value)
    with torch.no_grad():
        last = policy(*tensors(seen))[1]
    return {key: torch.stack(values) for key, values in kept.items()}, last, seen


def advantages(kept, last):
    """Generalised advantage estimation (J. Schulman et al., 2016)."""
    gained, carried = torch.zeros_like(kept["rewards"]), torch.zeros_like(last)
    for step in reversed(range(STEPS)):
        then = last if step == STEPS - 1 else kept["values"][step + 1]
        goes_on = kept["goes_on"][step]
        then = then * goes_on + kept["bootstrap"][step]
        error = kept["rewards"][step] + DISCOUNT * then - kept["values"][step]
        carried = error + DISCOUNT * TRACE * goes_on * carried
        gained[step] = carried
    return gained


def improve(policy, optimiser, kept, gained):
    """Proximal policy optimisation (J. Schulman et al., 2017)."""
    worth = (gained + kept["values"]).flatten()
    flat = {key: value.flatten(0, 1) for key, value in kept.items()}
    gained = gained.flatten()
    gained = (gained - gained.mean()) / (gained.std() + 1e-8)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(worth)).split(BATCH):
            chosen, values = policy(flat["images"][part], flat["numbers"][part])
            ratio = (chosen.log_prob(flat["actions"][part]).sum(1) - flat["chances"][part]).exp()
            better = torch.min(ratio * gained[part], ratio.clamp(1 - CLIP, 1 + CLIP) * gained[part]).mean()
            loss = VALUE * (values - worth[part]).square().mean() - better - ENTROPY * chosen.entropy().sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimiser.step()


def save(policy, weights):
    parts = {"image": policy.image, "state": policy.state, "joint": policy.joint}
    named = {f"{part}.{number}.{name}": getattr(layer, name).detach().contiguous()
             for part, layers in parts.items() for number, layer in enumerate(layers) for name in ("weight", "bias")}
    weights.parent.mkdir(parents=True, exist_ok=True)
    save_file(named, weights)
    print(f"{weights}: {sum(array.numel() for array in named.values())} numbers")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("courses", type=Path, help="folder of courses")
    parser.add_argument("--weights", type=Path, required=True, help="file to write")
    parser.add_argument("--minutes", type=float, default=60, help="how long to train (60)")
    parser.add_argument("--worlds", type=int, default=8, help="worlds at a time (8)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    files = sorted(args.courses.glob("course_*_rigid.yaml"))
    if not files:
        raise SystemExit(f"{args.courses}: has no course_*_rigid.yaml: make some by selene study convoy --courses-only")
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    convoys = [Convoy(files[i % len(files)]) for i in range(args.worlds)]
    policy = Policy()
    optimiser = torch.optim.Adam(policy.parameters(), LEARNING_RATE, eps=1e-5)
    began, update, seen = time.monotonic(), 0, [one for convoy in convoys for one in convoy.observe()]
    with ThreadPoolExecutor(args.threads) as threads:
        while time.monotonic() - began < 60 * args.minutes:
            kept, last, seen = collect(policy, convoys, seen, threads)
            improve(policy, optimiser, kept, advantages(kept, last))
            update += 1
            paid, steps = kept["rewards"].mean().item(), update * STEPS * len(convoys) * len(FOLLOWERS)
            print(f"{time.monotonic() - began:.0f} s, {steps} steps: {paid:.3f} a step", flush=True)
    save(policy, args.weights)


if __name__ == "__main__":
    main()
