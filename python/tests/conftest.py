"""What tests share."""

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def missing(what: str) -> None:
    """Skips a test for what is not here, or fails it where nothing may be missing."""
    if os.environ.get("SELENE_REQUIRE_PEERS"):
        pytest.fail(f"{what} is missing")
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def program() -> str:
    """The program `selene` of the same sources."""
    named = os.environ.get("SELENE_PROGRAM")
    built = ROOT / "target/release/selene"
    found = named or (str(built) if built.is_file() else shutil.which("selene"))
    if not found:
        missing("the program selene (cargo build --release, or SELENE_PROGRAM)")
    return found


@pytest.fixture
def changed(tmp_path):
    """A file of config/ with a part of its text replaced, whole paths in it."""

    def change(file: str, old: str, new: str) -> str:
        text = (ROOT / "config" / file).read_text().replace("../", f"{ROOT}/config/")
        assert old in text, old
        path = tmp_path / Path(file).name
        path.write_text(text.replace(old, new))
        return str(path)

    return change
