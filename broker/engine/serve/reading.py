"""One Fetch under way: what it has given so far, what it may still give, what it waits for.

It only counts; what is read is decided in `fetch`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from broker.core.delayed import DelayedFetch
from broker.engine.fetch_room import FetchRoom
from broker.engine.replica import Replica
from broker.engine.serve.disk_reads import DiskRead
from broker.engine.types import AbortedTransaction, FetchParams, FetchPart, FetchResult
from broker.storage.log_reader import LogRead
from protocol.errors import ErrorCode


class Reading:
    """The state of one Fetch request."""

    __slots__ = (
        "_count",
        "_min_bytes",
        "_room",
        "counted",
        "delayed",
        "disk",
        "has_news",
        "is_follower",
        "left_bytes",
        "params",
        "parts",
        "results",
        "size_bytes",
        "throttled",
        "waiting_at",
        "woken",
    )

    def __init__(
        self,
        params: FetchParams,
        parts: Sequence[FetchPart],
        count: Callable[[int], None],
        room: FetchRoom,
    ) -> None:
        """Begin with nothing given.

        Args:
            params: what is asked for; it gets no more than there is ``room`` for.
            parts: of which partitions.
            count: told the bytes of parts that are ``counted``.
            room: where the bytes of the answer count.
        """
        self.params = params
        self.parts = parts
        self.is_follower = params.replica_id >= 0
        self.results: list[FetchResult] = []
        self.size_bytes = 0
        self.left_bytes = max(0, min(params.max_bytes, room.bytes_max))
        self._min_bytes = min(params.min_bytes, self.left_bytes)
        self.has_news = False
        """An error, a diverging epoch or a better replica: answered at once."""
        self.disk: list[DiskRead] = []
        self.delayed = DelayedFetch(self._wake)
        self.counted: dict[int, None] = {}
        """Indexes of parts whose bytes count against the leader's quota."""
        self.throttled: dict[int, None] = {}
        """Indexes of parts that give nothing until the quota has room again."""
        self.woken: asyncio.Future[None] | None = None
        self.waiting_at: dict[Replica, None] = {}
        """A partition that is named often is there once."""
        self._count = count
        self._room = room

    @property
    def is_enough(self) -> bool:
        """Whether it can be answered now."""
        return self.has_news or self.size_bytes >= self._min_bytes

    @property
    def is_wanted(self) -> bool:
        """Whether other fetches wait for the memory of what it has read."""
        return self._room.is_wanted

    def is_below_nothing(self, index: int) -> bool:
        """Tell whether part ``index`` has a negative limit; that of the answer is the first's.

        Source: ReplicaManager.readFromLog, LogSegment.read.
        """
        return self.parts[index].max_bytes < 0 or (index == 0 and self.params.max_bytes < 0)

    async def until_room(self) -> None:
        """Wait until there is memory to read on, and read no more than that."""
        await self._room.until_some()
        self.left_bytes = min(self.left_bytes, self._room.bytes_max)

    def let_go(self) -> None:
        """Keep nothing of what was read: this and what wakes it refer to each other."""
        self.results, self.disk = [], []
        self._room.let_go()

    def refuse(self, code: ErrorCode) -> FetchResult:
        """Return the answer of a part that fails."""
        self.has_news = True
        return FetchResult(code)

    def give(self, index: int, result: FetchResult, read: LogRead, *, max_bytes: int) -> None:
        """Put what was read into the answer of part ``index``.

        Of a batch that does not fit into ``max_bytes`` no transactions are told.
        Source: ReplicaManager.readFromLog.
        """
        result.records = read.buffers
        result.records_size_bytes = read.size_bytes
        if read.aborted:
            result.aborted = tuple(
                AbortedTransaction(one.producer_id, one.first_offset) for one in read.aborted
            )
        elif read.size_bytes == 0 < max_bytes:
            result.aborted = None
        self.size_bytes += read.size_bytes
        self._take(index, read.size_bytes)

    def take_back(self, index: int) -> None:
        """Forget what part ``index`` gave: it is read once more."""
        size_bytes = self.results[index].records_size_bytes
        self.size_bytes -= size_bytes
        self._take(index, -size_bytes)

    def begin(self, read: DiskRead) -> None:
        """Keep room for a read from a disk."""
        self.disk.append(read)
        self._take(read.part_index, read.reserved_bytes)

    def end(self, read: DiskRead) -> None:
        """Free the room that ``begin`` kept; ``give`` comes after it."""
        self._take(read.part_index, -read.reserved_bytes)

    def wake_throttled(self) -> None:
        """Have the throttled parts looked at again."""
        throttled, self.throttled = self.throttled, {}
        for index in throttled:
            self.delayed.wake(index)

    def _take(self, index: int, size_bytes: int) -> None:
        self.left_bytes -= size_bytes
        self._room.hold(size_bytes)
        if self.counted and index in self.counted:
            self._count(size_bytes)

    def _wake(self) -> None:
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(None)
