"""The study's convoys as worlds to train in: a program in Rust steps them, and this starts it and speaks with it.

`tools/studies/examples/convoy_worlds.rs` describes the bytes that are exchanged. It is built when it is first started.
"""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ["cargo", "run", "--release", "--quiet", "-p", "selene-studies", "--example", "convoy_worlds", "--"]
FOLLOWERS = 3
CHANNELS = 3
# Numbers of a row beside those that the policy takes: the teacher's action, and what is known of a step's end.
ACTION, END = 2, 4


class Seen(NamedTuple):
    """Observations of all followers, one row each, world by world."""

    images: np.ndarray
    """Colours of 8 bits: (rows, channels, height, width)."""
    numbers: np.ndarray
    """What the policy takes beside the image."""
    taught: np.ndarray
    """The teacher's actions."""
    path_m: np.ndarray
    """Distances from the leader's path after the last step."""
    speed_m_s: np.ndarray
    """Differences from the leader's speed at the same place after the last step."""
    failed: np.ndarray
    """Whether the follower was lost, touched the truck ahead or hit an obstacle."""
    over: np.ndarray
    """Whether the last step ended the course; images, numbers and the teacher's action are those of the next course."""


class Convoys:
    """Convoys that are stepped together; they use the courses `first` to `first + courses - 1`, again and again."""

    def __init__(self, worlds, first, courses, *, later=0, threads=None):
        """At the beginning the teacher drives each world for a different time, up to `later` steps."""
        command = [*PROGRAM, *map(str, (worlds, first, courses, later))]
        environment = dict(os.environ)
        if threads is not None:
            environment["RAYON_NUM_THREADS"] = str(threads)
        pipe = subprocess.PIPE
        self.program = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe)
        self.rows, self.numbers, self.height, self.width = np.frombuffer(self._read(16), "<u4").tolist()

    def reset(self):
        """Begins all worlds anew, each on its first course."""
        return self._ask(b"r")

    def step(self, actions):
        """Steps all worlds by steering and acceleration of each row, -1 to 1."""
        return self._ask(b"s" + np.ascontiguousarray(actions, "<f4").tobytes())

    def close(self):
        """Ends the program."""
        self.program.stdin.close()
        self.program.wait()

    def _ask(self, request):
        self.program.stdin.write(request)
        self.program.stdin.flush()
        width = self.numbers + ACTION + END
        rows = np.frombuffer(self._read(4 * self.rows * width), "<f4").reshape(self.rows, width)
        pixels = np.frombuffer(self._read(self.rows * self.height * self.width * CHANNELS), np.uint8)
        images = pixels.reshape(self.rows, self.height, self.width, CHANNELS).transpose(0, 3, 1, 2)
        numbers, taught, end = np.split(rows, [self.numbers, self.numbers + ACTION], axis=1)
        path_m, speed_m_s, failed, over = end.T
        return Seen(images, numbers, taught, path_m, speed_m_s, failed > 0, over > 0)

    def _read(self, count):
        read = self.program.stdout.read(count)
        if len(read) < count:
            raise SystemExit(f"{' '.join(PROGRAM)}: ended with {self.program.wait()}")
        return read
