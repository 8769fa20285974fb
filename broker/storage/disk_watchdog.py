"""DiskWatchdog tells when a disk stands still. It judges the disk, and never the loop that asks.

It knows no jobs. Kafka has no such watchdog: an operation that never returns keeps its thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from protocol.ports import Disk

_PATIENCE: Final = 10
"""Unbounded work may stand still for as many deadlines."""
_WATCHES_PER_DEADLINE: Final = 4


class DiskWatchdog:
    """Watches one disk while work is under way: it must begin an operation within the deadline."""

    def __init__(
        self, disk: Disk, deadline_ms: int, on_hung: Callable[[TimeoutError], None]
    ) -> None:
        """``on_hung`` is called on the running loop, with what to tell as the cause."""
        self._disk = disk
        self._deadline_ms = deadline_ms
        self._period_s = deadline_ms / 1000 / _WATCHES_PER_DEADLINE
        self._on_hung = on_hung
        self._loop = asyncio.get_running_loop()
        self._is_working = False
        self._is_bounded = True
        self._moved_s = 0.0
        self._moved_count = 0
        self._due_s = 0.0
        self._watch: asyncio.Handle | None = None

    def work_begins(self, *, bounded: bool) -> None:
        """Watch from now on; with ``bounded`` false for ten deadlines instead of one."""
        self._is_working = True
        self._is_bounded = bounded
        self._moved_s = self._loop.time()
        self._moved_count = self._disk.operations_count
        if self._watch is None:
            self._look_later()

    def work_ended(self) -> None:
        """Expect nothing of the disk."""
        self._is_working = False

    def stop(self) -> None:
        """Call nobody any more."""
        self._is_working = False
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def standing_ms(self) -> int:
        """Return for how long the disk has begun no operation while work is under way."""
        if not self._is_working or self._disk.operations_count != self._moved_count:
            return 0
        return int((self._loop.time() - self._moved_s) * 1000)

    def _look_later(self) -> None:
        self._due_s = self._loop.time() + self._period_s
        self._watch = self._loop.call_later(self._period_s, self._look)

    def _look(self) -> None:
        """Judge a disk that is overdue, once the loop has heard what was there before.

        A look that is late by more than its period tells of a loop, or of a whole process, that
        stood still: that time is not the disk's. Timers come before answers that arrived
        meanwhile, so that these are heard first.
        """
        now_s = self._loop.time()
        late_s = now_s - self._due_s
        if late_s > self._period_s:
            self._moved_s = min(now_s, self._moved_s + late_s)
        if self._is_overdue():
            self._watch = self._loop.call_soon(self._judge)
        else:
            self._look_on()

    def _judge(self) -> None:
        if self._is_overdue():
            self._watch = None
            self._on_hung(TimeoutError(f"no answer from the disk for {self._bound_ms()} ms"))
        else:
            self._look_on()

    def _look_on(self) -> None:
        self._watch = None
        if self._is_working:
            self._look_later()

    def _is_overdue(self) -> bool:
        now_s, count = self._loop.time(), self._disk.operations_count
        if count != self._moved_count:
            self._moved_s, self._moved_count = now_s, count
        return self._is_working and now_s - self._moved_s >= self._bound_ms() / 1000

    def _bound_ms(self) -> int:
        return self._deadline_ms * (1 if self._is_bounded else _PATIENCE)
