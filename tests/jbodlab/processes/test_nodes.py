"""Nodes tell what keeps them from serving, and their ends are told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jbodlab.asking.control import ControlClient
from jbodlab.processes.free_ports import free_port
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from jbodlab.processes.nodes import (
    all_serve,
    broker_troubles,
    cluster_troubles,
    controller_answers,
    death_line,
    listens,
    stop_together,
)
from jbodlab.processes.process import UNKNOWN_CODE, Process
from protocol.cluster_file.spec import load_cluster_spec
from protocol.faults.model import CONTROLLER_NODE
from tests.deadlines import DEADLINE_MS
from tests.jbodlab.fake_node import fake_node


def test_the_end_of_a_broker_is_told_with_code_meaning_words_and_log(tmp_path: Path) -> None:
    code = "print('port 1 is taken'); raise SystemExit(3)"
    process = Process.start("broker-1", [sys.executable, "-c", code], tmp_path / "b.log")
    process.wait(DEADLINE_MS)
    assert death_line(process) == (
        f"broker-1 ended with exit code 3, port in use: port 1 is taken (log: {tmp_path}/b.log)"
    )


def test_the_end_of_the_controller_is_told_with_its_own_meaning(tmp_path: Path) -> None:
    code = "print('line 7 is damaged'); raise SystemExit(5)"
    process = Process.start("controller", [sys.executable, "-c", code], tmp_path / "c.log")
    process.wait(DEADLINE_MS)
    assert death_line(process).startswith("controller ended with exit code 5, journal corrupt: ")


def test_the_end_of_a_process_of_an_earlier_run_has_no_code(tmp_path: Path) -> None:
    process = Process.start("broker-1", [sys.executable, "-c", "print('x')"], tmp_path / "b.log")
    process.wait(DEADLINE_MS)
    process.exit_code = UNKNOWN_CODE
    assert death_line(process) == f"broker-1 ended: x (log: {tmp_path}/b.log)"


CRASHES = (
    "from protocol.stack_dumps import tell_stacks; tell_stacks(); "
    "import os; os.kill(os.getpid(), 11)"
)
SAYS_NOTHING = (
    "from protocol.stack_dumps import tell_stacks; tell_stacks(); "
    "print('up', flush=True); [0 for _ in iter(int, 1)]"
)


def test_a_crash_is_told_by_its_signal(tmp_path: Path) -> None:
    process = Process.start("broker-1", [sys.executable, "-c", CRASHES], tmp_path / "b.log")
    process.wait(DEADLINE_MS)
    line = "ended by SIGSEGV: Fatal Python error: Segmentation fault"
    assert death_line(process) == f"broker-1 {line} (log: {tmp_path}/b.log)"
    process.exit_code = UNKNOWN_CODE
    assert death_line(process) == f"broker-1 {line} (log: {tmp_path}/b.log)"


def test_nodes_that_do_not_answer_are_asked_for_their_stacks(tmp_path: Path) -> None:
    spec = load_cluster_spec(write_lab_spec(tmp_path, LabShape(brokers=3)))
    log_files = {
        name: tmp_path / f"{name}.log"
        for name in ("controller", "broker-1", "broker-2", "broker-3")
    }
    codes = {"controller": SAYS_NOTHING, "broker-1": SAYS_NOTHING, "broker-2": CRASHES}
    processes = {
        name: Process.start(name, [sys.executable, "-c", code], log_files[name])
        for name, code in codes.items()
    }
    try:
        processes["broker-2"].wait(DEADLINE_MS)
        for name in ("controller", "broker-1"):
            while processes[name].last_line() != "up":
                assert processes[name].wait(5) is None
        assert cluster_troubles(spec, log_files, processes) == [
            "controller does not answer",
            f"what the threads of controller do is in {tmp_path}/controller.log",
            "broker 1 does not answer on its control port",
            f"what the threads of broker-1 do is in {tmp_path}/broker-1.log",
            "broker-2 does not run, it ended by SIGSEGV",
            "broker-3 does not run",
        ]
        assert "<listcomp>" in log_files["broker-1"].read_text()
        processes["broker-1"].pause()
        assert "broker-1 stands still (SIGSTOP)" in cluster_troubles(spec, log_files, processes)
        assert not all_serve(spec)
    finally:
        for process in processes.values():
            process.kill()


class Told(ControlClient):
    """A broker that says this of itself."""

    def __init__(self, **told: object) -> None:
        super().__init__(2, 1)
        self.told = {
            "state": "running",
            "is_controller_connected": True,
            "is_fenced": False,
            "is_open_to_clients": True,
            **told,
        }

    def status(self) -> dict[str, object]:
        return self.told


@pytest.mark.parametrize(
    ("client", "troubles"),
    [
        (Told(), []),
        (Told(state="shutting_down"), ["broker 2 is shutting down"]),
        (
            Told(is_controller_connected=False),
            ["broker 2 has no connection to the controller"],
        ),
        (Told(is_fenced=True), ["broker 2 is fenced by the controller"]),
        (
            Told(is_open_to_clients=False),
            ["broker 2 was told nothing of the cluster by the controller yet"],
        ),
        (ControlClient(2, free_port()), ["broker 2 does not answer on its control port"]),
    ],
)
def test_a_broker_says_what_keeps_it_from_serving(
    client: ControlClient, troubles: list[str]
) -> None:
    assert broker_troubles(client) == troubles


def test_a_controller_that_is_not_there_does_not_answer(tmp_path: Path) -> None:
    assert not controller_answers(load_cluster_spec(write_lab_spec(tmp_path)))


def test_processes_that_do_not_listen_share_one_deadline(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); "
    command = [sys.executable, "-c", code + "time.sleep(600)"]
    processes = [Process.start(name, command, tmp_path / f"{name}.log") for name in ("a", "b")]
    for process in processes:
        while process.last_line() != "up":
            assert process.wait(5) is None
    stop_together(processes, 50)
    assert [process.exit_code for process in processes] == [-9, -9]


class Counting(Process):
    """Knows how often it was asked to end."""

    asked = 0

    def terminate(self) -> None:
        self.asked += 1
        super().terminate()


def test_a_node_is_asked_to_end_once_since_an_ending_interpreter_dies_of_a_second_time(
    tmp_path: Path,
) -> None:
    code = "import signal; signal.pause()"
    nodes = [
        Counting.start(name, [sys.executable, "-c", code], tmp_path / f"{name}.log")
        for name in ("controller", "broker-1")
    ]
    stop_together(nodes, DEADLINE_MS)
    assert [node.asked for node in nodes] == [1, 1]
    assert not any(node.is_running for node in nodes)


def test_a_node_that_nobody_here_started_listens_all_the_same(tmp_path: Path) -> None:
    spec = load_cluster_spec(write_lab_spec(tmp_path))
    assert not listens(spec, "broker-1")
    with fake_node({}, spec.broker(1).advertised_port), fake_node({}, spec.controller.port):
        assert listens(spec, "broker-1")
        assert listens(spec, CONTROLLER_NODE)
    assert not listens(spec, CONTROLLER_NODE)
