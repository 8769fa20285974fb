"""Ctrl-C waits until a process is made."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from simulation.interrupts import interrupts_held

INTERRUPTED = """
import os, signal, sys, threading
from simulation.interrupts import interrupts_held

reader, writer = os.pipe()
os.set_blocking(writer, False)
signal.set_wakeup_fd(writer)
if sys.argv[1] == "another":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
try:
    with interrupts_held():
        os.kill(os.getpid(), signal.SIGINT)
        if sys.argv[1] == "another":
            os.read(reader, 1)
        print("the end of the block")
except KeyboardInterrupt:
    print("the interrupt")
"""
"""In a process of its own: which thread of the tests' takes a signal, and when, nobody knows."""


@pytest.mark.parametrize("taken_by", ["none", "another"])
def test_an_interrupt_comes_when_the_process_is_made(taken_by: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, taken_by]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == ["the end of the block", "the interrupt"]


def test_who_held_interrupts_back_before_does_so_still() -> None:
    with interrupts_held():
        with interrupts_held():
            pass
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
