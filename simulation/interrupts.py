"""Holds Ctrl-C back while a process is made: a fork, or an interpreter that starts."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager

from protocol.held_signals import signals_held


@contextmanager
def interrupts_held() -> Generator[None]:
    """Hold Ctrl-C back until the end of the block.

    What runs at a fork would swallow it. A new process inherits the mask: an interpreter that is
    interrupted while it starts prints a traceback. Another thread may take the signal all the same,
    so the handler of the main thread, in which Python calls it, only notes it.
    """
    with signals_held(signal.SIGINT):
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
