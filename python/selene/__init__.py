"""Lunar rovers for reinforcement learning: simulated worlds, their sensor data as NumPy arrays, and environments.

`World` is one simulated world, which you step. Importing this module registers the environments `Selene/Waypoint-v0`,
`Selene/ObstacleField-v0`, `Selene/SlopeClimb-v0`, `Selene/ConvoyFollower-v0` and `Selene/Dig-v0` where Gymnasium is
installed.
"""

from importlib.util import find_spec as _find_spec

from selene._native import Environments, Error, World, __version__
from selene._places import courses, scenarios

__all__ = ["Environments", "Error", "World", "__version__", "courses", "scenarios"]

if _find_spec("gymnasium"):
    from selene.environments import register

    register()
    __all__ += ["register"]
