"""Holds Ctrl-C back while a process is made: a fork, or an interpreter that starts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Generator[None]:
    """Hold Ctrl-C back until the end of the block.

    What runs at a fork would swallow it. A new process inherits the mask: an interpreter that is
    interrupted while it starts prints a traceback. Another thread may take the signal all the same,
    so the handler of the main thread, in which Python calls it, only notes it.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    noted: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) or signal.SIG_DFL
    if is_main:
        signal.signal(signal.SIGINT, lambda number, _frame: noted.append(number))
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if noted:
            signal.raise_signal(signal.SIGINT)
