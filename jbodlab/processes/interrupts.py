"""Ctrl-C and SIGTERM while processes are started: one way to end, and no process forgotten.

Signals reach the main thread only; in others these do nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_Handler = Callable[[int, FrameType | None], object]


@contextmanager
def sigterm_interrupts() -> Generator[None]:
    """Let SIGTERM raise KeyboardInterrupt, as Ctrl-C does, so that what was started is ended."""
    with _handled((signal.SIGTERM,), signal.default_int_handler):
        yield


@contextmanager
def interrupts_deferred() -> Generator[None]:
    """Let Ctrl-C and SIGTERM wait for the end of the block: what it makes is noted down by then."""
    seen: list[int] = []
    with _handled(_SIGNALS, lambda number, _frame: seen.append(number)):
        yield
    if seen:
        signal.raise_signal(seen[0])


@contextmanager
def _handled(numbers: tuple[signal.Signals, ...], handler: _Handler) -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
