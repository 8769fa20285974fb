"""What compaction leaves of a batch: all of it, some records, an empty batch, or nothing.

Offsets, sequences and epochs never change. It reads whole batches and writes no files.

Source: LogCleaner.scala cleanInto and shouldRetainRecord, MemoryRecords.filterTo; KIP-534.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

from broker.core.cleaned_transactions import Aborted, CleanedTransactions
from broker.core.offset_map import OffsetMap
from broker.core.producers import ProducerEntry
from protocol.ids import NO_OFFSET, NO_SEQUENCE, NO_TIMESTAMP
from protocol.ports import Buffer
from protocol.records.batch import (
    COMPRESSION_MASK,
    DELETE_HORIZON_BIT,
    HEADER_SIZE_BYTES,
    LOG_OVERHEAD_BYTES,
    BatchHeader,
)
from protocol.records.build import seal_batch
from protocol.records.compression import compress
from protocol.records.records import ControlRecordType, control_type, iterate_records
from protocol.records.spans import RecordSpan, append_span, record_bytes, record_spans

A = TypeVar("A", bound=Aborted)

_TIMESTAMP_MAX: Final = 2**63 - 1


class LastOfProducer(NamedTuple):
    """What the producer state hangs on: the last batch of a producer that is still known."""

    producer_epoch: int
    last_offset: int
    """-1: only a marker is known."""


def last_of_producers(entries: Sequence[ProducerEntry]) -> dict[int, LastOfProducer]:
    """Return the last batch of each producer, by id."""
    return {
        entry.producer_id: LastOfProducer(
            entry.producer_epoch,
            NO_OFFSET if entry.last_sequence == NO_SEQUENCE else entry.last_offset,
        )
        for entry in entries
    }


@dataclass(slots=True, kw_only=True)
class BatchCleaning(Generic[A]):
    """The rules of one pass over one log; ``clean`` takes every batch, in order."""

    offsets: OffsetMap
    """Of the dirty part."""
    end_offset: int
    """Where the pass ends: its last batch stays, if only empty, so that no end is lost."""
    producers: Mapping[int, LastOfProducer]
    now_ms: int
    delete_retention_ms: int
    transactions: CleanedTransactions[A] = field(default_factory=CleanedTransactions[A])

    def clean(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        """Return what stays of ``batch``: itself, a shorter one, or None.

        Raises:
            Malformed: its records cannot be read.
        """
        kept = self._clean_marker(header, batch) if header.is_control else None
        if not header.is_control:
            kept = self._clean_data(header, batch)
        if kept is None and self._must_stay(header):
            kept = batch if header.records_count == 0 else _emptied(header)
        return kept

    def _clean_marker(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        """Keep a marker while its transaction has data, and ``delete.retention.ms`` longer."""
        may_go = self.transactions.read_marker(header, control_of(header, batch))
        horizon_ms = header.delete_horizon_ms
        if header.records_count == 0 or (
            may_go and horizon_ms is not None and horizon_ms <= self.now_ms
        ):
            return None
        if not may_go or horizon_ms is not None:
            return batch
        data = record_bytes(batch, header)
        return self._with_horizon(header, data, record_spans(data, header.records_count))

    def _clean_data(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        if self.transactions.read_data(header) or header.records_count == 0:
            return None
        data = record_bytes(batch, header)
        spans = record_spans(data, header.records_count)
        kept = [span for span in spans if self._stays(header, span)]
        if not kept:
            return None
        needs_horizon = header.delete_horizon_ms is None and any(s.is_tombstone for s in kept)
        if len(kept) == len(spans) and not needs_horizon:
            return batch
        if needs_horizon:
            return self._with_horizon(header, data, kept)
        changed = header._replace(max_timestamp=_newest_ms(header, kept))
        return _stored(changed, b"".join([data[s.start : s.end] for s in kept]), len(kept))

    def _stays(self, header: BatchHeader, span: RecordSpan) -> bool:
        """Keep the last value of a key, and a tombstone until its horizon has come."""
        offset = header.base_offset + span.offset_delta
        if offset > self.offsets.latest_offset:
            return True
        if span.key is None or offset < self.offsets.get(span.key):
            return False
        horizon_ms = header.delete_horizon_ms
        return not span.is_tombstone or horizon_ms is None or self.now_ms < horizon_ms

    def _must_stay(self, header: BatchHeader) -> bool:
        """Tell whether a batch stays even without records."""
        if header.next_offset == self.end_offset:
            return True
        last = self.producers.get(header.producer_id)
        if last is None:
            return False
        if last.last_offset != NO_OFFSET:
            return header.last_offset == last.last_offset
        return header.is_control and header.producer_epoch == last.producer_epoch

    def _with_horizon(
        self, header: BatchHeader, data: bytes, kept: Sequence[RecordSpan]
    ) -> bytearray:
        """Give the batch its horizon: the base timestamp from now on, deltas follow from that."""
        horizon_ms = min(self.now_ms + self.delete_retention_ms, _TIMESTAMP_MAX)
        shift_ms = header.base_timestamp - horizon_ms
        output = bytearray()
        for span in kept:
            append_span(output, data, span, span.timestamp_delta + shift_ms)
        changed = header._replace(
            attributes=header.attributes | DELETE_HORIZON_BIT,
            base_timestamp=horizon_ms,
            max_timestamp=_newest_ms(header, kept),
        )
        return _stored(changed, output, len(kept))


def control_of(header: BatchHeader, batch: Buffer) -> ControlRecordType | None:
    """Return what a control batch says, None when it was emptied.

    Raises:
        Malformed: its record cannot be read.
    """
    if header.records_count == 0:
        return None
    return control_type(next(iterate_records(batch, 0, header)))


def index_keys(offsets: OffsetMap, header: BatchHeader, batch: Buffer, start_offset: int) -> bool:
    """Note the keys of a batch's records from ``start_offset`` on; False when the map is full.

    Raises:
        Malformed: its records cannot be read.
    """
    data = record_bytes(batch, header)
    for span in record_spans(data, header.records_count):
        offset = header.base_offset + span.offset_delta
        if span.key is not None and offset >= start_offset and not offsets.put(span.key, offset):
            return False
    return True


def _stored(header: BatchHeader, data: Buffer, count: int) -> bytearray:
    """Return the batch of ``header`` with ``count`` other records, compressed as before."""
    stored = compress(header.compression, data)
    return seal_batch(_sized(header, len(stored))._replace(records_count=count), stored)


def _emptied(header: BatchHeader) -> bytearray:
    """Return the batch without records: offsets, sequence and epoch are all it is kept for.

    Source: DefaultRecordBatch.writeEmptyHeader.
    """
    attributes = header.attributes & ~(COMPRESSION_MASK | DELETE_HORIZON_BIT)
    empty = _sized(header, 0)._replace(
        attributes=attributes, base_timestamp=NO_TIMESTAMP, records_count=0
    )
    return seal_batch(empty, b"")


def _sized(header: BatchHeader, records_bytes: int) -> BatchHeader:
    return header._replace(
        batch_length=HEADER_SIZE_BYTES - LOG_OVERHEAD_BYTES + records_bytes, crc=0
    )


def _newest_ms(header: BatchHeader, kept: Sequence[RecordSpan]) -> int:
    if header.is_log_append_time:
        return header.max_timestamp
    return header.base_timestamp + max(span.timestamp_delta for span in kept)
