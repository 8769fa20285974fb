"""What idempotent producers wrote to one log: duplicates, gaps and fenced epochs.

It keeps the last five batches per producer, as Kafka does, and no records. A transaction is
followed only as far as its first offset; nothing here coordinates transactions.
Source: ProducerStateManager.java, ProducerAppendInfo.java, ProducerStateEntry.java, KIP-98.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_OFFSET
from protocol.records.batch import BatchHeader

BATCHES_KEPT: Final = 5
"""A producer may have as many requests in flight and still find its duplicates."""
SEQUENCE_MAX: Final = 2**31 - 1
NO_SEQUENCE: Final = -1
PRODUCER_ID_EXPIRATION_MS: Final = 86_400_000
NO_COORDINATOR_EPOCH: Final = -1


class Duplicate(NamedTuple):
    """A batch that is in the log already: answer these offsets, write nothing."""

    first_offset: int
    last_offset: int
    timestamp: int


class WrittenBatch(NamedTuple):
    """One of the last batches of a producer."""

    base_sequence: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int


class ProducerEntry(NamedTuple):
    """One producer as the snapshot file holds it."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    """-1: known only by a marker."""
    last_offset: int
    """-1 with ``last_sequence`` -1."""
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    transaction_first_offset: int
    """Of the open transaction, -1 without one."""


class _Producer:
    """What is known of one producer id."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_sequence",
        "seen_ms",
        "timestamp",
        "transaction_first_offset",
    )

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.last_sequence = NO_SEQUENCE
        self.timestamp = -1
        self.seen_ms = -1
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.transaction_first_offset: int = NO_OFFSET
        self.batches: list[WrittenBatch] = []


class ProducerStates:
    """The producers of one log."""

    __slots__ = ("_expiration_ms", "_producers")

    def __init__(
        self,
        entries: Iterable[ProducerEntry] = (),
        *,
        expiration_ms: int = PRODUCER_ID_EXPIRATION_MS,
    ) -> None:
        self._expiration_ms = expiration_ms
        self._producers: dict[int, _Producer] = {}
        self.load(entries)

    def __len__(self) -> int:
        return len(self._producers)

    def check(self, header: BatchHeader) -> Duplicate | None:
        """Decide whether a client's batch may be appended; the Duplicate when it was before.

        A producer that is not known may start with any sequence.

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH, a newer instance has written;
                OUT_OF_ORDER_SEQUENCE_NUMBER, records before this batch are missing, or it repeats
                one older than the last five.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return None
        if header.producer_epoch == producer.epoch:
            return _check_sequence(producer, header)
        if header.producer_epoch < producer.epoch:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} has epoch {header.producer_epoch}, "
                f"the last one seen is {producer.epoch}",
            )
        if header.base_sequence != 0:
            raise _out_of_order(header, "a new producer epoch begins with sequence 0")
        return None

    def update(
        self,
        header: BatchHeader,
        base_offset: int,
        *,
        timestamp: int | None = None,
        now_ms: int = -1,
    ) -> None:
        """Note a batch that gets ``base_offset``; a leader must ``check`` it before.

        Args:
            header: the batch; one without a producer id changes nothing.
            base_offset: the offset of its first record, whatever the header says.
            timestamp: the batch's max timestamp when it is stamped with the append time.
            now_ms: wall clock; without it the record timestamps tell how long a producer is idle.
        """
        if header.producer_id < 0:
            return
        producer = self._producer_of(header)
        at = header.max_timestamp if timestamp is None else timestamp
        producer.timestamp = at
        producer.seen_ms = now_ms
        if header.is_control:
            producer.transaction_first_offset = NO_OFFSET
            return
        delta = header.last_offset_delta
        last_sequence = header.last_sequence
        producer.last_sequence = last_sequence
        batches = producer.batches
        batches.append(
            WrittenBatch(header.base_sequence, last_sequence, base_offset + delta, delta, at)
        )
        if len(batches) > BATCHES_KEPT:
            del batches[0]
        if header.is_transactional and producer.transaction_first_offset == NO_OFFSET:
            producer.transaction_first_offset = base_offset

    def update_replicated(self, headers: Iterable[BatchHeader]) -> None:
        """Note batches that carry their offsets: fetched from a leader or found on disk."""
        for header in headers:
            if header.producer_id >= 0:
                self.update(header, header.base_offset)

    def first_unstable_offset(self) -> int:
        """Return where the oldest open transaction begins, -1 without one."""
        offsets = [
            producer.transaction_first_offset
            for producer in self._producers.values()
            if producer.transaction_first_offset != NO_OFFSET
        ]
        return min(offsets, default=NO_OFFSET)

    def expire(self, now_ms: int) -> int:
        """Forget producers that have been idle too long; return how many."""
        expired = [
            producer_id
            for producer_id, producer in self._producers.items()
            if self._is_expired(producer, now_ms)
        ]
        for producer_id in expired:
            del self._producers[producer_id]
        return len(expired)

    def truncate_from_end(self, offset: int) -> None:
        """Forget batches that reach ``offset`` or beyond.

        The sequence before the oldest forgotten batch is known from that batch, so the producer
        must go on exactly there. Kafka reads a snapshot and the log again instead.
        """
        for producer in self._producers.values():
            _truncate(producer, offset)

    def clear(self) -> None:
        """Forget all producers: the log was truncated fully."""
        self._producers.clear()

    def snapshot_entries(self) -> list[ProducerEntry]:
        """Return the entries of a snapshot, by producer id."""
        return [
            _entry_of(producer_id, self._producers[producer_id])
            for producer_id in sorted(self._producers)
        ]

    def load(self, entries: Iterable[ProducerEntry]) -> None:
        """Replace everything by the entries of a snapshot."""
        self._producers = {entry.producer_id: _producer_from(entry) for entry in entries}

    def _is_expired(self, producer: _Producer, now_ms: int) -> bool:
        if producer.transaction_first_offset != NO_OFFSET:
            return False
        last_ms = producer.timestamp if producer.seen_ms < 0 else producer.seen_ms
        return now_ms - last_ms >= self._expiration_ms

    def _producer_of(self, header: BatchHeader) -> _Producer:
        producer = self._producers.get(header.producer_id)
        if producer is None:
            producer = self._producers[header.producer_id] = _Producer(header.producer_epoch)
        elif producer.epoch != header.producer_epoch:
            producer.epoch = header.producer_epoch
            producer.last_sequence = NO_SEQUENCE
            producer.batches.clear()
        return producer


def follows(last_sequence: int, next_sequence: int) -> bool:
    """Tell whether ``next_sequence`` comes after ``last_sequence``; 2147483647 is followed by 0."""
    return next_sequence == last_sequence + 1 or (
        next_sequence == 0 and last_sequence == SEQUENCE_MAX
    )


def _check_sequence(producer: _Producer, header: BatchHeader) -> Duplicate | None:
    if follows(producer.last_sequence, header.base_sequence):
        return None
    last_sequence = header.last_sequence
    for batch in producer.batches:
        if batch.base_sequence == header.base_sequence and batch.last_sequence == last_sequence:
            first_offset = batch.last_offset - batch.offset_delta
            return Duplicate(first_offset, batch.last_offset, batch.timestamp)
    raise _out_of_order(header, f"the last one in the log is {producer.last_sequence}")


def _out_of_order(header: BatchHeader, reason: str) -> KafkaError:
    return KafkaError(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id} sent sequence {header.base_sequence}: {reason}",
    )


def _truncate(producer: _Producer, offset: int) -> None:
    if producer.transaction_first_offset >= offset:
        producer.transaction_first_offset = NO_OFFSET
    kept = [batch for batch in producer.batches if batch.last_offset < offset]
    if len(kept) == len(producer.batches):
        return
    oldest_gone = producer.batches[len(kept)]
    producer.last_sequence = oldest_gone.base_sequence - 1
    if kept:
        producer.last_sequence = kept[-1].last_sequence
        producer.timestamp = kept[-1].timestamp
    producer.batches = kept


def _entry_of(producer_id: int, producer: _Producer) -> ProducerEntry:
    last = producer.batches[-1] if producer.batches else None
    return ProducerEntry(
        producer_id=producer_id,
        producer_epoch=producer.epoch,
        last_sequence=last.last_sequence if last else NO_SEQUENCE,
        last_offset=last.last_offset if last else NO_OFFSET,
        offset_delta=last.offset_delta if last else 0,
        timestamp=producer.timestamp,
        coordinator_epoch=producer.coordinator_epoch,
        transaction_first_offset=producer.transaction_first_offset,
    )


def _producer_from(entry: ProducerEntry) -> _Producer:
    producer = _Producer(entry.producer_epoch)
    producer.timestamp = entry.timestamp
    producer.coordinator_epoch = entry.coordinator_epoch
    producer.transaction_first_offset = entry.transaction_first_offset
    if entry.last_sequence != NO_SEQUENCE:
        producer.last_sequence = entry.last_sequence
        base_sequence = (entry.last_sequence - entry.offset_delta) % (SEQUENCE_MAX + 1)
        producer.batches.append(
            WrittenBatch(
                base_sequence,
                entry.last_sequence,
                entry.last_offset,
                entry.offset_delta,
                entry.timestamp,
            )
        )
    return producer
