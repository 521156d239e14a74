"""Trains the follower of `selene study convoy` on the CPU: first by imitation of a teacher, then by PPO.

    python -m venv .venv && .venv/bin/pip install -r tools/studies/convoy_follower/requirements.txt
    .venv/bin/python tools/studies/convoy_follower/train.py
    selene study convoy

It needs Rust too, for the worlds (convoys.py). It writes the weights to config/network/convoy_follower.safetensors, and
PyTorch's actions for made-up input to tools/studies/data/convoy_outputs.csv, with which a test compares the study's own
arithmetic. The study evaluates on courses 0 to 127; this trains on 1000 to 1127, and evaluates itself on 2000 to 2007,
all on rigid ground, as in the paper (A. Young et al., 2022, section 4.2).

Imitation (DAgger, S. Ross et al., 2011): in the first round a teacher drives, then the policy does; in every round noise
disturbs the driver. All that was seen is learned with what the teacher would have done there. The teacher knows the
leader's path and speed, which the policy must guess from what it sees of the truck ahead.

Proximal policy optimisation (J. Schulman et al., 2017): the reward of a step falls with the distance from the leader's
path and with the difference from its speed at the same place, which is what the study's six metrics measure. Of all
policies the one that is best on the courses of its own evaluation is kept.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from convoys import FOLLOWERS, ROOT, Convoys
from network import NUMBERS, WORTH, Policy, Value, load, save, save_outputs
from torch.distributions import Normal
from torch.nn.functional import smooth_l1_loss
from torch.nn.utils import clip_grad_norm_

SHIPPED = ROOT / "config/network/convoy_follower.safetensors"
OUTPUTS = ROOT / "tools/studies/data/convoy_outputs.csv"
TRAINED, EVALUATED, HELD_OUT = (1000, 128), 2000, 8
# Control steps: an evaluation at most, and the greatest difference between the beginnings of two worlds.
STEPS_MAX, LATER = 3000, 600
# Deviations, m and m/s, at which a step has lost half of its reward.
PATH_M, SPEED_M_S = 1.0, 1.0
# Imitation: rounds of so many steps, passes over everything seen in parts of so many rows, share of images that are exchanged so that the policy
# does not rely on them alone, and noise of the driver, which lasts a second.
ROUNDS, ROUND_STEPS, PASSES, PART, EXCHANGED = 8, 160, 6, 256, 0.25
NOISE, LASTS = 0.15, 0.95
# Loss of this difference between two actions changes from its square to its amount.
BEND = 0.05
# PPO: decisions of a collection, control steps for which the noise of a decision is held (a truck answers slowly: noise
# of single steps would hardly move it), passes of policy and value function over a collection, and the rest of the
# parameters. The policy is good before PPO begins: at a higher rate, the first parts of a collection push all actions to
# one side.
DECISIONS, HELD, POLICY_PASSES, VALUE_PASSES, BATCH = 96, 4, 4, 8, 512
IMITATION_RATE, POLICY_RATE, VALUE_RATE = 1e-3, 1.2e-5, 1e-3
DISCOUNT, TRACE, CLIP, KL_MAX, GRADIENT_MAX = 0.9, 0.95, 0.2, 0.02, 0.5
# Standard deviations of the noise of steering and acceleration.
DEVIATIONS = (0.05, 0.12)
# Collections for the value function alone at first, and collections between two evaluations.
VALUE_ALONE, EVALUATE_EVERY = 3, 6


def tensors(seen):
    return torch.from_numpy(np.ascontiguousarray(seen.images)), torch.from_numpy(seen.numbers.copy())


def act(policy, seen):
    with torch.no_grad():
        return policy(*tensors(seen)).numpy()


def rewards(seen):
    """Rewards of the last step, 0 to 1."""
    lost = 0.5 * np.minimum(seen.path_m / PATH_M, 1) + 0.5 * np.minimum(seen.speed_m_s / SPEED_M_S, 1)
    return np.where(seen.failed, 0, 1 - lost)


def evaluate(policy, convoys):
    """Mean reward on the courses held out, from beginning to end; a follower that fails gets none for the rest, and all
    courses count as long as the longest then. Prints the mean deviations too."""
    seen = convoys.reset()
    counted, steps = np.ones(convoys.rows, bool), np.zeros(convoys.rows)
    paid, path_m, speed_m_s = np.zeros(convoys.rows), np.zeros(convoys.rows), np.zeros(convoys.rows)
    failed = np.zeros(convoys.rows, bool)
    for _ in range(STEPS_MAX):
        seen = convoys.step(act(policy, seen))
        paid += counted * rewards(seen)
        path_m, speed_m_s = path_m + counted * seen.path_m, speed_m_s + counted * seen.speed_m_s
        steps += counted
        failed |= counted & seen.failed
        counted &= ~seen.over
        if not counted.any():
            break
    score = (paid / steps.max()).mean() if failed.any() else (paid / steps).mean()
    by_follower = [(of / steps).reshape(-1, FOLLOWERS).mean(0) for of in (path_m, speed_m_s)]
    path, speed = (" ".join(f"{value:.3f}" for value in of) for of in by_follower)
    print(f"held out: {score:.4f} a step, followers deviate by {path} m and {speed} m/s, {failed.sum()} failed", flush=True)
    return score


class Best:
    """The best policy so far."""

    def __init__(self, convoys):
        self.convoys, self.score, self.weights = convoys, -np.inf, None

    def try_out(self, policy):
        score = evaluate(policy, self.convoys)
        if score > self.score:
            self.score, self.weights = score, {name: of.clone() for name, of in policy.state_dict().items()}


class Noise:
    """Noise of actions that lasts for some steps."""

    def __init__(self, rows):
        self.now = np.zeros((rows, 2), np.float32)

    def next(self):
        fresh = np.random.standard_normal(self.now.shape).astype(np.float32)
        self.now = LASTS * self.now + NOISE * np.sqrt(1 - LASTS**2) * fresh
        return self.now


def imitate(policy, convoys, best, rounds):
    """Learns what the teacher does; returns the last observations."""
    optimiser = torch.optim.Adam(policy.parameters(), IMITATION_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, rounds, IMITATION_RATE / 10)
    noise, seen, kept = Noise(convoys.rows), convoys.step(np.zeros((convoys.rows, 2))), []
    for number in range(rounds):
        began = time.monotonic()
        for _ in range(ROUND_STEPS):
            kept.append((*tensors(seen), torch.from_numpy(seen.taught.copy())))
            driver = seen.taught if number == 0 else act(policy, seen)
            seen = convoys.step(driver + noise.next())
        collected_s = time.monotonic() - began
        error = learn_from(policy, optimiser, [torch.cat(of) for of in zip(*kept)])
        schedule.step()
        took_s = time.monotonic() - began
        print(f"round {number + 1}: error {error:.4f}, {collected_s:.0f} s of {took_s:.0f} s in the worlds", flush=True)
        if number + 1 in (rounds // 2, rounds):
            best.try_out(policy)
    return seen


def learn_from(policy, optimiser, all_seen):
    """Passes over everything that was seen; returns the mean error of the last."""
    images, numbers, taught = all_seen
    for _ in range(PASSES):
        errors = []
        for part in torch.randperm(len(taught)).split(PART):
            is_exchanged = torch.rand(len(part)) < EXCHANGED
            pictured = torch.where(is_exchanged, part[torch.randperm(len(part))], part)
            given = policy(images[pictured], numbers[part])
            loss = smooth_l1_loss(given, taught[part], beta=BEND)
            optimiser.zero_grad()
            loss.backward()
            clip_grad_norm_(policy.parameters(), 1.0)
            optimiser.step()
            errors.append((given - taught[part]).abs().mean().item())
    return float(np.mean(errors))


def known(seen):
    """Input of the value function. Where a course is over, the deviations are of its end, not of the next beginning."""
    deviations = np.where(seen.over, 0, [seen.path_m, seen.speed_m_s]).T
    more = np.column_stack([seen.numbers, seen.taught, deviations])
    return torch.from_numpy(more.astype(np.float32))


def collect(policy, value, deviation, convoys, seen):
    """Steps all worlds; collects what was seen and done at each decision, and the rewards until the next."""
    kept = {key: [] for key in ("images", "numbers", "known", "actions", "chances", "values", "rewards", "ended", "failed")}
    for _ in range(DECISIONS):
        images, numbers, more = *tensors(seen), known(seen)
        with torch.no_grad():
            chosen = Normal(policy(images, numbers), deviation)
            actions = chosen.sample()
            row = [images, numbers, more, actions, chosen.log_prob(actions).sum(1), value(more)]
        noise = (actions - chosen.mean).numpy()
        paid, ended, failed = np.zeros(convoys.rows), np.zeros(convoys.rows, bool), np.zeros(convoys.rows, bool)
        for _ in range(HELD):
            seen = convoys.step(act(policy, seen) + noise)
            # What comes after the end of a course is of the next.
            paid += ~ended * rewards(seen)
            failed |= ~ended & seen.failed
            ended |= seen.over
        row += [torch.from_numpy(of.astype(np.float32)) for of in (paid, ended, failed)]
        for key, of in zip(kept, row):
            kept[key].append(of)
    with torch.no_grad():
        last = value(known(seen))
    return {key: torch.stack(of) for key, of in kept.items()}, last, seen


def advantages(kept, last):
    """Generalised advantage estimation (J. Schulman et al., 2016). A course that ends for another reason than the
    follower's own failure would have gone on for it: the value of its last observation stands for the rest."""
    gained, carried = torch.zeros_like(kept["rewards"]), torch.zeros_like(last)
    for step in reversed(range(DECISIONS)):
        after = last if step == DECISIONS - 1 else kept["values"][step + 1]
        ended, failed = kept["ended"][step], kept["failed"][step]
        then = torch.where(ended > 0, kept["values"][step] * (1 - failed), after)
        carried = kept["rewards"][step] + DISCOUNT * then - kept["values"][step] + DISCOUNT * TRACE * (1 - ended) * carried
        gained[step] = carried
    return gained


def improve_value(value, optimiser, more, worth):
    for _ in range(VALUE_PASSES):
        for part in torch.randperm(len(worth)).split(BATCH):
            optimiser.zero_grad()
            ((value(more[part]) - worth[part]) / WORTH).square().mean().backward()
            clip_grad_norm_(value.parameters(), GRADIENT_MAX)
            optimiser.step()


def improve_policy(policy, optimiser, deviation, flat, gained):
    gained = (gained - gained.mean()) / (gained.std() + 1e-8)
    for _ in range(POLICY_PASSES):
        for part in torch.randperm(len(gained)).split(BATCH):
            chosen = Normal(policy(flat["images"][part], flat["numbers"][part]), deviation)
            difference = chosen.log_prob(flat["actions"][part]).sum(1) - flat["chances"][part]
            ratio = difference.exp()
            if (ratio - 1 - difference).mean().item() > KL_MAX:
                return
            better = torch.min(ratio * gained[part], ratio.clamp(1 - CLIP, 1 + CLIP) * gained[part]).mean()
            optimiser.zero_grad()
            (-better).backward()
            clip_grad_norm_(policy.parameters(), GRADIENT_MAX)
            optimiser.step()


def improve(policy, convoys, seen, best, until, rate, deviations):
    """Improves the policy by its own experience until a time."""
    value, deviation = Value(), torch.tensor(deviations)
    optimisers = torch.optim.Adam(policy.parameters(), rate), torch.optim.Adam(value.parameters(), VALUE_RATE)
    update = 0
    while time.monotonic() < until:
        kept, last, seen = collect(policy, value, deviation, convoys, seen)
        gained = advantages(kept, last)
        worth = (gained + kept["values"]).flatten()
        flat = {key: of.flatten(0, 1) for key, of in kept.items()}
        improve_value(value, optimisers[1], flat["known"], worth)
        if update >= VALUE_ALONE:
            improve_policy(policy, optimisers[0], deviation, flat, gained.flatten())
        update += 1
        explained = 1 - (worth - flat["values"]).var() / worth.var()
        left_s = until - time.monotonic()
        print(f"update {update}: {flat['rewards'].mean() / HELD:.4f} a step, {int(flat['failed'].sum())} failed, "
              f"value explains {explained:.2f}, {left_s:.0f} s left", flush=True)
        if update % EVALUATE_EVERY == 0:
            best.try_out(policy)
    best.try_out(policy)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, default=SHIPPED)
    parser.add_argument("--from", dest="begun", type=Path, help="weights to improve by PPO, without imitation")
    parser.add_argument("--outputs", type=Path, help="outputs for the test; left out, only with the shipped weights")
    parser.add_argument("--minutes", type=float, default=50, help="when PPO ends, from the start (50); imitation is not cut")
    parser.add_argument("--worlds", type=int, default=16, help="worlds at a time (16)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of imitation ({ROUNDS})")
    parser.add_argument("--threads", type=int, default=2, help="threads of the worlds (2)")
    parser.add_argument("--rate", type=float, default=POLICY_RATE, help=f"rate at which PPO changes the policy ({POLICY_RATE})")
    parser.add_argument(
        "--deviations",
        type=float,
        nargs=2,
        default=DEVIATIONS,
        metavar=("STEERING", "ACCELERATION"),
        help=f"standard deviations of the actions' noise by PPO {DEVIATIONS}",
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    until = time.monotonic() + 60 * args.minutes
    # The network is small: more threads would wait for one another.
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    convoys = Convoys(args.worlds, *TRAINED, later=LATER, threads=args.threads)
    held_out = Convoys(HELD_OUT, EVALUATED, HELD_OUT, threads=args.threads)
    assert convoys.numbers == NUMBERS, "network.py and trail.rs differ in NUMBERS"
    policy, best = Policy(), Best(held_out)
    if args.begun:
        load(policy, args.begun)
        best.try_out(policy)
        seen = convoys.step(np.zeros((convoys.rows, 2)))
    else:
        seen = imitate(policy, convoys, best, args.rounds)
    policy.load_state_dict(best.weights)
    improve(policy, convoys, seen, best, until, args.rate, args.deviations)
    policy.load_state_dict(best.weights)
    save(policy, args.weights)
    if args.outputs or args.weights == SHIPPED:
        save_outputs(policy, args.outputs or OUTPUTS)
    convoys.close()
    held_out.close()


if __name__ == "__main__":
    main()
