"""Signals that wait for the end of a block. Python calls handlers in the main thread alone.

In other threads nothing is changed.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def signals_held(*numbers: signal.Signals) -> Generator[None]:
    """Let signals wait for the end of the block; the first that came is raised again there.

    Whichever thread the system gives a signal to: the handler of the main thread notes it.
    """
    noted: list[int] = []
    with signals_handled(numbers, lambda number, _frame: noted.append(number)):
        yield
    if noted:
        signal.raise_signal(noted[0])


@contextmanager
def signals_handled(
    numbers: tuple[signal.Signals, ...], handler: Callable[[int, FrameType | None], object]
) -> Generator[None]:
    """Have signals handled so within the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, signal.SIG_DFL if old is None else old)
