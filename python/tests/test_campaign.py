"""A campaign over two local nodes of Ray gives the same result as one by the program alone; other programs read its
table."""

import csv
import json
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import missing

from selene import campaign

CAMPAIGN = "name: few\nscenarios: [learning_convoy]\nseeds: {from: 1, count: 4}\nfor_s: 0.1\nset: {gravity_m_s2: [1.62, 99]}\n"
# Keys whose values differ from run to run.
WALL = ("wall_s", "real_time_factor")


def table(folder: Path) -> list[dict[str, str]]:
    with open(folder / "campaign.csv", newline="") as file:
        return [{key: value for key, value in row.items() if key not in WALL} for row in csv.DictReader(file)]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "few.yaml"
    path.write_text(CAMPAIGN)
    return path


@pytest.fixture
def two_nodes():
    if find_spec("ray") is None:
        missing("Ray")
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2
    yield
    ray.shutdown()
    cluster.shutdown()


# Ray's own warnings are of no interest here.
@pytest.mark.filterwarnings("default")
def test_two_nodes_come_to_what_one_program_comes_to(two_nodes, program, file, tmp_path):
    alone, over_ray = tmp_path / "alone", tmp_path / "ray"
    subprocess.run([program, "campaign", file, "--out", alone, "--quiet"], capture_output=True)
    ended = campaign.run(file, over_ray, program=program)
    assert sorted(row["row"] for row in ended) == list(range(8))
    subprocess.run([program, "campaign", "collect", file, "--out", over_ray], capture_output=True)
    rows = table(over_ray)
    assert rows == table(alone)
    assert [row["status"] for row in rows].count("failed") == 4
    assert all("0 to 30" in row["reason"] for row in rows if row["status"] == "failed")
    # Rows that are finished are not run again.
    (over_ray / "rows/000003.json").unlink()
    again = campaign.run(file, over_ray, program=program)
    assert [row["row"] for row in again] == [3]
    # A row that kills its worker, each time that Ray tries it, has failed; the others are not touched.
    (over_ray / "rows/000000.json").unlink()
    (over_ray / "rows/000002.json").unlink()
    killed = {row["row"]: row for row in campaign.run(file, over_ray, program=killer(program, tmp_path, row=2))}
    assert sorted(killed) == [0, 2]
    assert (killed[0]["status"], killed[2]["status"]) == ("done", "failed")
    assert killed[2]["reason"].startswith("Ray: ") and "died" in killed[2]["reason"]
    assert json.loads((over_ray / "rows/000002.json").read_text()) == killed[2]


def killer(program: str, folder: Path, row: int) -> str:
    """A program as `program` that kills the process which starts it for this row."""
    script = folder / "selene-killer"
    kill = f'case " $* " in *" --only {row} "*) kill -9 $PPID; exit 1;; esac'
    script.write_text(f'#!/bin/sh\n{kill}\nexec "{program}" "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_pyarrow_reads_the_table_that_the_program_writes(program, file, tmp_path):
    if find_spec("pyarrow") is None:
        missing("PyArrow")
    import pyarrow
    from pyarrow import parquet

    subprocess.run([program, "campaign", file, "--out", tmp_path, "--quiet"], capture_output=True)
    read = parquet.read_table(tmp_path / "campaign.parquet")
    kinds = {"row": pyarrow.int64(), "scenario": pyarrow.string(), "state_hash": pyarrow.string()}
    assert {name: read.schema.field(name).type for name in kinds} == kinds
    assert read.schema.field("distance_m").type == pyarrow.float64()
    with open(tmp_path / "campaign.csv", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert read.column_names == list(rows[0])
    for name in read.column_names:
        texts, values = [row[name] for row in rows], read[name].to_pylist()
        # A missing value is empty in CSV.
        assert [text == "" for text in texts] == [value is None for value in values], name
        for text, value in zip(texts, values, strict=True):
            assert value is None or (text == value if isinstance(value, str) else float(text) == value), name


def test_a_campaign_that_is_refused_tells_why(program, file):
    file.write_text(CAMPAIGN + "workers: 3\n")
    with pytest.raises(campaign.CampaignError, match="workers"):
        campaign.plan(file, program)


def test_a_row_whose_node_is_lost_is_a_row_that_failed(program, file, tmp_path):
    row = campaign.plan(file, program)[2]
    rows = tmp_path / "out/rows"
    rows.mkdir(parents=True)
    campaign._keep(campaign._file(rows, row), campaign._failed(row, "Ray: the node died"))
    subprocess.run([program, "campaign", "collect", file, "--out", tmp_path / "out"], capture_output=True)
    reported = table(tmp_path / "out")[2]
    assert (reported["status"], reported["reason"]) == ("failed", "Ray: the node died")
    assert json.loads((rows / "000002.json").read_text())["figures"] == {}


def test_without_the_program_it_is_told_how_to_name_it(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("SELENE_PROGRAM", raising=False)
    with pytest.raises(campaign.CampaignError, match="--program"):
        campaign.plan("x.yaml")
