"""The newest batches of each partition, kept so that readers at the end need no disk.

Two bounds hold: bytes per partition and bytes in all; the least recently written partition pays
first. The buffers are those that were written, but for small parts of large requests. It knows
nothing of HighWatermark or LogEndOffset: the reader says up to where it may see.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sized
from typing import Final, NamedTuple, cast

from protocol.ports import Buffer

TOTAL_BYTES_MAX: Final = 32 * 1024 * 1024
TAIL_BYTES_MAX: Final = 8 * 1024 * 1024
BATCH_OVERHEAD_BYTES: Final = 512
"""What the objects around one batch weigh; with tiny batches they are most of the memory."""
_COMPACT_AT: Final = 256
_FRAME_SHARE: Final = 2
"""A batch that is less than half of the request it came in is copied, so that this can go."""


class TailRead(NamedTuple):
    """Whole batches, the first of which holds the asked offset."""

    buffers: tuple[Buffer, ...]
    size_bytes: int
    end_offset: int
    """Behind the last batch; -1 without one."""


NOTHING: Final = TailRead((), 0, -1)


class TailCache:
    """The budget all tails of a broker share."""

    __slots__ = ("_tail_bytes_max", "_tails", "size_bytes", "total_bytes_max")

    def __init__(
        self, *, total_bytes_max: int = TOTAL_BYTES_MAX, tail_bytes_max: int = TAIL_BYTES_MAX
    ) -> None:
        self.total_bytes_max = total_bytes_max
        self._tail_bytes_max = tail_bytes_max
        self._tails: OrderedDict[Tail, None] = OrderedDict()
        self.size_bytes = 0

    def new_tail(self, end_offset: int) -> Tail:
        """Return an empty tail of a log that ends at ``end_offset``."""
        return Tail(self, end_offset)

    def drop_older_than(self, written_before_ms: int) -> None:
        """Empty the tails last written before ``written_before_ms``: nobody is behind on them."""
        while self._tails:
            tail = next(iter(self._tails))
            if tail.written_at_ms >= written_before_ms:
                return
            tail.clear()

    def added(self, tail: Tail, size_bytes: int) -> None:
        """Account for a batch; evict until both bounds hold again. Called by the tail."""
        self.size_bytes += size_bytes
        self._tails[tail] = None
        self._tails.move_to_end(tail)
        while tail.size_bytes > self._tail_bytes_max:
            tail.evict_first()
        while self.size_bytes > self.total_bytes_max:
            oldest = next(iter(self._tails))
            oldest.evict_first()
            if oldest.size_bytes == 0:
                del self._tails[oldest]

    def removed(self, size_bytes: int) -> None:
        """Account for an evicted batch. Called by the tail."""
        self.size_bytes -= size_bytes

    def forget(self, tail: Tail) -> None:
        """Account for an emptied tail. Called by the tail."""
        self._tails.pop(tail, None)


class Tail:
    """The newest batches of one log, without gaps up to ``end_offset``."""

    __slots__ = (
        "_buffers",
        "_cache",
        "_first",
        "_starts",
        "end_offset",
        "size_bytes",
        "written_at_ms",
    )

    def __init__(self, cache: TailCache, end_offset: int) -> None:
        self._cache = cache
        self._starts: list[int] = []
        self._buffers: list[Buffer | None] = []
        self._first = 0
        self.end_offset = end_offset
        self.size_bytes = 0
        self.written_at_ms = 0

    def append(self, first_offset: int, end_offset: int, batch: Buffer, now_ms: int) -> None:
        """Keep one written batch that covers [first_offset, end_offset).

        A batch that does not join the end (offsets were skipped) starts the tail anew.
        """
        if first_offset != self.end_offset:
            self.clear()
        self._starts.append(first_offset)
        self._buffers.append(_kept(batch))
        self.end_offset = end_offset
        self.written_at_ms = now_ms
        size_bytes = len(batch) + BATCH_OVERHEAD_BYTES
        self.size_bytes += size_bytes
        self._cache.added(self, size_bytes)

    def read(self, offset: int, max_bytes: int, *, up_to: int, min_one: bool) -> TailRead | None:
        """Return whole batches from the one that holds ``offset``, none beyond ``up_to``.

        Returns None when the tail does not have ``offset``: read the disk. ``min_one`` lets the
        first batch exceed ``max_bytes``.
        """
        if offset >= up_to:
            return NOTHING
        if offset >= self.end_offset:
            return None
        starts, buffers = self._starts, self._buffers
        index = bisect_right(starts, offset, self._first) - 1
        if index < self._first:
            return None
        found: list[Buffer] = []
        size_bytes = 0
        end_offset = -1
        last = len(starts) - 1
        for position in range(index, last + 1):
            batch = buffers[position]
            batch_end = starts[position + 1] if position < last else self.end_offset
            if batch_end > up_to or batch is None:
                break
            if size_bytes + len(batch) > max_bytes and not (min_one and not found):
                break
            found.append(batch)
            size_bytes += len(batch)
            end_offset = batch_end
        return TailRead(tuple(found), size_bytes, end_offset)

    def clear(self, end_offset: int | None = None) -> None:
        """Forget all batches; the log now ends at ``end_offset`` (unchanged when None)."""
        self._cache.removed(self.size_bytes)
        self._cache.forget(self)
        self._starts.clear()
        self._buffers.clear()
        self._first = 0
        self.size_bytes = 0
        if end_offset is not None:
            self.end_offset = end_offset

    def evict_first(self) -> None:
        """Forget the oldest batch. Called by the cache."""
        batch = self._buffers[self._first]
        assert batch is not None
        size_bytes = len(batch) + BATCH_OVERHEAD_BYTES
        self._buffers[self._first] = None
        self._first += 1
        self.size_bytes -= size_bytes
        self._cache.removed(size_bytes)
        if self._first >= _COMPACT_AT and self._first * 2 >= len(self._starts):
            del self._starts[: self._first]
            del self._buffers[: self._first]
            self._first = 0


def _kept(batch: Buffer) -> Buffer:
    """Return ``batch``, or a copy where it would keep much more memory than its own."""
    if isinstance(batch, memoryview) and len(batch) * _FRAME_SHARE < len(cast("Sized", batch.obj)):
        return bytes(batch)
    return batch
