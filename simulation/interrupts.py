"""Holds Ctrl-C back while a process is made: a fork, or an interpreter that starts."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Generator[None]:
    """Hold Ctrl-C back until the end of the block.

    What runs at a fork would swallow it. A new process inherits the mask: an interpreter that is
    interrupted while it starts prints a traceback.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
