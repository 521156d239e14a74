"""Finds shipped scenarios and courses by their names."""

from os import PathLike
from pathlib import Path

from selene._native import Error

_CONFIG = Path(__file__).parent / "config"


def scenarios() -> list[str]:
    """Names of the shipped scenarios."""
    return _names("scenario")


def courses() -> list[str]:
    """Names of the shipped courses: scenarios with a learning task."""
    return _names("learning")


def scenario(name: str | PathLike[str]) -> str:
    """The file of a scenario, by its path or name."""
    return _find("scenario", name)


def course(name: str | PathLike[str]) -> str:
    """The file of a course, by its path or name."""
    return _find("learning", name)


def _names(folder: str) -> list[str]:
    return sorted(file.stem for file in (_CONFIG / folder).glob("*.yaml"))


def _find(folder: str, name: str | PathLike[str]) -> str:
    if Path(name).is_file():
        return str(name)
    if str(name) in _names(folder):
        # Resolved, as the folder may be a link: the file names others relative to its real place.
        return str((_CONFIG / folder / f"{name}.yaml").resolve())
    error = Error(f"{name}: neither a file nor one of config/{folder}: {', '.join(_names(folder))}")
    error.file, error.line = str(name), None
    raise error
