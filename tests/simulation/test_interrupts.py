"""Ctrl-C waits until a process is made."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from simulation.interrupts import interrupts_held


def interrupted(reached: list[str]) -> None:
    with interrupts_held():
        os.kill(os.getpid(), signal.SIGINT)
        reached.append("the end of the block")


def test_an_interrupt_comes_when_the_process_is_made() -> None:
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(reached)
    assert reached == ["the end of the block"]


def test_an_interrupt_that_another_thread_takes_waits_as_well() -> None:
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    try:
        for _ in range(100):
            reached: list[str] = []
            with pytest.raises(KeyboardInterrupt):
                interrupted(reached)
            assert reached == ["the end of the block"]
    finally:
        ended.set()
        other.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_held_interrupts_back_before_does_so_still() -> None:
    with interrupts_held():
        with interrupts_held():
            pass
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
