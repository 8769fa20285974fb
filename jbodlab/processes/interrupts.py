"""Ctrl-C and SIGTERM while processes are started: one way to end, and no process forgotten.

Signals reach the main thread only; in others these do nothing.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager

from protocol.held_signals import signals_handled, signals_held


@contextmanager
def sigterm_interrupts() -> Generator[None]:
    """Let SIGTERM raise KeyboardInterrupt, as Ctrl-C does, so that what was started is ended."""
    with signals_handled((signal.SIGTERM,), signal.default_int_handler):
        yield


@contextmanager
def interrupts_deferred() -> Generator[None]:
    """Let Ctrl-C and SIGTERM wait for the end of the block: what it makes is noted down by then.

    They are not masked: processes that are started in it would inherit that.
    """
    with signals_held(signal.SIGINT, signal.SIGTERM):
        yield


def end_by_exit_code() -> None:
    """Let this process end with the exit code that it gives, whatever interrupt it has handled.

    CPython notes a KeyboardInterrupt that passes through ``exec`` of a text, as it does when Ctrl-C
    meets the making of a dataclass; under ``python -m`` it then ends by SIGINT, whoever handled the
    exception. The next ``exec`` clears the note.
    """
    exec("")
