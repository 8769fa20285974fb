"""The supervisor without Kafka: names, ports, notes, and how an end is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from jbodlab.processes.process import Process
from jbodlab.processes.run_state import ProcessNote, write_notes
from protocol.faults.model import broker_node
from tests.deadlines import DEADLINE_MS


def test_a_cluster_knows_its_processes_and_addresses(tmp_path: Path) -> None:
    cluster = Cluster(write_lab_spec(tmp_path, LabShape(brokers=2)))
    ports = [broker.port for broker in cluster.spec.brokers]
    assert cluster.names == ["controller", "broker-1", "broker-2"]
    assert cluster.bootstrap_servers == [f"127.0.0.1:{port}" for port in ports]
    assert not cluster.is_running("broker-1")


def test_a_bad_cluster_file_is_a_lab_error(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("cluster_id: x")
    with pytest.raises(LabError, match=r"brokers: is missing") as caught:
        Cluster(tmp_path / "c.yaml")
    assert caught.value.exit_code is ExitCode.BAD_CONFIG


def test_log_dirs_are_named_from_the_folder_of_the_cluster_file(tmp_path: Path) -> None:
    cluster = Cluster(write_lab_spec(tmp_path, LabShape(brokers=2, log_dirs=1)))
    full_path = f"{tmp_path}/data/b2/d1"
    for name in ("data/b2/d1", "data/b2/d1/", full_path):
        broker, found = cluster.log_dir(name)
        assert (broker.id, found) == (2, full_path)
    assert cluster.short(full_path) == "data/b2/d1"
    assert cluster.short("/elsewhere/d1") == "/elsewhere/d1"
    with pytest.raises(LabError, match=r"d9 is no log dir of .*; there are data/b1/d1, data/b2/d1"):
        cluster.log_dir("d9")


def test_the_file_and_its_log_dirs_are_found_on_any_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_lab_spec(tmp_path / "lab", LabShape(brokers=2, log_dirs=1))
    (tmp_path / "link").symlink_to(file.parent)
    below = file.parent / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    for way in (Path("../cluster.yaml"), tmp_path / "link" / "cluster.yaml"):
        cluster = Cluster(way)
        assert cluster.config_path == file
        for name in ("data/b2/d1", "../data/b2/d1", f"{tmp_path}/link/data/b2/d1"):
            assert cluster.log_dir(name)[1] == f"{file.parent}/data/b2/d1"


def test_processes_of_an_earlier_run_are_found_and_stopped(tmp_path: Path) -> None:
    file = write_lab_spec(tmp_path)
    run_dir = Cluster(file).run_dir
    process = Process.start(
        "broker-1", [sys.executable, "-c", "import signal; signal.pause()"], run_dir / "b.log"
    )
    note = ProcessNote(pid=process.pid, started_at=process.started_at, log_file="b.log")
    write_notes(run_dir, {"broker-1": note})
    cluster = Cluster(file)
    assert cluster.is_running("broker-1")
    cluster.stop()
    assert process.wait(DEADLINE_MS) is not None
    assert not Cluster(file).is_running("broker-1")
    assert not (run_dir / "state.json").exists()


def test_waiting_on_nothing_says_that_nothing_runs(tmp_path: Path) -> None:
    cluster = Cluster(write_lab_spec(tmp_path))
    with pytest.raises(LabError, match="nothing runs") as caught:
        cluster.wait_until(lambda _: False, "never")
    assert caught.value.exit_code is ExitCode.NOT_RUNNING


def test_a_process_that_ends_while_waited_for_is_told(tmp_path: Path) -> None:
    cluster = Cluster(write_lab_spec(tmp_path))
    cluster.processes["broker-1"] = Process.start(
        "broker-1",
        [sys.executable, "-c", "import sys; print('port taken'); input() if 0 else sys.exit(3)"],
        tmp_path / "b.log",
    )
    with pytest.raises(LabError) as caught:
        cluster.wait_until(lambda _: False, "never", DEADLINE_MS)
    assert caught.value.exit_code in (ExitCode.PROCESS_DIED, ExitCode.NOT_RUNNING)


def test_brokers_are_named_by_id() -> None:
    assert broker_node(7) == "broker-7"
