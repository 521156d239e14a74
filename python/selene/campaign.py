"""Campaigns over Ray: `python -m selene.campaign FILE.yaml --out DIR` does what `selene campaign` does, on all nodes of
a Ray cluster.

Ray assigns each row of the campaign to a node, where the program `selene` runs it in a folder of its own. The result
comes back to this process, which stores it in `DIR/rows` as the program would. So either of the two can continue a
campaign that was killed, and `selene campaign collect` makes the table. Every node must have this package, and the
program and the campaign's files at the same paths.

    pip install "selene[campaign]"
    ray start --head                    # here
    ray start --address=HEAD:6379       # on each other node
    python -m selene.campaign soils.yaml --out out/soils --address auto
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class CampaignError(Exception):
    """A campaign cannot be run; the message is the program's."""


def run(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    program: str | None = None,
    address: str | None = None,
    cpus_per_row: float = 1.0,
    on_record: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Runs the rows that are missing in `out` over Ray, and returns the result of each.

    `program` is the program `selene` (by default the one in PATH), `address` a cluster's address as for `ray.init` (by
    default a cluster on this machine); a Ray that is already initialised is used as it is. `on_record` is called with each
    row when it has ended. A row has `status` "failed" and a `reason` if its process fails or its node is lost.
    """
    import ray

    program = _program(program)
    file, rows = Path(file).resolve(), Path(out) / "rows"
    rows.mkdir(parents=True, exist_ok=True)
    missing = [row for row in plan(file, program) if not _file(rows, row).exists()]
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    remote = ray.remote(num_cpus=cpus_per_row, max_retries=2)(_run_row)
    waiting = {remote.remote(program, str(file), row["row"], max(1, int(cpus_per_row))): row for row in missing}
    ended = []
    while waiting:
        done, _ = ray.wait(list(waiting), num_returns=1)
        row = waiting.pop(done[0])
        try:
            record = json.loads(ray.get(done[0]))
        except ray.exceptions.RayError as error:
            # The exception that the row raised, without Ray's traceback.
            record = _failed(row, f"Ray: {getattr(error, 'cause', None) or error}")
        _keep(_file(rows, row), record)
        ended.append(record)
        if on_record is not None:
            on_record(record)
    return ended


def plan(file: str | os.PathLike[str], program: str | None = None) -> list[Row]:
    """All rows of a campaign, from `selene campaign plan`."""
    lines = _said([_program(program), "campaign", "plan", str(file)]).splitlines()
    return [json.loads(line) for line in lines]


def _run_row(program: str, file: str, row: int, threads: int) -> str:
    """Runs a row, on any node, and returns its result as the JSON text that the program stores."""
    with tempfile.TemporaryDirectory(prefix="selene-campaign-") as folder:
        command = [program, "campaign", file, "--only", str(row), "--out", folder, "--workers", "1", "--quiet"]
        threads_of_it = {"RAYON_NUM_THREADS": str(threads)}
        done = subprocess.run(command, env=os.environ | threads_of_it, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return (Path(folder) / f"rows/{row:06}.json").read_text()


def _failed(row: Row, reason: str) -> Row:
    kept = {key: row[key] for key in ("row", "scenario", "seed", "set")}
    return kept | {"status": "failed", "reason": reason[:500], "figures": {}}


def _file(rows: Path, row: Row) -> Path:
    return rows / f"{row['row']:06}.json"


def _keep(file: Path, record: Row) -> None:
    """Stores a record as a whole: a kill leaves no partial file."""
    with tempfile.NamedTemporaryFile("w", dir=file.parent, suffix=".part", delete=False) as part:
        json.dump(record, part, indent=2)
    os.replace(part.name, file)


def _program(program: str | None) -> str:
    found = shutil.which(program or os.environ.get("SELENE_PROGRAM") or "selene")
    if found is None:
        raise CampaignError("the program selene is not found: install it, or name it by --program or SELENE_PROGRAM")
    return str(Path(found).resolve())


def _said(command: Iterable[str]) -> str:
    done = subprocess.run(list(command), capture_output=True, text=True)
    if done.returncode != 0:
        raise CampaignError(done.stderr.strip())
    return done.stdout


def main() -> int:
    """Runs a campaign and makes its table; returns the program's exit status."""
    parser = argparse.ArgumentParser(prog="python -m selene.campaign", description="A campaign over Ray.")
    parser.add_argument("file", help="the campaign's file")
    parser.add_argument("--out", required=True, help="folder for rows and table")
    parser.add_argument("--address", help="a Ray cluster, such as auto (one on this machine)")
    parser.add_argument("--program", help="the program selene (as PATH has it)")
    parser.add_argument("--cpus-per-row", type=float, default=1.0, help="processors that Ray sets aside for a row (1)")
    args = parser.parse_args()

    def on_record(row: Row) -> None:
        reason = f": {row['reason']}" if row["reason"] else ""
        print(f"row {row['row']}: {row['status']}{reason}", file=sys.stderr)

    try:
        run(args.file, args.out, program=args.program, address=args.address, cpus_per_row=args.cpus_per_row, on_record=on_record)
        program = _program(args.program)
    except CampaignError as error:
        print(error, file=sys.stderr)
        return 2
    return subprocess.run([program, "campaign", "collect", args.file, "--out", args.out]).returncode


if __name__ == "__main__":
    sys.exit(main())
