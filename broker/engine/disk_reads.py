"""Reads of fetches that memory cannot answer: begun together, waited for together, not for ever.

A disk that hangs holds up no other: after a while its reads are left to themselves, and it gets no
more of them until they end. Who may read what is decided elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from broker.core.log_dirs import LogDirFailed
from broker.engine.replica import Replica
from broker.storage.log_dir import LogDir
from broker.storage.log_reader import LogRead

DISK_WAIT_S: Final = 0.5
"""How long a fetch waits for the slowest of its disks; what others gave is answered then."""


class ReadSpan(NamedTuple):
    """What to read of a log."""

    offset: int
    up_to: int
    """No batch that reaches beyond this offset."""
    max_bytes: int
    min_one: bool
    """The first batch may exceed ``max_bytes``."""


class DiskRead(NamedTuple):
    """One read under way."""

    part_index: int
    """Of the partition in its fetch."""
    log_dir: LogDir
    future: asyncio.Future[LogRead]
    reserved_bytes: int
    """Taken off what the fetch may still give until the read has ended."""


class DiskReads:
    """The reads of all fetches of a broker."""

    def __init__(self) -> None:
        self._stalled: dict[str, int] = {}
        """Per log dir: reads nobody waits for any more and that have not ended."""

    def begin(self, part_index: int, replica: Replica, span: ReadSpan) -> DiskRead | None:
        """Begin a read; None for a log dir that is stalled or has just failed."""
        if self._stalled.get(replica.log_dir):
            return None
        job = partial(
            replica.log.read, span.offset, span.max_bytes, min_one=span.min_one, up_to=span.up_to
        )
        try:
            future = replica.dir.submit("read", job)
        except LogDirFailed:
            return None  # The replica is being ended; the fetch is woken by that.
        return DiskRead(part_index, replica.dir, future, span.max_bytes)

    async def wait(self, reads: Sequence[DiskRead]) -> None:
        """Wait until all have ended or ``DISK_WAIT_S`` have passed."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        left = len(reads)

        def count(_future: asyncio.Future[LogRead]) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                _finish(ended)

        for read in reads:
            read.future.add_done_callback(count)
        timer = loop.call_later(DISK_WAIT_S, _finish, ended)
        try:
            await ended
        finally:
            timer.cancel()
        for read in reads:
            if not read.future.done():
                self._give_up(read)

    def _give_up(self, read: DiskRead) -> None:
        path = read.log_dir.path
        self._stalled[path] = self._stalled.get(path, 0) + 1

        def ended(_future: asyncio.Future[LogRead]) -> None:
            self._stalled[path] -= 1

        read.future.add_done_callback(ended)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
