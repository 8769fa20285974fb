"""Ctrl-C and SIGTERM wait where something would be forgotten, and end alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jbodlab.errors import ExitCode
from jbodlab.processes.interrupts import interrupts_deferred, sigterm_interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_the_end_of_the_block(number: signal.Signals) -> None:
    noted: list[str] = []

    def start() -> None:
        with sigterm_interrupts():
            with interrupts_deferred():
                signal.raise_signal(number)
                noted.append("started")
            noted.append("never")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert noted == ["started"]


def test_handlers_are_as_before_afterwards() -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with sigterm_interrupts(), interrupts_deferred():
        pass
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


def test_in_another_thread_nothing_is_changed() -> None:
    done: list[bool] = []

    def work() -> None:
        with sigterm_interrupts(), interrupts_deferred():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


INTERRUPTED_AT_A_CLASS = """
import click
from jbodlab.cli import main

@click.command()
def load():
    exec("raise KeyboardInterrupt")  # So does a dataclass that Ctrl-C meets while it is made.

main.add_command(load)
main(["load"])
"""


def test_a_command_that_is_interrupted_while_it_loads_ends_with_its_exit_code(tmp_path: Path):
    (tmp_path / "interrupted_at_a_class.py").write_text(INTERRUPTED_AT_A_CLASS)
    ended = subprocess.run(
        [sys.executable, "-m", "interrupted_at_a_class"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (ExitCode.INTERRUPTED, "jbodlab: interrupted\n")
