"""Signals wait for the end of a block, in the main thread."""

from __future__ import annotations

import signal

import pytest

from protocol.held_signals import signals_handled, signals_held


def test_signals_that_come_in_a_block_are_raised_once_at_its_end() -> None:
    done: list[str] = []
    came: list[int] = []
    with signals_handled((signal.SIGUSR1,), lambda number, _frame: came.append(number)):
        with signals_held(signal.SIGUSR1):
            signal.raise_signal(signal.SIGUSR1)
            signal.raise_signal(signal.SIGUSR1)
            done.append(f"after {len(came)}")
        assert (done, came) == (["after 0"], [signal.SIGUSR1])


def test_an_exception_goes_on_and_the_handler_is_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="of the block"), signals_held(signal.SIGINT):
        raise ValueError("of the block")
    assert signal.getsignal(signal.SIGINT) == before
