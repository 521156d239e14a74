"""Fixtures and helpers of the tests."""

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def missing(what: str) -> None:
    """Skips a test because something is not installed, or fails it where nothing may be missing."""
    if os.environ.get("SELENE_REQUIRE_PEERS"):
        pytest.fail(f"{what} is missing")
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def program() -> str:
    """Path of the program `selene`, built from the same sources."""
    named = os.environ.get("SELENE_PROGRAM")
    built = ROOT / "target/release/selene"
    found = named or (str(built) if built.is_file() else shutil.which("selene"))
    if not found:
        missing("the program selene (cargo build --release, or SELENE_PROGRAM)")
    return found


@pytest.fixture
def changed(tmp_path):
    """A copy of a file of config/ with absolute paths and parts of its text replaced: old, new, old, new, ..."""

    def change(file: str, *parts: str) -> str:
        text = (ROOT / "config" / file).read_text().replace("../", f"{ROOT}/config/")
        for old, new in zip(parts[::2], parts[1::2], strict=True):
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / Path(file).name
        path.write_text(text)
        return str(path)

    return change
