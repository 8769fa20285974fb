"""What brokers and controller log, with the world's time and the node that said it.

Nothing of it is part of the trace. It chooses no words: those are the processes' own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager

from simulation.world.process import CURRENT


class _WorldHandler(logging.Handler):
    """Writes one line per record."""

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        process = CURRENT.get()
        node = "world" if process is None else process.name
        head = f"{_now_s():12.6f} {node} {record.levelname}"
        self._write(f"{head} {record.name}: {self.format(record)}")


@contextmanager
def world_log(write: Callable[[str], None], level: int = logging.INFO) -> Generator[None]:
    """Hand every line that is logged meanwhile to ``write``, and to nobody else.

    One world of a process at a time. With a ``write`` that drops lines a run is silent.
    """
    root, handler = logging.getLogger(), _WorldHandler(write)
    before, level_before = root.handlers[:], root.level
    root.handlers[:] = [handler]
    root.setLevel(level)
    try:
        yield
    finally:
        root.handlers[:] = before
        root.setLevel(level_before)


def _now_s() -> float:
    """Return the time of the world; 0 before it begins and after its end."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return 0.0
