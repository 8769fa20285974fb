"""The fetch path: followers and consumers read the tail from memory, older data from the disk.

A fetch that finds too little waits at its partitions and is woken by them. The rules of who may
read what are in `broker.core.partition`.
Source: ReplicaManager.scala fetchMessages, DelayedFetch.scala.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from broker.core.delayed import DelayedFetch
from broker.core.leader_epochs import diverging_end
from broker.core.log_dirs import LogDirFailed
from broker.engine.disk_reads import DiskRead, DiskReads, ReadSpan
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.engine.types import EpochEndOffset, FetchParams, FetchPart, FetchResult
from broker.replication.isr_reporter import IsrReporter
from broker.storage.log_reader import LogRead
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_OFFSET, ZERO_UUID, BrokerId

_NONE: Final = ErrorCode.NONE


class _Reading:
    """One Fetch under way."""

    __slots__ = (
        "delayed",
        "disk",
        "has_news",
        "left_bytes",
        "params",
        "parts",
        "results",
        "size_bytes",
        "waiting_at",
        "woken",
    )

    def __init__(self, params: FetchParams, parts: Sequence[FetchPart]) -> None:
        self.params = params
        self.parts = parts
        self.results: list[FetchResult] = []
        self.size_bytes = 0
        self.left_bytes = params.max_bytes
        self.has_news = False
        """An error or a diverging epoch: answered at once."""
        self.disk: list[DiskRead] = []
        self.delayed = DelayedFetch(self._wake)
        self.woken: asyncio.Future[None] | None = None
        self.waiting_at: list[Replica] = []

    @property
    def is_enough(self) -> bool:
        return self.has_news or self.size_bytes >= self.params.min_bytes

    def refuse(self, code: ErrorCode) -> FetchResult:
        self.has_news = True
        return FetchResult(code)

    def give(self, result: FetchResult, read: LogRead) -> None:
        result.records = read.buffers
        result.records_size_bytes = read.size_bytes
        self.size_bytes += read.size_bytes
        self.left_bytes -= read.size_bytes

    def take_back(self, index: int) -> None:
        size_bytes = self.results[index].records_size_bytes
        self.size_bytes -= size_bytes
        self.left_bytes += size_bytes

    def _wake(self) -> None:
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(None)


class Fetches:
    """Serves Fetch."""

    def __init__(self, state: EngineState, reporter: IsrReporter) -> None:
        self._state = state
        self._reporter = reporter
        self._disk_reads = DiskReads()
        self._polls: dict[int, dict[DelayedFetch, None]] = {}

    async def fetch(self, params: FetchParams, parts: Sequence[FetchPart]) -> list[FetchResult]:
        """Read all ``parts``; wait up to ``max_wait_ms`` for ``min_bytes``, less when one fails."""
        deadline_s = self._state.loop.time() + params.max_wait_ms / 1000
        reading = _Reading(params, parts)
        is_follower = params.replica_id >= 0
        for index in range(len(parts)):
            reading.results.append(self._look(reading, index, is_first=is_follower))
        may_wait = params.max_wait_ms > 0 and not reading.is_enough
        if not reading.disk and not may_wait:
            return reading.results
        if may_wait:
            self._register(reading)
        try:
            await self._read_disks(reading)
            while may_wait and not reading.is_enough and await self._woken(reading, deadline_s):
                self._look_again(reading, reading.delayed.take_changed())
                await self._read_disks(reading)
        finally:
            self._unregister(reading)
        if is_follower and may_wait:
            self._refresh(reading)
        return reading.results

    def knock(self, replica_id: int) -> None:
        """End the waiting fetches of a follower: it has something new to ask for."""
        for delayed in self._polls.get(replica_id, ()):
            delayed.knock()

    # One partition.

    def _look(self, reading: _Reading, index: int, *, is_first: bool) -> FetchResult:
        """Read one partition as far as memory goes; ``is_first``: note a follower's position."""
        part = reading.parts[index]
        replica = self._state.hosted.online(part.tp)
        if replica is None:
            return self._refuse(reading, part, self._state.absence(part.tp))
        partition = replica.partition
        code = partition.check_leader(part.current_leader_epoch)
        if code is _NONE and part.topic_id not in (replica.topic_id, ZERO_UUID):
            code = ErrorCode.INCONSISTENT_TOPIC_ID
        if code is not _NONE:
            return self._refuse(reading, part, code)
        epoch = part.last_fetched_epoch
        if epoch >= 0 and epoch != partition.epochs.latest:
            diverging = self._diverging(reading, replica, part)
            if diverging is not None:
                return diverging
        if not partition.log_start_offset <= part.fetch_offset <= partition.log_end_offset:
            return self._refuse(reading, part, ErrorCode.OFFSET_OUT_OF_RANGE)
        if is_first:
            code = self._note_follower(replica, part, BrokerId(reading.params.replica_id))
            if code is not _NONE:
                return self._refuse(reading, part, code)
        return self._read(reading, replica, index)

    def _refuse(self, reading: _Reading, part: FetchPart, code: ErrorCode) -> FetchResult:
        result = reading.refuse(code)
        if code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
            result.current_leader = self._state.leader_hint(part.tp)
        return result

    def _diverging(
        self, reading: _Reading, replica: Replica, part: FetchPart
    ) -> FetchResult | None:
        partition = replica.partition
        end = diverging_end(
            partition.epochs,
            partition.log_end_offset,
            last_fetched_epoch=part.last_fetched_epoch,
            fetch_offset=part.fetch_offset,
        )
        if end is None:
            return None
        if end.end_offset == NO_OFFSET:
            return self._refuse(reading, part, ErrorCode.OFFSET_OUT_OF_RANGE)
        reading.has_news = True
        return FetchResult(
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.high_watermark,
            log_start_offset=partition.log_start_offset,
            diverging_epoch=EpochEndOffset(end.epoch, end.end_offset),
        )

    def _note_follower(self, replica: Replica, part: FetchPart, replica_id: BrokerId) -> ErrorCode:
        """Take a follower's fetch as news of its log."""
        partition = replica.partition
        if replica_id not in partition.followers:
            known = part.current_leader_epoch >= 0
            return ErrorCode.UNKNOWN_LEADER_EPOCH if known else ErrorCode.NOT_LEADER_OR_FOLLOWER
        rose = partition.follower_fetched(
            replica_id,
            fetch_offset=part.fetch_offset,
            log_start_offset=part.log_start_offset,
            now_ms=self._state.now_ms(),
            lag_time_max_ms=self._state.lag_time_max_ms,
        )
        if rose:
            replica.on_high_watermark()
        if replica_id not in partition.isr.isr and partition.propose_join(replica_id):
            self._reporter.propose(replica)
        return _NONE

    def _read(self, reading: _Reading, replica: Replica, index: int) -> FetchResult:
        partition = replica.partition
        part, params = reading.parts[index], reading.params
        high_watermark = partition.high_watermark
        result = FetchResult(
            high_watermark=high_watermark,
            last_stable_offset=high_watermark,
            log_start_offset=partition.log_start_offset,
            aborted=() if params.isolation_level == 1 else None,
        )
        up_to = partition.log_end_offset if params.replica_id >= 0 else high_watermark
        offset = part.fetch_offset
        if offset >= up_to:
            return result
        is_empty = reading.size_bytes == 0 and not reading.disk
        max_bytes = min(part.max_bytes, max(reading.left_bytes, 0))
        tail = replica.tail.read(offset, max_bytes, up_to=up_to, min_one=is_empty)
        if tail is not None:
            reading.give(result, LogRead(tail.buffers, tail.size_bytes, offset))
        elif max_bytes > 0 or is_empty:
            span = ReadSpan(offset, up_to, max_bytes, is_empty)
            begun = self._disk_reads.begin(index, replica, span)
            if begun is not None:
                reading.left_bytes -= begun.reserved_bytes
                reading.disk.append(begun)
        return result

    async def _read_disks(self, reading: _Reading) -> None:
        """Take what the reads begun have given; one that takes too long gives nothing."""
        reads, reading.disk = reading.disk, []
        if not reads:
            return
        await self._disk_reads.wait(reads)
        for read in reads:
            reading.left_bytes += read.reserved_bytes
            if not read.future.done():
                continue
            try:
                reading.give(reading.results[read.part_index], read.future.result())
            except LogDirFailed:
                reading.results[read.part_index] = reading.refuse(ErrorCode.KAFKA_STORAGE_ERROR)
            except KafkaError as error:
                reading.results[read.part_index] = reading.refuse(error.code)

    # Waiting.

    def _register(self, reading: _Reading) -> None:
        is_follower = reading.params.replica_id >= 0
        online = self._state.hosted.online
        for index, part in enumerate(reading.parts):
            replica = online(part.tp)
            if replica is None:
                continue
            waiters = replica.followers if is_follower else replica.consumers
            waiters.add(reading.delayed, index)
            reading.waiting_at.append(replica)
        if is_follower:
            self._polls.setdefault(reading.params.replica_id, {})[reading.delayed] = None

    def _unregister(self, reading: _Reading) -> None:
        is_follower = reading.params.replica_id >= 0
        for replica in reading.waiting_at:
            waiters = replica.followers if is_follower else replica.consumers
            waiters.discard(reading.delayed)
        if is_follower and reading.params.replica_id in self._polls:
            self._polls[reading.params.replica_id].pop(reading.delayed, None)

    async def _woken(self, reading: _Reading, deadline_s: float) -> bool:
        """Wait for something new; False at the deadline or after a knock."""
        if not reading.delayed.changed and not reading.delayed.knocked:
            woken: asyncio.Future[None] = self._state.loop.create_future()
            reading.woken = woken
            timer = self._state.loop.call_at(deadline_s, _finish, woken)
            try:
                await woken
            finally:
                timer.cancel()
                reading.woken = None
        return bool(reading.delayed.changed)

    def _look_again(self, reading: _Reading, indexes: Iterable[int]) -> None:
        for index in indexes:
            reading.take_back(index)
            reading.results[index] = self._look(reading, index, is_first=False)

    def _refresh(self, reading: _Reading) -> None:
        """Tell a follower the high watermarks of now, not those of before the wait."""
        online = self._state.hosted.online
        for part, result in zip(reading.parts, reading.results, strict=True):
            replica = online(part.tp)
            if replica is not None and result.error_code is _NONE:
                result.high_watermark = replica.partition.high_watermark


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
