"""The log of one shard: appends batches of records with acks=all, and loads all that it has.

It does not know what records say. Source: PartitionWriter, CoordinatorLoaderImpl,
GroupMetadataManager.appendForGroup (3.9).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from broker.core.coordination import Record, Shard, TransactionProducer
from broker.engine.engine import Engine
from broker.engine.serve.led_logs import LogSpan, Slice
from broker.engine.serve.produce import BegunProduce
from broker.engine.types import ProducePart
from broker.record_turns import RecordTurns
from protocol.configs.parsing import TopicConfig
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_PRODUCER_ID, TopicPartition
from protocol.messages.produce import ACKS_ALL
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader, Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.compression import OUTPUT_BYTES_MAX
from protocol.records.entries import check_stored_crc, iterate_stored_batches
from protocol.records.records import (
    ControlRecordType,
    RecordView,
    control_type,
    copy_record,
    iterate_unpacked_views,
    unpacked_in_steps,
)
from protocol.transport.turns import Turns

RECORDS_OF_A_STEP: Final = 200
"""Replayed before others have a turn."""
_NEVER_MS: Final = 2**31 - 1
"""The append itself is waited for as long as this broker leads; clients have a time-out."""
logger = logging.getLogger(__name__)


class Appends(Protocol):
    """The engine's ``Produces``."""

    async def begin(
        self, parts: Sequence[ProducePart], *, acks: int, timeout_ms: int
    ) -> BegunProduce:
        """Append."""
        ...

    def await_replicated(self, tp: TopicPartition, end_offset: int) -> BegunProduce:
        """Wait for what was appended already."""
        ...

    def refusal(self, tp: TopicPartition) -> ErrorCode:
        """Return what an append would be refused with."""
        ...


class Reads(Protocol):
    """The engine's ``LedLogs``."""

    def span(self, tp: TopicPartition) -> LogSpan:
        """Return where the log begins and ends."""
        ...

    async def read(self, tp: TopicPartition, offset: int, *, up_to: int, max_bytes: int) -> Slice:
        """Read a slice."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPorts:
    """What the logs of all shards of a topic need."""

    appends: Appends
    reads: Reads
    record_turns: RecordTurns
    turns: Turns
    wall_ms: Callable[[], int]
    topic_config: Callable[[str], TopicConfig]
    compression: Compression
    """Of the batches that are written."""
    load_bytes_max: int
    """Of one slice, but for a single batch that is larger."""


def log_ports(
    engine: Engine,
    *,
    record_turns: RecordTurns,
    topic_config: Callable[[str], TopicConfig],
    compression: Compression,
    load_bytes_max: int,
) -> LogPorts:
    """Return what logs that the engine keeps need."""
    return LogPorts(
        appends=engine.produces,
        reads=engine.led_logs,
        record_turns=record_turns,
        turns=Turns(),
        wall_ms=engine.state.wall_ms,
        topic_config=topic_config,
        compression=compression,
        load_bytes_max=load_bytes_max,
    )


class CoordinatorLog:
    """One partition of an internal topic."""

    def __init__(self, tp: TopicPartition, ports: LogPorts) -> None:
        self._tp = tp
        self._ports = ports

    @property
    def batch_bytes_max(self) -> int:
        """How large a batch may be."""
        config = self._ports.topic_config(self._tp.topic)
        return min(config.max_message_bytes, config.segment_bytes)

    def refusal(self) -> ErrorCode:
        """Return what an append would be refused with now, NONE if it would not."""
        return self._ports.appends.refusal(self._tp)

    async def append(
        self, records: Sequence[Record], producer: TransactionProducer | None = None
    ) -> BegunProduce:
        """Append one batch, in the order of calls; its result comes when it is replicated.

        With ``producer`` it is part of a transaction. Kafka gives every such batch the sequence 0.
        """
        now_ms = self._ports.wall_ms()
        options = BatchOptions(compression=self._ports.compression)
        if producer is not None:
            options = replace(
                options,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                base_sequence=0,
                is_transactional=True,
            )
        batch = build_batch([NewRecord(value, key, now_ms) for key, value in records], options)
        guard = None if producer is None else producer.guard
        part = ProducePart(self._tp, memoryview(batch), is_coordinators=True, guard=guard)
        return await self._ports.appends.begin([part], acks=ACKS_ALL, timeout_ms=_NEVER_MS)

    async def load(self, shard: Shard) -> BegunProduce:
        """Replay the log to its end; what is returned is ready when all of that is replicated.

        Raises:
            KafkaError: this broker does not lead it any more, or it cannot be read.
        """
        reads, tp = self._ports.reads, self._tp
        at = reads.span(tp).start
        damaged = 0
        while at < (end := reads.span(tp).end):
            found = await self._read(at, end)
            try:
                for buffer in found.buffers:
                    damaged += await self._replay(shard, buffer)
            except Malformed as error:
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"from {at} on: {error}") from error
            at = found.next_offset
        if damaged:
            logger.warning("%s: %d records are none of this topic's, left out", tp, damaged)
        return self._ports.appends.await_replicated(tp, at)

    async def _read(self, at: int, end: int) -> Slice:
        """Read a slice, once more where it is damaged: its disk may have misread it.

        Differs from Kafka, which loads what it reads whatever its sum is.
        """
        damage = None
        for _ in range(2):
            found = await self._ports.reads.read(
                self._tp, at, up_to=end, max_bytes=self._ports.load_bytes_max
            )
            damage = _damage_in(found.buffers, at, end)
            if damage is None:
                return found
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"from {at} on: {damage}")

    async def _replay(self, shard: Shard, buffer: Buffer) -> int:
        """Replay whole batches; return how many of their records are not what they should be."""
        damaged = 0
        for position, header in iterate_stored_batches(buffer):
            steps = unpacked_in_steps(buffer, position, header, output_bytes_max=OUTPUT_BYTES_MAX)
            unpacked = await self._ports.record_turns.run(steps)
            views = iterate_unpacked_views(unpacked, header)
            damaged += await self._ports.turns.run(_replayed(shard, header, views))
        return damaged


def _damage_in(buffers: Iterable[Buffer], at: int, end: int) -> str | None:
    """Return what is wrong with batches asked for from ``at`` up to ``end``; None: nothing.

    Their offsets lie outside of their sums: one that is misread would end the load, and what lies
    behind it were unknown (seed 1066361).
    """
    expected = at
    try:
        for buffer in buffers:
            for position, header in iterate_stored_batches(buffer):
                if not check_stored_crc(buffer, position, header):
                    return f"wrong CRC of the batch at offset {header.base_offset}"
                # The first may begin before the log does.
                begin = expected if expected > at else header.base_offset
                if header.base_offset < begin or not expected < header.next_offset <= end:
                    told = f"offsets {header.base_offset} to {header.last_offset}"
                    return f"{told}, expected within {expected} to {end - 1}"
                expected = header.next_offset
    except Malformed as error:
        return str(error)
    return None


def _replayed(
    shard: Shard, header: BatchHeader, views: Iterator[RecordView]
) -> Generator[None, None, int]:
    producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
    damaged = 0
    for count, view in enumerate(views, start=1):
        try:
            if header.is_control:
                _replay_control(shard, header.producer_id, view)
            elif view.key is not None:
                value = None if view.value is None else bytes(view.value)
                shard.replay(bytes(view.key), value, producer_id=producer_id)
        except Malformed:
            damaged += 1
        if count % RECORDS_OF_A_STEP == 0:
            yield
    return damaged


def _replay_control(shard: Shard, producer_id: int, view: RecordView) -> None:
    kind = control_type(copy_record(view))
    if kind in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        shard.replay_end(producer_id, is_commit=kind is ControlRecordType.COMMIT)
