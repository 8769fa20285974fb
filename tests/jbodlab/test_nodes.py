"""Nodes tell what keeps them from serving, and their ends are told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jbodlab.control import ControlClient
from jbodlab.free_ports import free_ports
from jbodlab.lab_spec import write_lab_spec
from jbodlab.nodes import broker_troubles, controller_answers, death_line, stop_together
from jbodlab.process import UNKNOWN_CODE, Process
from protocol.spec import load_cluster_spec
from tests.deadlines import DEADLINE_MS


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
        (ControlClient(2, *free_ports(1)), ["broker 2 does not answer on its control port"]),
    ],
)
def test_a_broker_says_what_keeps_it_from_serving(
    client: ControlClient, troubles: list[str]
) -> None:
    assert broker_troubles(client) == troubles


def test_a_controller_that_is_not_there_does_not_answer(tmp_path: Path) -> None:
    assert not controller_answers(load_cluster_spec(write_lab_spec(tmp_path)).controller)


def test_processes_that_do_not_listen_share_one_deadline(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); "
    command = [sys.executable, "-c", code + "time.sleep(600)"]
    processes = [Process.start(name, command, tmp_path / f"{name}.log") for name in ("a", "b")]
    for process in processes:
        while process.last_line() != "up":
            assert process.wait(5) is None
    stop_together(processes, 50)
    assert [process.exit_code for process in processes] == [-9, -9]
