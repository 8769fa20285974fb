"""The how-to pages of the guide, typed block by block; what is put in other words stands here."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from jbodlab.processes.cluster import Cluster
from jbodlab.processes.free_ports import free_port
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from tests.deadlines import DEADLINE_S
from tests.integration.guide_blocks import (
    GUIDE,
    blocks,
    environment,
    instead,
    on_free_ports,
    type_in,
)

pytest_plugins = ["pytester"]
HERE = "kafka.example:9092"
HOME = "127.0.0.1:9092"
COORDINATOR = re.compile(r"(?m)^readers +\S+ +\((\d)\)")
pytestmark = pytest.mark.sampled_among("how-to pages of the guide", kept=1)


@pytest.fixture
def folder(tmp_path: Path) -> Generator[Path]:
    """Where the cluster file is; what runs by it is ended."""
    file = write_lab_spec(tmp_path, LabShape(capacity_bytes=4 << 30))
    yield tmp_path
    Cluster(file).stop()


def servers(folder: Path) -> str:
    return Cluster(folder / "cluster.yaml").bootstrap_servers[0]


def test_a_disk_is_found_for_a_client_and_broken_in_other_ways(folder: Path) -> None:
    prepared, others = blocks("how-to/clients.md")
    found = type_in(folder, prepared)
    assert re.search(r"orders-5 .*\d, \d, \d", found)
    assert '"path": "' in found
    told = type_in(folder, others)
    assert re.search(r"in force .*mode=sync_failure node=broker-1 log_dir=data/b1/d1 times=1", told)


def test_a_group_and_a_transaction_outlive_the_disk_of_their_coordinator(folder: Path) -> None:
    begun, group, transaction = (
        block.replace(HOME, servers(folder)) for block in blocks("how-to/coordinators.md")
    )
    before = type_in(folder, begun)
    (first,) = COORDINATOR.findall(before)
    assert len(re.findall(r"(?m)^data/b\d/d\d/__consumer_offsets-", before)) == 3
    told = type_in(folder, group)
    assert re.search(rf"data/b{first}/d\d now fails with eio", told)
    (second,) = COORDINATOR.findall(told)
    assert second != first
    lags = re.findall(r"(?m)^readers +orders +\d +(\d+) +(\d+) +0 ", told)
    assert len(lags) == 6
    assert sum(int(offset) for offset, _ in lags) == 600, "commits of all that was written"
    assert "\n500\n" in told, "the rest of what was written, none of it twice"
    assert re.search(rf"data/b{first}/d\d is back", told)

    shutil.copy(GUIDE / "programs" / "pay.py", folder)
    told = type_in(folder, f"{group.splitlines()[0]}\n{transaction}")
    assert told.count("committed") == 2
    (broken,) = re.findall(r"data/b(\d)/d\d now fails with eio", told)
    (other, state) = re.findall(r"(?m)^pay +\t(\d) +\t\d+ +\t(\w+)", told)[-1]
    assert other != broken
    assert state in ("PrepareCommit", "CompleteCommit"), "markers are written after the answer"


@pytest.mark.sampled_among("pages of the guide that start Java", kept=0)
def test_a_failover_is_read_where_the_page_looks_for_it(folder: Path) -> None:
    (block,) = blocks("how-to/failover.md")
    type_in(folder, "jbodlab up; jbodlab topics create orders --partitions 6")
    told = type_in(folder, instead(block, ("--seconds 20", "--seconds 5")))
    assert "0 lost, 0 twice" in told
    assert "the longest" in told
    assert re.search(r"KAFKA_STORAGE_ERROR.*\(injected\)", told)
    assert re.search(r"\d+ rows read from data/metrics, 0 lines set aside", told)


@pytest.mark.sampled_among("pages of the guide that start Java", kept=0)
def test_a_mixed_cluster_is_started_broken_and_ended_by_the_commands_of_its_page(
    tmp_path: Path,
) -> None:
    init, rest = blocks("how-to/join-apache-kafka.md")[0].split("\n", maxsplit=1)
    file = tmp_path / "cluster.yaml"
    type_in(tmp_path, init)
    file.write_text(on_free_ports(file.read_text()))
    try:
        told = type_in(tmp_path, rest)
    finally:
        Cluster(file).stop()
    assert "Apache Kafka 3.9.2" in told
    assert re.search(r"data/b1/d1 +│ offline KAFKA_STORAGE_ERROR.*\(injected\)", told), told
    assert "data/b1/d1 is back" in told


def test_the_scenario_of_its_page_holds_in_both_worlds(tmp_path: Path) -> None:
    (text,) = blocks("how-to/scenario.md", "yaml")
    (tmp_path / "full.yaml").write_text(text)
    (block,) = blocks("how-to/scenario.md")
    told = type_in(tmp_path, block)
    assert told.count("a-full-disk") >= len(block.splitlines()) - 1, told


def test_seeds_are_swept_as_their_page_says(tmp_path: Path) -> None:
    swept, on_spark = blocks("how-to/seeds.md")
    told = type_in(tmp_path, instead(swept, ("1..1000", "1..2")))
    assert "checked: durability" in told
    assert "2 seeds" in told, told
    type_in(tmp_path, instead(on_spark, ("1..5000", "1..2")))
    report = (tmp_path / "sweep" / "report.html").read_text()
    assert "2 seeds, 0 violations" in report
    assert "Longest silence of a producer" in report


def test_a_cluster_elsewhere_is_worked_on_by_an_address(folder: Path) -> None:
    type_in(folder, "jbodlab up --no-http-api")
    by_address, *_ = blocks("how-to/elsewhere.md")
    place = str(folder / "data" / "b2" / "d2")
    exchanged = ((HERE, servers(folder)), ("/var/lib/kafka/d2", place))
    told = type_in(folder, instead(by_address, *exchanged))
    assert f"is in {place}" in told
    assert "0 lost, 0 twice" in told


def test_a_lab_elsewhere_is_broken_and_mended_by_its_api(folder: Path) -> None:
    type_in(folder, "jbodlab up --no-http-api; jbodlab topics create orders")
    _, by_lab, by_client, _ = blocks("how-to/elsewhere.md")
    port = free_port()
    serving = instead(by_lab, ("--host 0.0.0.0", f"--host 127.0.0.1 --port {port}"))
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    with served(folder, serving):
        token = (folder / "token").read_text().strip()
        address = f"http://127.0.0.1:{port}"
        asked = instead(by_client, ("http://kafka.example:8099", address), ("=...", f"={token}"))
        told = type_in(elsewhere, asked, BROWSER="true")
    assert "NOT_LEADER_OR_FOLLOWER" in told
    assert "data/b1/d1 is back" in told


@contextmanager
def served(folder: Path, block: str) -> Generator[None]:
    """Run a block to its end, which serves until it is told to end."""
    *before, last = block.strip().splitlines()
    type_in(folder, "\n".join(before))
    command = ["bash", "-c", f"exec {last}"]
    server = subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline()
        yield
    finally:
        server.terminate()
        server.communicate(timeout=DEADLINE_S)


def test_simulations_of_the_tour_run(tmp_path: Path) -> None:
    _, block = blocks("how-to/tour.md")
    # Every disk operation is a run of its own: tests/simulation/matrix has them.
    kept = "\n".join(line for line in block.splitlines() if "swap-matrix" not in line)
    told = type_in(tmp_path, instead(kept, ("1..1000", "1..3")))
    assert "kip-112-leader-log-dir-fails" in told


def test_the_test_of_the_page_for_ci_passes(pytester: pytest.Pytester) -> None:
    (text,) = blocks("how-to/ci.md", "python")
    pytester.makepyfile(test_disks=text)
    pytester.runpytest_subprocess("--strict-markers").assert_outcomes(passed=1)


def test_the_job_of_the_page_for_ci_breaks_disks_under_another_language(tmp_path: Path) -> None:
    *_, text = blocks("how-to/ci.md", "yaml")
    job = yaml.safe_load(text)["disks"]
    install, init, *before = job["before_script"]
    assert install.startswith("pip install ")
    file = tmp_path / "cluster.yaml"
    program = tmp_path / "my-client-tests"
    program.write_text("#!/bin/sh\njbodlab topics list --bootstrap-server $1\n")
    program.chmod(0o755)
    try:
        type_in(tmp_path, init)
        file.write_text(on_free_ports(file.read_text()))
        type_in(tmp_path, "\n".join(before))
        script = instead("\n".join(job["script"]), ("127.0.0.1:9092", servers(tmp_path)))
        assert "orders" in type_in(tmp_path, script)
        assert "stopped controller" in type_in(tmp_path, "\n".join(job["after_script"]))
    finally:
        Cluster(file).stop()
