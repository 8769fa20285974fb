"""Nodes that a launcher forks: what they have of their own, and how their end is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from broker.exit_codes import ExitCode as BrokerExitCode
from jbodlab.errors import LabError
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from jbodlab.processes.launching import Launched, Launcher, launcher
from jbodlab.processes.node_command import node_command
from tests.deadlines import DEADLINE_MS

DEADLINE_S = DEADLINE_MS / 1000


@pytest.fixture(scope="module")
def forking() -> Generator[Launcher]:
    """One for all: it takes half a second of the processor to load."""
    one = Launcher()
    yield one
    one.close()


@pytest.fixture
def waiting_broker(forking: Launcher, tmp_path: Path) -> Generator[Launched]:
    """A broker that waits for its controller, which is not there."""
    config = write_lab_spec(tmp_path, LabShape(brokers=1, log_dirs=1))
    log = tmp_path / "broker.log"
    broker = forking.launch(node_command("broker-1", config, "run-1"), log)
    deadline = time.monotonic() + DEADLINE_S
    while "listening" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
    yield broker
    with suppress(ProcessLookupError):
        os.kill(broker.pid, signal.SIGKILL)
    broker.wait(DEADLINE_S)


def test_all_threads_that_wait_for_one_process_are_told_how_it_ended(
    forking: Launcher, waiting_broker: Launched
) -> None:
    with ThreadPoolExecutor(8) as threads:
        codes = [threads.submit(waiting_broker.wait, DEADLINE_S) for _ in range(8)]
        os.kill(waiting_broker.pid, signal.SIGKILL)
    assert [code.result() for code in codes] == [-signal.SIGKILL] * 8
    assert forking.is_running


def sockets(pid: int) -> set[str]:
    folder = Path(f"/proc/{pid}/fd")
    return {where for each in folder.iterdir() if "socket" in (where := os.readlink(each))}


def test_a_forked_broker_looks_as_if_it_was_started_by_itself(
    waiting_broker: Launched, tmp_path: Path
) -> None:
    process = psutil.Process(waiting_broker.pid)
    assert process.cmdline() == node_command("broker-1", tmp_path / "cluster.yaml", "run-1")
    assert process.name() == Path(sys.executable).name
    assert os.getsid(waiting_broker.pid) == os.getpgid(waiting_broker.pid) == waiting_broker.pid
    assert process.cwd() == str(Path.cwd())
    streams = [os.readlink(f"/proc/{waiting_broker.pid}/fd/{number}") for number in range(3)]
    assert streams == [os.devnull, *[str(tmp_path / "broker.log")] * 2]


def test_a_forked_broker_has_no_connection_of_the_launcher(waiting_broker: Launched) -> None:
    parent = psutil.Process(waiting_broker.pid).ppid()
    assert sockets(parent)
    assert not sockets(parent) & sockets(waiting_broker.pid)


def test_the_launcher_forks_from_one_thread(waiting_broker: Launched) -> None:
    assert psutil.Process(waiting_broker.pid).parent().num_threads() == 1  # pyright: ignore


def test_one_that_lives_is_not_waited_for_longer_than_asked(waiting_broker: Launched) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        waiting_broker.wait(0)


def test_the_end_of_a_forked_node_is_told_with_its_code(forking: Launcher, tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    missing = tmp_path / "missing.yaml"
    broker = forking.launch(node_command("broker-1", missing, "run-1"), log)
    assert broker.wait(DEADLINE_S) == broker.wait(0) == BrokerExitCode.BAD_CONFIG
    assert str(missing) in log.read_text()
    assert "Traceback" not in log.read_text()


def test_a_forked_node_sees_the_environment_of_its_order(
    forking: Launcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[int] = []
    for columns in (40, 400):
        monkeypatch.setenv("COLUMNS", str(columns))
        log = tmp_path / f"{columns}.log"
        command = node_command("controller", tmp_path, "run-1")
        assert forking.launch([*command, "--help"], log).wait(DEADLINE_S) == 0
        lines.append(len(log.read_text().splitlines()))
    assert lines[0] > lines[1]


def test_nodes_outlive_their_launcher_which_alone_knew_their_codes(tmp_path: Path) -> None:
    config = write_lab_spec(tmp_path, LabShape(brokers=1, log_dirs=1))
    short_lived = Launcher()
    node = short_lived.launch(node_command("controller", config, "run-1"), tmp_path / "c.log")
    short_lived.close()
    with pytest.raises(subprocess.TimeoutExpired):
        node.wait(0)
    os.kill(node.pid, signal.SIGKILL)
    with pytest.raises(ChildProcessError, match=r"launcher of processes, pid .*, has ended"):
        node.wait(DEADLINE_S)
    assert not short_lived.is_running
    with pytest.raises(LabError, match="has ended"):
        short_lived.launch(node_command("controller", config, "run-1"), tmp_path / "c.log")


def test_all_clusters_of_a_process_have_one_launcher_until_its_interpreter_would_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = launcher()
    assert launcher() is first
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    other = launcher()
    assert other is not first
    other.close()
    assert launcher() is not other
    launcher().close()
