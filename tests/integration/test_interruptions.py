"""Ctrl-C ends commands that run for long: one line, exit code 130, and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import write_lab_spec
from tests.integration.labs import DEADLINE_MS

NODE = "--config"
"""Stands in the command line of every broker and controller."""


def command_lines() -> dict[int, tuple[int, str]]:
    """Return session and command line of every living process by its pid."""
    found: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            state, _, _, session, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            line = (entry / "cmdline").read_text().replace("\0", " ")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            found[int(entry.name)] = (int(session), line)
    return found


def workers(pid: int) -> list[int]:
    """Return the other processes of a command, which leads its session."""
    return [each for each, (session, _) in command_lines().items() if session == pid != each]


def nodes(folder: Path) -> list[int]:
    """Return the brokers and controllers of a folder, which have sessions of their own."""
    return [
        pid for pid, (_, line) in command_lines().items() if NODE in line and str(folder) in line
    ]


def wait_until_gone(left: Callable[[], list[int]]) -> None:
    """Wait for the last processes, which see at once that their first one has ended."""
    deadline = time.monotonic() + DEADLINE_MS / 1000
    while found := left():
        assert time.monotonic() < deadline, found


class Command:
    """One command in a session of its own, as in a terminal."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jbodlab", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )

    def told(self) -> str:
        """Wait for a line of its story."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def until_workers(self, count: int) -> None:
        """Wait until it has so many processes beside its first one."""
        deadline = time.monotonic() + DEADLINE_MS / 1000
        while len(workers(self.process.pid)) < count:
            assert time.monotonic() < deadline, f"not {count} processes"
            assert self.process.poll() is None, self.process.communicate()

    def until_nodes(self, folder: Path, count: int) -> None:
        """Wait until so many brokers and controllers of a folder run."""
        deadline = time.monotonic() + DEADLINE_MS / 1000
        while len([pid for pid in nodes(folder) if pid != self.process.pid]) < count:
            assert time.monotonic() < deadline, f"not {count} nodes"
            assert self.process.poll() is None, self.process.communicate()

    def interrupt(
        self, *, whole_group: bool, number: signal.Signals = signal.SIGINT
    ) -> tuple[int, list[str]]:
        """Press Ctrl-C, or send it to the first process alone; return exit code and stderr."""
        (os.killpg if whole_group else os.kill)(self.process.pid, number)
        try:
            _, errors = self.process.communicate(timeout=DEADLINE_MS / 1000)
        finally:
            self.process.kill()
        # A progress bar may stand above it.
        return self.process.returncode, [line for line in errors.splitlines() if line.strip()]


INTERRUPTED = (ExitCode.INTERRUPTED, "jbodlab: interrupted")


@pytest.mark.sampled("whole_group", kept=1)
@pytest.mark.parametrize("whole_group", [True, False])
def test_many_seeds_end_with_their_processes(*, whole_group: bool) -> None:
    command = Command("simulate", "--seeds", "1..100000", "--jobs", "2", "--seconds", "60")
    command.until_workers(3)  # Two and multiprocessing's tracker of resources.
    code, said = command.interrupt(whole_group=whole_group)
    assert (code, said[-1]) == INTERRUPTED
    assert len(said) <= 2
    wait_until_gone(lambda: workers(command.process.pid))


@pytest.mark.sampled("whole_group", kept=1)
@pytest.mark.parametrize("whole_group", [True, False])
def test_a_swap_matrix_ends_with_the_copies_of_its_world(*, whole_group: bool) -> None:
    command = Command("swap-matrix", "move", "--jobs", "2")
    command.until_workers(1)
    code, said = command.interrupt(whole_group=whole_group)
    assert (code, said[-1]) == INTERRUPTED
    assert "Traceback" not in "".join(said)
    assert "ignored" not in "".join(said)
    wait_until_gone(lambda: workers(command.process.pid))


@pytest.mark.sampled_among("stories that are interrupted", kept=1)
def test_a_simulated_story_ends_in_the_middle() -> None:
    command = Command("simulate", "--seed", "1", "--seconds", "3600")
    assert command.told()
    assert command.interrupt(whole_group=True) == (INTERRUPTED[0], [INTERRUPTED[1]])


@pytest.mark.sampled_among("stories that are interrupted", kept=1)
def test_a_scenario_in_real_processes_ends_with_its_nodes(tmp_path: Path) -> None:
    command = Command(
        *("scenario", "run", "kip-112-leader-log-dir-fails", "--world", "real"),
        *("--folder", str(tmp_path)),
    )
    while "acknowledged" not in command.told():
        assert command.process.poll() is None
    assert len(nodes(tmp_path)) == 4
    assert command.interrupt(whole_group=True) == (INTERRUPTED[0], [INTERRUPTED[1]])
    wait_until_gone(lambda: nodes(tmp_path))


@pytest.mark.sampled("count", kept=1)
@pytest.mark.parametrize(
    ("count", "number"), [(1, signal.SIGINT), (4, signal.SIGINT), (4, signal.SIGTERM)]
)
def test_a_start_of_a_cluster_ends_with_its_nodes(
    tmp_path: Path, count: int, number: signal.Signals
) -> None:
    file = write_lab_spec(tmp_path)
    # A broker that cannot reach the controller: the start goes on until it is interrupted.
    cut = "{ at_ms: 0, mode: cut, from: broker-1, to: controller }"
    file.write_text(file.read_text().replace("faults: []", f"faults: [{cut}]"))
    command = Command("up", "--config", str(file))
    command.until_nodes(tmp_path, count)
    assert command.interrupt(whole_group=True, number=number) == (INTERRUPTED[0], [INTERRUPTED[1]])
    wait_until_gone(lambda: nodes(tmp_path))
