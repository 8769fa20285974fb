"""One producer of one log: its last batches, its epoch, and where its open transaction begins.

All producers of a log are in `broker.core.producers`, the bytes of snapshots in
`broker.storage.producer_snapshot`.
Source: ProducerStateEntry.java, BatchMetadata.java.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_OFFSET, NO_SEQUENCE
from protocol.records.batch import BatchHeader

BATCHES_KEPT: Final = 5
"""A producer may have as many requests in flight and still find its duplicates."""
SEQUENCE_MAX: Final = 2**31 - 1
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


class Producer:
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
        """The largest of its last batch."""
        self.seen_ms = -1
        """The clock's when it wrote last; -1 when that was found on disk."""
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.transaction_first_offset: int = NO_OFFSET
        self.batches: list[WrittenBatch] = []

    @classmethod
    def from_entry(cls, entry: ProducerEntry) -> Producer:
        """Return what a snapshot knows: of the batches the last one."""
        producer = cls(entry.producer_epoch)
        producer.timestamp = entry.timestamp
        producer.coordinator_epoch = entry.coordinator_epoch
        producer.transaction_first_offset = entry.transaction_first_offset
        if entry.last_sequence == NO_SEQUENCE:
            return producer
        producer.last_sequence = entry.last_sequence
        base_sequence = (entry.last_sequence - entry.offset_delta) % (SEQUENCE_MAX + 1)
        last = WrittenBatch(
            base_sequence,
            entry.last_sequence,
            entry.last_offset,
            entry.offset_delta,
            entry.timestamp,
        )
        producer.batches.append(last)
        return producer

    def entry(self, producer_id: int) -> ProducerEntry:
        """Return what a snapshot keeps."""
        last = self.batches[-1] if self.batches else None
        return ProducerEntry(
            producer_id=producer_id,
            producer_epoch=self.epoch,
            last_sequence=last.last_sequence if last else NO_SEQUENCE,
            last_offset=last.last_offset if last else NO_OFFSET,
            offset_delta=last.offset_delta if last else 0,
            timestamp=self.timestamp,
            coordinator_epoch=self.coordinator_epoch,
            transaction_first_offset=self.transaction_first_offset,
        )

    def lacks_batches(self, first_offset: int) -> bool:
        """Tell whether it wrote more before its batches here, while behind ``first_offset``."""
        batches = self.batches
        return (
            0 < len(batches) < BATCHES_KEPT
            and batches[0].base_sequence > 0
            and batches[-1].last_offset >= first_offset
        )

    def recall(self, batches: Sequence[WrittenBatch]) -> None:
        """Take over batches that the log has of this epoch, if the last one is the same."""
        if self.batches and batches[-1].last_offset == self.batches[-1].last_offset:
            self.batches = list(batches[-BATCHES_KEPT:])

    @property
    def last_seen_ms(self) -> int:
        """When it wrote last: by the clock, or by its records when they were found on disk."""
        return self.timestamp if self.seen_ms < 0 else self.seen_ms

    def check_sequence(self, header: BatchHeader) -> Duplicate | None:
        """Decide whether a batch of this epoch goes on where the last one ended.

        Raises:
            KafkaError: OUT_OF_ORDER_SEQUENCE_NUMBER, it does not, nor is it one of the last five.
        """
        if follows(self.last_sequence, header.base_sequence):
            return None
        duplicate = self.duplicate_of(header)
        if duplicate is not None:
            return duplicate
        raise out_of_order(header, f"the last one in the log is {self.last_sequence}")

    def duplicate_of(self, header: BatchHeader) -> Duplicate | None:
        """Return which of the last five batches it repeats, if any."""
        if header.producer_epoch != self.epoch:
            return None
        last_sequence = header.last_sequence
        for batch in self.batches:
            if batch.base_sequence == header.base_sequence and batch.last_sequence == last_sequence:
                first_offset = batch.last_offset - batch.offset_delta
                return Duplicate(first_offset, batch.last_offset, batch.timestamp)
        return None

    def truncate_from_end(self, offset: int) -> None:
        """Forget batches that reach ``offset`` or beyond; go on where the first of them was."""
        if self.transaction_first_offset >= offset:
            self.transaction_first_offset = NO_OFFSET
        kept = [batch for batch in self.batches if batch.last_offset < offset]
        if len(kept) == len(self.batches):
            return
        oldest_gone = self.batches[len(kept)]
        self.last_sequence = oldest_gone.base_sequence - 1
        if kept:
            self.last_sequence = kept[-1].last_sequence
            self.timestamp = kept[-1].timestamp
        self.batches = kept


def follows(last_sequence: int, next_sequence: int) -> bool:
    """Tell whether ``next_sequence`` comes after ``last_sequence``; 2147483647 is followed by 0."""
    return next_sequence == last_sequence + 1 or (
        next_sequence == 0 and last_sequence == SEQUENCE_MAX
    )


def out_of_order(header: BatchHeader, reason: str) -> KafkaError:
    """Return the error for a batch whose sequence does not go on."""
    return KafkaError(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id} sent sequence {header.base_sequence}: {reason}",
    )
