"""The follower's network, and the value function that is only for training.

`Policy` in tools/studies/src/convoy/policy.rs evaluates the same network.
"""

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

COLUMNS, ROWS, NUMBERS = 80, 45, 21
PLANES = [3, 8, 16, 16, 16]
KNOWN, JOINT = 32, 64
# Scale of the value function: about a sum of rewards of 4 a decision, discounted by 0.9.
WORTH = 40.0
CASES = 4


class Policy(nn.Module):
    """Means of an action's two components, from images of 8 bits and the numbers beside them."""

    def __init__(self):
        super().__init__()
        pairs = list(zip(PLANES, PLANES[1:]))
        self.image = nn.ModuleList(nn.Conv2d(taken, given, 3, stride=2, padding=1) for taken, given in pairs)
        self.state = nn.ModuleList([nn.Linear(NUMBERS, KNOWN)])
        rows, columns = ROWS, COLUMNS
        for _ in pairs:
            rows, columns = (rows + 1) // 2, (columns + 1) // 2
        sizes = [PLANES[-1] * rows * columns + KNOWN, JOINT, JOINT, JOINT, 2]
        self.joint = nn.ModuleList(nn.Linear(taken, given) for taken, given in zip(sizes, sizes[1:]))

    def forward(self, images, numbers):
        looked, known = images.float() / 255 - 0.5, numbers
        for layer in self.image:
            looked = torch.relu(layer(looked))
        for layer in self.state:
            known = torch.relu(layer(known))
        both = torch.cat([looked.flatten(1), known], 1)
        for layer in self.joint[:-1]:
            both = torch.relu(layer(both))
        return torch.tanh(self.joint[-1](both))


class Value(nn.Module):
    """Expected sum of rewards. It is a network of its own, so that its errors do not disturb the policy, and it takes
    what the policy is not told: the teacher's action and the deviations (asymmetric actor-critic, L. Pinto et al.,
    2018)."""

    def __init__(self):
        super().__init__()
        sizes = [NUMBERS + 4, 64, 64]
        layers = [layer for pair in zip(sizes, sizes[1:]) for layer in (nn.Linear(*pair), nn.Tanh())]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-1], 1))

    def forward(self, known):
        return WORTH * self.layers(known).squeeze(1)


def load(policy, weights):
    """Reads the policy's weights."""
    policy.load_state_dict(load_file(weights))


def save(policy, weights):
    """Writes the policy's weights."""
    named = {name: array.detach().contiguous() for name, array in policy.state_dict().items()}
    weights.parent.mkdir(parents=True, exist_ok=True)
    save_file(named, weights)
    weights.chmod(0o644)
    print(f"{weights}: {sum(array.numel() for array in named.values())} numbers")


def made_up(case):
    """A made-up image and numbers, the same as `made_up` in policy.rs."""
    colour, y, x = np.mgrid[0:3, 0:ROWS, 0:COLUMNS]
    image = (x * (3 + case) + y * (5 + 2 * case) + 40 * colour) % 256
    numbers = np.arange(NUMBERS) * (7 + 2 * case) % 20 / 10 - 1
    return image.astype(np.uint8), numbers.astype(np.float32)


def save_outputs(policy, file):
    """Writes the policy's actions for made-up input, with which a test compares those of policy.rs."""
    images, numbers = (torch.from_numpy(np.stack(of)) for of in zip(*map(made_up, range(CASES))))
    with torch.no_grad():
        actions = policy(images, numbers).tolist()
    lines = ["steer,accelerate", *(f"{steer:.7f},{accelerate:.7f}" for steer, accelerate in actions)]
    file.write_text("\n".join(lines) + "\n")
