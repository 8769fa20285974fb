"""A consumer that reads one topic from its beginning to its end and on.

Unless it is told otherwise, it reads uncommitted records, too. It follows leaders by metadata, and
logs that were cut by the end of the last epoch it has read (KIP-320); in a rack it reads from the
replicas that leaders name (KIP-392). It commits nothing and belongs to no group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_EPOCH, NO_LEADER, TopicPartition
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.offsets import EARLIEST
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader, UnsupportedMagic
from protocol.records.entries import (
    check_stored_crc,
    iterate_stored_batches,
    iterate_stored_records,
)
from protocol.records.records import Record
from simulation.core.aborted_records import AbortedRecords
from simulation.core.history import NAMELESS, Function, History, Poll, Read
from simulation.core.payload import number_of
from simulation.workload.backoff import Backoff
from simulation.workload.clients import ClusterClient
from simulation.workload.pause import pause
from simulation.workload.progress import Progress, code_of
from simulation.workload.questions import end_of_epoch, list_offsets
from simulation.workload.record_formats import FETCH_VERSIONS
from simulation.workload.replica_choice import ReplicaChoice

_NAMES_EPOCHS_SINCE: Final = 9
"""From this version on a Fetch says under which leader epochs it asks."""

ANSWER_BYTES_MAX: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """What is read and how."""

    topic: str
    max_wait_ms: int = 500
    max_bytes: int = ANSWER_BYTES_MAX
    """Of one answer, and of one partition in it."""
    retry_backoff_ms: int = 100
    metadata_max_age_ms: int = 1_000
    """How often it asks for metadata when nothing goes wrong: it may have missed an election."""
    message_format: int = 2
    """The newest format of records that it understands; 0 and 1 know nothing of leader epochs."""
    is_read_committed: bool = False
    """It gets no records of transactions that are open or aborted."""
    group: str = ""
    """Of who shares the topic with others; "": none."""
    rack: str = ""
    """Where it is: it reads from a replica there if the leader names one (KIP-392); "": nowhere."""


@dataclass(slots=True)
class Position:
    """How far one partition is read."""

    tp: TopicPartition
    offset: int = 0
    epoch: int = NO_EPOCH
    """Of the last batch that was read; -1: none was."""
    checked_epoch: int = NO_EPOCH
    """The leader epoch under which the position was last found to be in the leader's log."""


class ConsumerWorkload:
    """One consumer. ``run`` it once; ``stop`` ends it after the fetches under way."""

    def __init__(self, client: ClusterClient, history: History, settings: ConsumerSettings) -> None:
        self.progress = Progress()
        self.positions: dict[TopicPartition, Position] = {}
        """How far each partition is read."""
        self.topic, self.group = settings.topic, settings.group
        self._client = client
        self._history = history
        self._settings = settings
        self._stopping = asyncio.Event()
        self._choice = ReplicaChoice(settings.metadata_max_age_ms)
        self._loops: dict[int, None] = {}
        self._turn = asyncio.Lock()
        """Held while what came is taken and worked off: one answer at a time."""

    @property
    def reached(self) -> Mapping[TopicPartition, int]:
        """How far each partition is read, as an offset."""
        return {tp: position.offset for tp, position in self.positions.items()}

    def stop(self) -> None:
        """Begin no more fetches."""
        self._stopping.set()

    async def run(self) -> None:
        """Read until stopped."""
        async with asyncio.TaskGroup() as group:
            while not self._stopping.is_set():
                await self._refresh_metadata()
                for broker in self._client.broker_ids:
                    if broker not in self._loops:
                        self._loops[broker] = None
                        group.create_task(self._read_from(broker), name=f"read from {broker}")
                await pause(self._stopping, self._settings.metadata_max_age_ms)

    async def _refresh_metadata(self) -> None:
        topic = self._settings.topic
        try:
            await self._client.refresh(topic)
        except (OSError, KafkaError) as error:
            self.progress.count_error(code_of(error).name)
        self._follow(self._client.partitions(topic))

    def _follow(self, partitions: Sequence[TopicPartition]) -> None:
        """Begin to read partitions that became known."""
        for tp in partitions:
            self.positions.setdefault(tp, Position(tp))

    async def _after_read(self, reads: Sequence[Read]) -> None:
        """Called with what an answer brought, once the history has it."""

    async def _read_from(self, broker: int) -> None:
        backoff = Backoff(self._settings.retry_backoff_ms)
        while not self._stopping.is_set():
            here = [each for each in self.positions.values() if self._source(each.tp) == broker]
            is_good = bool(here) and await self._read(broker, here)
            if is_good:
                backoff.reset()
            else:
                await pause(self._stopping, backoff.next_ms())

    def _source(self, tp: TopicPartition) -> int:
        leader = self._client.leader(tp)
        return self._choice.source(tp, NO_LEADER if leader is None else leader.broker)

    async def _read(self, broker: int, here: Sequence[Position]) -> bool:
        """Fetch once; False when something was wrong."""
        if not await self._check(broker, here):
            return False
        reads = tuple(Read(each.tp, each.offset, each.checked_epoch) for each in here)
        names_epochs = FETCH_VERSIONS[self._settings.message_format] >= _NAMES_EPOCHS_SINCE
        asked = Poll(broker, reads, self._settings.is_read_committed, names_epochs)
        with self._history.begin(self._client.client_id, Function.POLL, asked) as polling:
            try:
                answer = await self._fetch(broker, here)
            except (OSError, Malformed) as error:
                polling.fail(code_of(error).name)
                self.progress.count_error(code_of(error).name)
                for each in here:
                    self._choice.forget(each.tp)
                await self._refresh_metadata()
                return False
            async with self._turn:
                taken, codes = self._take(asked, here, answer)
                is_stuck = self._is_stuck(asked, here, answer)
                told = tuple(read for read in taken if read.records or read.error)
                polling.ok(asked._replace(reads=told))
                await self._after_read([read for read in taken if read.records])
        await self._heed(broker, codes)
        return not codes and not is_stuck

    async def _fetch(self, broker: int, here: Sequence[Position]) -> Any:
        settings = self._settings
        request = FetchRequest(
            max_wait_ms=settings.max_wait_ms,
            min_bytes=1,
            max_bytes=settings.max_bytes,
            isolation_level=int(settings.is_read_committed),
            topics=[
                FetchTopic(
                    topic=settings.topic,
                    partitions=[
                        FetchPartition(
                            partition=each.tp.partition,
                            current_leader_epoch=each.checked_epoch,
                            fetch_offset=each.offset,
                            partition_max_bytes=settings.max_bytes,
                        )
                        for each in here
                    ],
                )
            ],
            rack_id=settings.rack,
        )
        timeout_ms = settings.max_wait_ms + self._client.request_timeout_ms
        version = FETCH_VERSIONS[settings.message_format]
        return await self._client.ask(broker, request, version, timeout_ms=timeout_ms)

    def _take(
        self, asked: Poll, here: Sequence[Position], answer: Any
    ) -> tuple[list[Read], dict[TopicPartition, ErrorCode]]:
        """Move the positions behind what was read, where it is still to be read."""
        reads: list[Read] = []
        codes: dict[TopicPartition, ErrorCode] = {}
        parts = {
            part.partition_index: part for topic in answer.responses for part in topic.partitions
        }
        for read, position in zip(asked.reads, here, strict=True):
            part = parts.get(read.tp.partition)
            if part is None or self.positions.get(read.tp) is not position:
                continue
            if position.offset != read.fetch_offset:
                continue  # it moved since: another leader's answer was worked off
            code = ErrorCode(part.error_code)
            if code is not ErrorCode.NONE:
                codes[read.tp] = code
                self.progress.count_error(code.name)
                reads.append(read._replace(error=code.name))
            else:
                self._choice.take(read.tp, part.preferred_read_replica)
                aborted = AbortedRecords(part.aborted_transactions)
                records, is_whole = self._advance(position, part.records or b"", aborted)
                reads.append(read._replace(records=records, high_watermark=part.high_watermark))
                if not is_whole:
                    codes[read.tp] = ErrorCode.CORRUPT_MESSAGE
                    self.progress.count_error(ErrorCode.CORRUPT_MESSAGE.name)
        return reads, codes

    def _is_stuck(self, asked: Poll, here: Sequence[Position], answer: Any) -> bool:
        """Tell whether bytes came and led nowhere: asked again at once, they would come at once.

        An older format cannot say where a batch ends whose last records compaction took, nor that a
        marker is there; a next batch that grows as it is converted has no room then. Apache Kafka
        answers the same (``down_convert``).
        """
        if self._settings.message_format == max(FETCH_VERSIONS):
            return False
        has_bytes = any(part.records for topic in answer.responses for part in topic.partitions)
        return has_bytes and all(
            position.offset <= read.fetch_offset
            for read, position in zip(asked.reads, here, strict=True)
        )

    def _advance(
        self, position: Position, data: Buffer, aborted: AbortedRecords
    ) -> tuple[tuple[tuple[int, int], ...], bool]:
        """Take batches to the first that is not as it was written; tell whether all were taken.

        Consumers check what they read, as ``check.crcs`` says.
        """
        records: list[tuple[int, int]] = []
        is_whole = True
        try:
            for at, header in iterate_stored_batches(data):
                if not check_stored_crc(data, at, header):
                    is_whole = False
                    break
                # The batch at the fetch offset comes whole, with what lies before it.
                records += [
                    (record.offset, self._number(record))
                    for record in _seen(data, at, header, aborted)
                    if record.offset >= position.offset
                ]
                # FetchCollector.java: a broker that misread where to begin sends nobody back.
                if header.next_offset > position.offset:
                    position.offset = header.next_offset
                    position.epoch = header.partition_leader_epoch
        except (Malformed, UnsupportedMagic):
            is_whole = False
        self.progress.read += len(records)
        return tuple(records), is_whole

    def _number(self, record: Record) -> int:
        has_headers = self._settings.message_format == max(FETCH_VERSIONS)
        if record.value is None and not has_headers:
            return NAMELESS
        return number_of(record.value, record.headers)

    async def _heed(self, broker: int, codes: dict[TopicPartition, ErrorCode]) -> None:
        for tp, code in codes.items():
            position = self.positions.get(tp)
            # A follower may not have yet what is asked for: its leader is asked next.
            was_follower = self._choice.forget(tp)
            is_out = code is ErrorCode.OFFSET_OUT_OF_RANGE and not was_follower
            if is_out and position is not None:
                await self._start_anew(broker, position)
        if codes:
            await self._refresh_metadata()

    async def _start_anew(self, broker: int, position: Position) -> None:
        """Go on at the beginning of the log: what was to be read next is not there any more."""
        try:
            found = await list_offsets(self._client, broker, [position.tp], EARLIEST)
        except (OSError, Malformed) as error:
            self.progress.count_error(code_of(error).name)
            return
        offset = found[position.tp]
        if isinstance(offset, ErrorCode):
            self.progress.count_error(offset.name)
        else:
            position.offset, position.epoch = offset, NO_EPOCH

    async def _check(self, broker: int, here: Sequence[Position]) -> bool:
        """Ask under a new leader epoch whether what was read is in its log, and go back if not.

        Source: KIP-320, OffsetsForLeaderEpochClient.java.
        """
        for position in here:
            leader = self._client.leader(position.tp)
            if leader is None or self._source(position.tp) != broker:
                return False
            if leader.epoch == position.checked_epoch:
                continue
            try:
                await self._go_back(leader.broker, position, leader.epoch)
            except (OSError, Malformed, KafkaError) as error:
                self.progress.count_error(code_of(error).name)
                await self._refresh_metadata()
                return False
            if position.checked_epoch != leader.epoch:
                return False
        return True

    async def _go_back(self, broker: int, position: Position, current: int) -> None:
        if position.epoch != NO_EPOCH:
            asked = replace(position)
            end = await end_of_epoch(self._client, broker, position.tp, asked.epoch, current)
            if position != asked:
                return  # what an earlier leader sent was worked off meanwhile; asked again
            if end.end_offset < 0:
                position.offset, position.epoch = 0, NO_EPOCH
            elif end.end_offset < position.offset:
                position.offset, position.epoch = end.end_offset, end.leader_epoch
        position.checked_epoch = current


def _seen(data: Buffer, at: int, header: BatchHeader, aborted: AbortedRecords) -> Iterable[Record]:
    """Return those records of a batch that the application is given."""
    return () if aborted.leave_out(data, at, header) else iterate_stored_records(data, at, header)
