"""The fetch path: followers and consumers read the tail from memory, older data from the disk.

A fetch that finds too little waits at its partitions and is woken by them. The rules of who may
read what are in `broker.core.partition`.
Source: ReplicaManager.scala fetchMessages, DelayedFetch.scala.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from broker.core.closest_replica import NO_PREFERENCE, closest_replica
from broker.core.delayed import DelayedFetch
from broker.core.leader_epochs import diverging_end
from broker.core.log_dirs import LogDirFailed
from broker.core.partition import Partition
from broker.engine.fetch_room import FetchRoom
from broker.engine.replica import Replica
from broker.engine.serve.disk_reads import DiskReads, ReadSpan, read_tail
from broker.engine.serve.isr_reporter import IsrReporter
from broker.engine.serve.leader_throttle import WAITS, LeaderThrottle
from broker.engine.serve.reading import Reading
from broker.engine.state import EngineState
from broker.engine.types import EpochEndOffset, FetchParams, FetchPart, FetchResult
from protocol.configs.broker import RACK_AWARE_SELECTOR
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_OFFSET, ZERO_UUID, BrokerId
from protocol.transport.turns import Turns

PARTS_OF_A_STEP: Final = 250
"""Partitions of one fetch that are looked at before others have a turn."""
REFRESHED_OF_A_STEP: Final = 2_000
_NONE: Final = ErrorCode.NONE


class Fetches:
    """Serves Fetch."""

    def __init__(self, state: EngineState, reporter: IsrReporter) -> None:
        self._state = state
        self._reporter = reporter
        self._disk_reads = DiskReads()
        self._throttle = LeaderThrottle(state)
        self._turns = Turns()
        self._polls: dict[int, dict[DelayedFetch, None]] = {}
        self._waiting: dict[Reading, None] = {}

    async def fetch(self, params: FetchParams, parts: Sequence[FetchPart]) -> list[FetchResult]:
        """Read all ``parts``; wait up to ``max_wait_ms`` for ``min_bytes``, less when one fails.

        The answer is smaller where memory for answers is short, and waits where there is none.
        """
        ports = self._state.ports
        budget = ports.answers if params.replica_id < 0 else ports.answers_to_nodes
        deadline_s = self._state.loop.time() + params.max_wait_ms / 1000
        room = FetchRoom(budget)
        if room.is_short:
            self._end_waits()
            await room.until_some()
        reading = Reading(params, parts, self._throttle.count, room)
        try:
            if len(parts) > PARTS_OF_A_STEP:
                return await self._fetch_in_steps(reading, deadline_s)
            may_wait = self._look_at_all(reading)
            if not reading.disk and not may_wait:
                return reading.results
            return await self._wait_for_enough(reading, deadline_s, may_wait=may_wait)
        finally:
            reading.let_go()

    def _look_at_all(self, reading: Reading) -> bool:
        """Read what memory has; True when that is too little and it waits at its partitions."""
        is_follower, results = reading.is_follower, reading.results
        for index in range(len(reading.parts)):
            results.append(self._look(reading, index, is_first=is_follower))
        if reading.params.max_wait_ms <= 0 or reading.is_enough:
            return False
        self._register(reading)
        return True

    async def _fetch_in_steps(self, reading: Reading, deadline_s: float) -> list[FetchResult]:
        """Do the same with turns for others in between.

        What changes meanwhile must not be missed: it waits at its partitions from the start.
        """
        try:
            if reading.params.max_wait_ms > 0:
                await self._register_in_steps(reading)
            for index in range(len(reading.parts)):
                if index % PARTS_OF_A_STEP == PARTS_OF_A_STEP - 1:
                    await self._turns.next()
                result = self._look(reading, index, is_first=reading.is_follower)
                reading.results.append(result)
        except BaseException:
            self._unregister(reading)
            raise
        return await self._wait_for_enough(reading, deadline_s, may_wait=not reading.is_enough)

    async def _wait_for_enough(
        self, reading: Reading, deadline_s: float, *, may_wait: bool
    ) -> list[FetchResult]:
        """Read what is on disks, then look again at what changes; it ends what is registered."""
        is_follower = reading.is_follower
        try:
            await self._read_disks(reading)
            while may_wait and not reading.is_enough and await self._woken(reading, deadline_s):
                await reading.until_room()
                self._look_again(reading, reading.delayed.take_changed())
                await self._read_disks(reading)
        finally:
            self._unregister(reading)
        if is_follower and may_wait:
            await self._refresh(reading)
        return reading.results

    def force_complete(self, replica_id: int) -> None:
        """End the waiting fetches of a follower: it has something new to ask for."""
        for delayed in self._polls.get(replica_id, ()):
            delayed.force_complete()

    # One partition.

    def _look(self, reading: Reading, index: int, *, is_first: bool) -> FetchResult:
        """Read one partition as far as memory goes; ``is_first``: note a follower's position."""
        part = reading.parts[index]
        replica = self._state.hosted.online_replica(part.tp)
        if replica is None:
            return self._refuse(reading, part, self._state.absence(part.tp))
        code = self._check(reading, replica, part)
        if code is not _NONE:
            return self._refuse(reading, part, code)
        instead = self._instead_of_records(reading, replica, part)
        if instead is not None:
            return instead
        partition = replica.partition
        if not partition.log_start_offset <= part.fetch_offset <= partition.log_end_offset:
            return self._refuse(reading, part, ErrorCode.OFFSET_OUT_OF_RANGE)
        if is_first:
            code = self._note_follower(replica, part, reading.params)
            if code is not _NONE:
                return self._refuse(reading, part, code)
        return self._read(reading, replica, index)

    @staticmethod
    def _check(reading: Reading, replica: Replica, part: FetchPart) -> ErrorCode:
        """Tell whether the request may read this replica.

        The topic comes first: epochs of one that had its name say nothing of this one's. Source:
        ReplicaManager.readFromLog.
        """
        if part.topic_id not in (replica.topic_id, ZERO_UUID):
            return ErrorCode.INCONSISTENT_TOPIC_ID
        if reading.params.leader_only:
            return replica.partition.check_leader(part.current_leader_epoch)
        return replica.partition.check_leader_epoch(part.current_leader_epoch)

    def _instead_of_records(
        self, reading: Reading, replica: Replica, part: FetchPart
    ) -> FetchResult | None:
        """Send a consumer to a closer replica, tell a follower where its log leaves ours."""
        partition = replica.partition
        if reading.params.client_rack and not reading.is_follower:
            preferred = self._preferred(reading, partition, part)
            if preferred is not None:
                return preferred
        epoch = part.last_fetched_epoch
        is_beyond = part.fetch_offset > partition.log_end_offset
        if epoch < 0 or (epoch == partition.epochs.latest and not is_beyond):
            return None
        return self._diverging(reading, replica, part)

    def _refuse(self, reading: Reading, part: FetchPart, code: ErrorCode) -> FetchResult:
        result = reading.refuse(code)
        if code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
            result.current_leader = self._state.leader_hint(part.tp)
        return result

    def _preferred(
        self, reading: Reading, partition: Partition, part: FetchPart
    ) -> FetchResult | None:
        """Send a consumer to a replica in its rack; None to read here."""
        if self._state.config.replica_selector_class != RACK_AWARE_SELECTOR:
            return None
        replica_id = closest_replica(
            partition,
            client_rack=reading.params.client_rack,
            fetch_offset=part.fetch_offset,
            rack_of=self._rack_of,
        )
        if replica_id == NO_PREFERENCE:
            return None
        reading.has_news = True
        return FetchResult(
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=partition.log_start_offset,
            preferred_read_replica=replica_id,
        )

    def _rack_of(self, broker_id: int) -> str | None:
        broker = self._state.metadata.live_broker(broker_id)
        return None if broker is None else broker.rack

    def _diverging(self, reading: Reading, replica: Replica, part: FetchPart) -> FetchResult | None:
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
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=partition.log_start_offset,
            diverging_epoch=EpochEndOffset(end.epoch, end.end_offset),
        )

    def _note_follower(self, replica: Replica, part: FetchPart, params: FetchParams) -> ErrorCode:
        """Take a follower's fetch as news of its log."""
        partition, replica_id = replica.partition, BrokerId(params.replica_id)
        follower = partition.followers.get(replica_id)
        if follower is None:
            known = part.current_leader_epoch >= 0
            return ErrorCode.UNKNOWN_LEADER_EPOCH if known else ErrorCode.NOT_LEADER_OR_FOLLOWER
        if follower.is_later_life_than(params.replica_epoch):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        rose = partition.follower_fetched(
            replica_id,
            fetch_offset=part.fetch_offset,
            log_start_offset=part.log_start_offset,
            broker_epoch=params.replica_epoch,
            now_ms=self._state.now_ms(),
            lag_time_max_ms=self._state.lag_time_max_ms,
        )
        if rose:
            replica.on_high_watermark()
        replica.on_log_start()
        if replica_id not in partition.isr.isr and partition.propose_join(replica_id):
            self._reporter.propose(replica)
        return _NONE

    def _read(self, reading: Reading, replica: Replica, index: int) -> FetchResult:
        partition = replica.partition
        part, params = reading.parts[index], reading.params
        is_committed = params.is_committed
        result = FetchResult(
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=partition.log_start_offset,
            aborted=() if is_committed else None,
        )
        up_to = result.last_stable_offset if is_committed else result.high_watermark
        if reading.is_follower:
            up_to = partition.log_end_offset
        offset = part.fetch_offset
        if offset >= up_to:
            return result
        if reading.is_below_nothing(index):
            return self._refuse(reading, part, ErrorCode.UNKNOWN_SERVER_ERROR)
        is_empty = reading.size_bytes == 0 and not reading.disk
        max_bytes = min(part.max_bytes, max(reading.left_bytes, 0))
        if replica.is_leader_throttled and reading.is_follower:
            reading.counted[index] = None
            max_bytes = self._throttle.most_bytes(partition, params.replica_id, max_bytes)
            if max_bytes == WAITS:
                reading.throttled[index] = None
                return result
        span = ReadSpan(offset, up_to, max_bytes, is_empty, is_committed)
        read = read_tail(replica, span)
        if read is not None:
            reading.give(index, result, read, max_bytes=max_bytes)
        elif max_bytes > 0 or is_empty:
            begun = self._disk_reads.begin(index, replica, span)
            if begun is not None:
                reading.begin(begun)
        return result

    async def _read_disks(self, reading: Reading) -> None:
        """Take what the reads begun have given; one that takes too long gives nothing."""
        reads, reading.disk = reading.disk, []
        if not reads:
            return  # As most often: memory has it all.
        await self._disk_reads.wait(reads)
        for read in reads:
            reading.end(read)
            if not read.future.done():
                continue
            index, max_bytes = read.part_index, read.span.max_bytes
            try:
                found = read.future.result()
                reading.give(index, reading.results[index], found, max_bytes=max_bytes)
            except LogDirFailed:
                reading.results[index] = reading.refuse(ErrorCode.KAFKA_STORAGE_ERROR)
            except KafkaError as error:  # CORRUPT_MESSAGE: what its disk gave is no batch.
                reading.results[index] = reading.refuse(error.code)

    # Waiting.

    def _register(self, reading: Reading) -> None:
        for index in range(len(reading.parts)):
            self._register_part(reading, index)
        self._register_poll(reading)

    async def _register_in_steps(self, reading: Reading) -> None:
        for index in range(len(reading.parts)):
            if index % PARTS_OF_A_STEP == PARTS_OF_A_STEP - 1:
                await self._turns.next()
            self._register_part(reading, index)
        self._register_poll(reading)

    def _register_part(self, reading: Reading, index: int) -> None:
        replica = self._state.hosted.online_replica(reading.parts[index].tp)
        if replica is not None:
            waiters = replica.followers if reading.is_follower else replica.consumers
            waiters.add(reading.delayed, index)
            reading.waiting_at[replica] = None

    def _register_poll(self, reading: Reading) -> None:
        if reading.is_follower:
            self._polls.setdefault(reading.params.replica_id, {})[reading.delayed] = None

    def _unregister(self, reading: Reading) -> None:
        is_follower = reading.is_follower
        for replica in reading.waiting_at:
            waiters = replica.followers if is_follower else replica.consumers
            waiters.discard(reading.delayed)
        if is_follower and reading.params.replica_id in self._polls:
            self._polls[reading.params.replica_id].pop(reading.delayed, None)

    async def _woken(self, reading: Reading, deadline_s: float) -> bool:
        """Wait for something new; False at the deadline or after ``force_complete``."""
        if self._state.loop.time() >= deadline_s or reading.is_wanted:
            return False
        if not reading.delayed.changed and not reading.delayed.is_force_completed:
            woken: asyncio.Future[None] = self._state.loop.create_future()
            reading.woken = woken
            timers = [self._state.loop.call_at(deadline_s, _finish, woken)]
            if reading.throttled:
                wait_s = self._throttle.wait_s()
                timers.append(self._state.loop.call_later(wait_s, reading.wake_throttled))
            self._waiting[reading] = None
            try:
                await woken
            finally:
                for timer in timers:
                    timer.cancel()
                del self._waiting[reading]
        return bool(reading.delayed.changed)

    def _end_waits(self) -> None:
        """Have those that wait for more answer with what they hold: others need the memory."""
        for reading in [each for each in self._waiting if each.size_bytes]:
            reading.delayed.force_complete()

    def _look_again(self, reading: Reading, indexes: Iterable[int]) -> None:
        for index in indexes:
            reading.take_back(index)
            reading.results[index] = self._look(reading, index, is_first=False)

    async def _refresh(self, reading: Reading) -> None:
        """Tell a follower high watermarks and log starts of now, not those of before the wait."""
        online = self._state.hosted.online_replica
        pairs = zip(reading.parts, reading.results, strict=True)
        for index, (part, result) in enumerate(pairs):
            if index % REFRESHED_OF_A_STEP == REFRESHED_OF_A_STEP - 1:
                await self._turns.next()
            replica = online(part.tp)
            if replica is not None and result.error_code is _NONE:
                result.high_watermark = replica.partition.high_watermark
                result.log_start_offset = replica.partition.log_start_offset
                result.last_stable_offset = replica.partition.last_stable_offset


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
