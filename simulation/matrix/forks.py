"""Copies of the running process, one per moment: each goes another way and tells how it ended.

A world of virtual time has no threads and no sockets, so that a fork is a copy of all of it. What
the copies do is not known here.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, NamedTuple, TypeVar

from simulation.interrupts import interrupts_held

Label = TypeVar("Label")
_END: Final = b"\0"
_TOLD_BYTES_MAX: Final = 30_000
"""Two of these fit into a pipe that nobody reads yet."""


class _Copy(NamedTuple, Generic[Label]):
    label: Label
    pipe: int


class Forks(Generic[Label]):
    """The copies of this process, at most ``jobs`` at a time."""

    def __init__(self, jobs: int, on_told: Callable[[Label, list[str]], None]) -> None:
        """``on_told`` gets what each copy and its branches told; nothing of one that died."""
        self.told_by: int | None = None
        """In a copy: the pipe to tell through."""
        self._jobs = jobs
        self._on_told = on_told
        self._copies: dict[int, _Copy[Label]] = {}

    def fork(self, label: Label) -> bool:
        """Make a copy when there is room; True in the copy, which has to end with ``tell``."""
        assert self.told_by is None, "a copy makes no copies"
        while len(self._copies) >= self._jobs:
            self._wait()
        reader, writer = os.pipe()
        gc.freeze()
        with interrupts_held():
            pid = os.fork()
            # A group of its own: a copy and its branches end together, by ``abandon`` alone.
            os.setpgid(pid, pid)
            if pid == 0:
                gc.disable()
                os.close(reader)
                self.told_by = writer
                return True
            os.close(writer)
            self._copies[pid] = _Copy(label, reader)
        return False

    def branch(self) -> bool:
        """In a copy: make one of it, wait for its end, go on; True in the new one, as ``fork``."""
        assert self.told_by is not None, "only a copy has branches"
        pid = os.fork()
        if pid == 0:
            return True
        os.waitpid(pid, 0)
        return False

    def tell(self, text: str) -> None:
        """End this copy."""
        assert self.told_by is not None
        os.write(self.told_by, text.encode()[:_TOLD_BYTES_MAX] + _END)
        os._exit(0)

    def finish(self) -> None:
        """Wait for all copies."""
        while self._copies:
            self._wait()
        gc.unfreeze()

    def abandon(self) -> None:
        """End all copies at once, whatever they are at."""
        for pid, copy in self._copies.items():
            with suppress(ProcessLookupError, ChildProcessError):  # It was just waited for.
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            os.close(copy.pipe)
        self._copies.clear()
        gc.unfreeze()

    def _wait(self) -> None:
        """Wait for the oldest copy."""
        pid, copy = next(iter(self._copies.items()))
        with os.fdopen(copy.pipe, "rb", closefd=False) as pipe:
            told = pipe.read().decode().split(_END.decode())[:-1]
        os.waitpid(pid, 0)
        del self._copies[pid]
        os.close(copy.pipe)
        self._on_told(copy.label, told)
