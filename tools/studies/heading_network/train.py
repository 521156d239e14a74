"""Trains the network of `selene study heading --method network` on the CPU.

    selene study heading --training-images out/training --count 4000
    python -m venv .venv && .venv/bin/pip install -r tools/studies/heading_network/requirements.txt
    .venv/bin/python tools/studies/heading_network/train.py out/training

Writes the weights to config/network/sun_direction.safetensors, and PyTorch's outputs for made-up images to
tools/studies/data/network_outputs.csv, with which a test compares the study's own arithmetic. Every fifth world
(its own ground, Sun, lenses and metering) is held out; the printed errors are those of held-out images.

The target is the unit vector to the Sun in the optical frame, the loss the mean distance from it, both as in the paper
(F. Dubois et al., IAC-18-A3.IP.23, section V). `Network` in tools/studies/src/heading/network.rs evaluates the same
network.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn
from torch.nn.functional import normalize
from torch.nn.utils.fusion import fuse_conv_bn_eval

COLUMNS, ROWS = 80, 45
PARAMETERS_MAX = 30_000
PLANES = [1, 12, 16, 8]
DENSE = [48, 32]
HELD_OUT_EVERY = 5
BATCH = 64
LEARNING_RATE = 4e-3
# Random variation of an image each time that it is used.
GAIN = (0.75, 1.33)
NOISE = 0.01
# The same as `JUST_OUTSIDE_RAD` in the study.
JUST_OUTSIDE_DEG = 90.0
MADE_UP = 4
ROOT = Path(__file__).resolve().parents[3]


def network():
    """Convolutions with a stride of two pixels, then dense layers; batch normalisation is only for training."""
    layers = []
    for taken, given in zip(PLANES, PLANES[1:]):
        layers += [nn.Conv2d(taken, given, 3, stride=2, padding=1), nn.BatchNorm2d(given), nn.ReLU()]
    layers.append(nn.Flatten())
    sizes = [PLANES[-1] * after_steps(ROWS) * after_steps(COLUMNS), *DENSE]
    for taken, given in zip(sizes, sizes[1:]):
        layers += [nn.Linear(taken, given), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 3))


def after_steps(pixels):
    for _ in PLANES[1:]:
        pixels = (pixels + 1) // 2
    return pixels


def without_normalisation(net):
    """The same network with each batch normalisation merged into the convolution before it."""
    layers = []
    for layer in net:
        if isinstance(layer, nn.BatchNorm2d):
            layers[-1] = fuse_conv_bn_eval(layers[-1], layer)
        else:
            layers.append(layer)
    return nn.Sequential(*layers).eval()


def taken(images):
    """Input of the network: brightness as a fraction of white, minus each image's mean."""
    return images - images.mean(dim=(1, 2, 3), keepdim=True)


def directions(net, images):
    with torch.no_grad():
        return torch.cat([normalize(net(taken(part))) for part in images.split(512)])


def load(folder):
    with open(folder / "labels.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["in_sight"] == "1"]
    pictures = [np.asarray(Image.open(folder / f"{int(row['image']):06}.png")) for row in rows]
    images = torch.tensor(np.stack(pictures)[:, None], dtype=torch.float32) / 255
    suns = torch.tensor([[float(row[f"sun_{axis}"]) for axis in "xyz"] for row in rows])
    column = lambda name: torch.tensor([int(row[name]) for row in rows])
    return images, suns, column("world"), column("in_frame") == 1


def varied(images, suns):
    """Images mirrored half of the time (cameras of both sides mirror each other), with another exposure and noise."""
    mirrored = torch.rand(len(images)) < 0.5
    images = torch.where(mirrored[:, None, None, None], images.flip(3), images)
    suns = torch.where(mirrored[:, None], suns * torch.tensor([-1.0, 1.0, 1.0]), suns)
    gain = torch.exp(torch.empty(len(images), 1, 1, 1).uniform_(*np.log(GAIN)))
    return (images * gain + NOISE * torch.randn_like(images)).clamp(0, 1), suns


def train(images, suns, epochs):
    net = network()
    steps = epochs * (len(images) // BATCH)
    optimiser = torch.optim.AdamW(net.parameters(), LEARNING_RATE, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps, pct_start=0.15)
    began = time.monotonic()
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for part in torch.randperm(len(images))[: BATCH * (len(images) // BATCH)].split(BATCH):
            seen, suns_seen = varied(images[part], suns[part])
            loss = (normalize(net(taken(seen))) - suns_seen).norm(dim=1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item()
        if epoch % 10 == 9:
            mean = total / (len(images) // BATCH)
            print(f"epoch {epoch + 1}: loss {mean:.4f}, {time.monotonic() - began:.0f} s", flush=True)
    return without_normalisation(net.eval())


def errors_deg(net, images, suns):
    """Errors, degrees: of the direction, and of the azimuth about an upright camera's vertical: of the heading."""
    seen = directions(net, images)
    direction = 2 * torch.asin((0.5 * (seen - suns).norm(dim=1)).clamp(max=1))
    azimuth = torch.atan2(seen[:, 0], seen[:, 2]) - torch.atan2(suns[:, 0], suns[:, 2])
    azimuth = torch.atan2(azimuth.sin(), azimuth.cos()).abs()
    return torch.rad2deg(direction), torch.rad2deg(azimuth)


def tell(net, images, suns, in_frame):
    near = torch.rad2deg(torch.acos(suns[:, 2].clamp(-1, 1))) <= JUST_OUTSIDE_DEG
    places = {"in the frame": in_frame, "just outside": ~in_frame & near, "both": in_frame | near}
    for place, which in places.items():
        if which.sum() == 0:
            print(f"held out, {place}: none")
            continue
        direction, azimuth = errors_deg(net, images[which], suns[which])
        print(f"held out, {place}: {which.sum()} images, direction {direction.mean():.2f} degrees, "
              f"azimuth {azimuth.mean():.2f}, at most {azimuth.max():.2f}")


def made_up():
    """Images that a test can make as well."""
    row, column = np.mgrid[0:ROWS, 0:COLUMNS]
    return [(column * (3 + number) + row * (5 + 2 * number)) % 256 for number in range(MADE_UP)]


def save(net, weights, outputs):
    layers = [layer for layer in net if hasattr(layer, "weight")]
    named = {f"{number}.{name}": getattr(layer, name).detach().contiguous()
             for number, layer in enumerate(layers) for name in ("weight", "bias")}
    count = sum(array.numel() for array in named.values())
    if count >= PARAMETERS_MAX:
        raise SystemExit(f"{count} numbers: must be fewer than {PARAMETERS_MAX}")
    weights.parent.mkdir(parents=True, exist_ok=True)
    save_file(named, weights)
    weights.chmod(0o644)
    images = torch.tensor(np.stack(made_up())[:, None], dtype=torch.float32) / 255
    lines = [",".join(f"{value:.7f}" for value in row) for row in directions(net, images).tolist()]
    outputs.parent.mkdir(parents=True, exist_ok=True)
    outputs.write_text("sun_x,sun_y,sun_z\n" + "\n".join(lines) + "\n")
    print(f"{weights}: {count} numbers")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", type=Path, help="folder of images and labels.csv")
    parser.add_argument("--epochs", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", type=Path, default=ROOT / "config/network/sun_direction.safetensors")
    parser.add_argument("--outputs", type=Path, default=ROOT / "tools/studies/data/network_outputs.csv")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(args.seed)
    images, suns, worlds, in_frame = load(args.images)
    held_out = worlds % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    print(f"{(~held_out).sum()} images to train on, {held_out.sum()} held out")
    net = train(images[~held_out], suns[~held_out], args.epochs)
    tell(net, images[held_out], suns[held_out], in_frame[held_out])
    save(net, args.weights, args.outputs)


if __name__ == "__main__":
    main()
