"""A campaign over two local nodes of Ray comes to the same as one by the program alone."""

import csv
import json
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import missing

from selene import campaign

CAMPAIGN = "name: few\nscenarios: [learning_convoy]\nseeds: {from: 1, count: 4}\nfor_s: 0.1\nset: {gravity_m_s2: [1.62, 99]}\n"
# What differs from run to run.
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


# Warnings of Ray are its own.
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
    # What is done stays done.
    (over_ray / "rows/000003.json").unlink()
    again = campaign.run(file, over_ray, program=program)
    assert [row["row"] for row in again] == [3]


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
    told = table(tmp_path / "out")[2]
    assert (told["status"], told["reason"]) == ("failed", "Ray: the node died")
    assert json.loads((rows / "000002.json").read_text())["figures"] == {}


def test_without_the_program_it_is_told_how_to_name_it(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("SELENE_PROGRAM", raising=False)
    with pytest.raises(campaign.CampaignError, match="--program"):
        campaign.plan("x.yaml")
