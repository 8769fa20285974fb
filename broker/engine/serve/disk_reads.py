"""Reads of fetches that memory cannot answer: begun together, waited for together, not for ever.

A disk that hangs holds up no other: after a while its reads are left to themselves, and it gets no
more of them until they end. What they give then is kept for whoever asks next. Who may read what is
decided elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from broker.core.log_dirs import LogDirFailed
from broker.engine.hosted_log import LogToken
from broker.engine.replica import Replica
from broker.storage.indexes import aborted_entry
from broker.storage.log_reader import LogRead

DISK_WAIT_S: Final = 0.5
"""How long a fetch waits for the slowest of its disks; what others gave is answered then."""
SLOW_DISK_WAIT_S: Final = 0.02
"""How long it waits for a disk whose last read took longer than that."""
LATE_READS_MAX: Final = 16
"""Late reads kept at most, all log dirs together; the oldest goes first."""
LATE_READ_KEPT_S: Final = 10
"""How long one is kept for who asks next."""


class ReadSpan(NamedTuple):
    """What to read of a log."""

    offset: int
    up_to: int
    """No batch that reaches beyond this offset."""
    max_bytes: int
    min_one: bool
    """The first batch may exceed ``max_bytes``."""
    with_aborted: bool = False
    """Tell the aborted transactions that touch what was read, too."""


class DiskRead(NamedTuple):
    """One read under way."""

    part_index: int
    """Of the partition in its fetch."""
    replica: Replica
    span: ReadSpan
    path: str
    """Of the log dir when it began."""
    token: LogToken
    """Of the log when it began."""
    future: asyncio.Future[LogRead]

    @property
    def reserved_bytes(self) -> int:
        """Taken off what the fetch may still give until the read has ended."""
        return self.span.max_bytes

    def serves(self, span: ReadSpan) -> bool:
        """Tell whether what it read may answer ``span`` of the same replica and offset."""
        if not self.replica.log.is_still(self.token) or self.span.up_to > span.up_to:
            return False
        if span.with_aborted and not self.span.with_aborted:
            return False
        return span.min_one or self.future.result().size_bytes <= span.max_bytes


class DiskReads:
    """The reads of all fetches of a broker."""

    def __init__(self) -> None:
        self._stalled: dict[str, int] = {}
        """Per log dir: reads nobody waits for any more and that have not ended."""
        self._slow: dict[str, None] = {}
        """Log dirs that were waited for in vain and have given nothing in time since."""
        self._late: dict[tuple[Replica, int], DiskRead] = {}
        """By replica and offset: what came when nobody waited any more."""

    def begin(self, part_index: int, replica: Replica, span: ReadSpan) -> DiskRead | None:
        """Begin a read; None for a log dir that is stalled or has just failed."""
        late = self._late.pop((replica, span.offset), None)
        if late is not None and late.serves(span):
            return late._replace(part_index=part_index, span=span)
        path = replica.log_dir
        if self._stalled.get(path):
            return None
        job = partial(
            replica.log.files.read,
            span.offset,
            span.max_bytes,
            min_one=span.min_one,
            up_to=span.up_to,
            with_aborted=span.with_aborted,
        )
        try:
            future = replica.log.dir.queue.submit("read", job)
        except LogDirFailed:
            return None  # The replica is being ended; the fetch is woken by that.
        return DiskRead(part_index, replica, span, path, replica.log.token, future)

    async def wait(self, reads: Sequence[DiskRead]) -> None:
        """Wait until all have ended, but for no disk longer than it deserves."""
        begun = [read for read in reads if not read.future.done()]
        quick = [read for read in begun if read.path not in self._slow]
        slow = [read for read in begun if read.path in self._slow]
        if quick:
            await _all_ended(quick, DISK_WAIT_S)
        if slow:
            await _all_ended(slow, SLOW_DISK_WAIT_S)
        for read in begun:
            if read.future.done():
                self._slow.pop(read.path, None)
            else:
                self._give_up(read)

    def _give_up(self, read: DiskRead) -> None:
        self._slow[read.path] = None
        self._stalled[read.path] = self._stalled.get(read.path, 0) + 1
        read.future.add_done_callback(partial(self._came_late, read))

    def _came_late(self, read: DiskRead, future: asyncio.Future[LogRead]) -> None:
        self._stalled[read.path] -= 1
        if future.cancelled() or future.exception() is not None:
            return
        key = read.replica, read.span.offset
        self._late[key] = read
        asyncio.get_running_loop().call_later(LATE_READ_KEPT_S, self._late.pop, key, None)
        if len(self._late) > LATE_READS_MAX:
            del self._late[next(iter(self._late))]
        read.replica.wake_fetches()


async def _all_ended(reads: Sequence[DiskRead], wait_s: float) -> None:
    """Wait for ``reads``, up to ``wait_s``."""
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
    timer = loop.call_later(wait_s, _finish, ended)
    try:
        await ended
    finally:
        timer.cancel()


def read_tail(replica: Replica, span: ReadSpan) -> LogRead | None:
    """Read from memory; None when the batches, or the transactions among them, are on disk only."""
    offset = span.offset
    tail = replica.tail.read(offset, span.max_bytes, up_to=span.up_to, min_one=span.min_one)
    if tail is None or not span.with_aborted or not tail.buffers:
        return tail and LogRead(tail.buffers, tail.size_bytes, offset)
    aborted = replica.partition.producers.ended.aborted_between(offset, tail.end_offset)
    if aborted is None:
        return None
    return LogRead(tail.buffers, tail.size_bytes, offset, tuple(map(aborted_entry, aborted)))


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
