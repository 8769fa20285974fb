"""Ctrl-C and SIGTERM wait where something would be forgotten, and end alike."""

from __future__ import annotations

import signal
import threading

import pytest

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
