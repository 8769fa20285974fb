"""Builds v2 batches from records, for tests, tools and the markers a broker writes itself.

It does not check what a leader checks; a batch it builds may be wrong on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from protocol.ids import NO_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from protocol.ports import Buffer
from protocol.records.batch import (
    CONTROL_BIT,
    CRC,
    CRC_POSITION,
    DELETE_HORIZON_BIT,
    HEADER_SIZE_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Compression,
    compute_crc,
    pack_header,
)
from protocol.records.compression import compress
from protocol.records.records import (
    CONTROL_KEY,
    END_MARKER,
    ControlRecordType,
    Headers,
    wrapped_int64,
)
from protocol.records.varint import append_varint


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record to be written."""

    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int = 0
    headers: Headers = ()
    offset_delta: int | None = None
    """From the batch's base offset; None: one more than the record before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """What a batch says about all of its records."""

    base_offset: int = 0
    leader_epoch: int = NO_EPOCH
    compression: Compression = Compression.NONE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False
    is_control: bool = False
    log_append_time_ms: int | None = None
    """None: the records keep the time at which they were created."""
    last_offset_delta: int | None = None
    """None: that of the last record. Compaction leaves greater ones."""
    max_timestamp_ms: int | None = None
    """None: that of the newest record. Compaction leaves greater ones, too."""
    delete_horizon_ms: int | None = None
    """When compaction may remove the tombstones; takes the place of the first timestamp."""


_DEFAULTS: Final = BatchOptions()


def build_batch(records: Sequence[NewRecord], options: BatchOptions = _DEFAULTS) -> bytearray:
    """Return one batch; it is writable, so that it can be stamped in place."""
    base_timestamp = options.delete_horizon_ms
    if base_timestamp is None:
        base_timestamp = records[0].timestamp_ms if records else -1
    body, last_delta = _build_records(records, base_timestamp)
    data = compress(options.compression, body) if records else body
    header = BatchHeader(
        base_offset=options.base_offset,
        batch_length=HEADER_SIZE_BYTES - LOG_OVERHEAD_BYTES + len(data),
        partition_leader_epoch=options.leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=_attributes(options),
        last_offset_delta=(
            last_delta if options.last_offset_delta is None else options.last_offset_delta
        ),
        base_timestamp=base_timestamp,
        max_timestamp=_max_timestamp(records, options),
        producer_id=options.producer_id,
        producer_epoch=options.producer_epoch,
        base_sequence=options.base_sequence,
        records_count=len(records),
    )
    return seal_batch(header, data)


def seal_batch(header: BatchHeader, data: Buffer) -> bytearray:
    """Return the batch of ``header`` and its records as they are stored, with the right sum."""
    batch = bytearray(pack_header(header))
    batch += data
    CRC.pack_into(batch, CRC_POSITION, compute_crc(batch, 0, len(batch)))
    return batch


def append_record(
    output: bytearray,
    timestamp_delta: int,
    offset_delta: int,
    key: Buffer | None,
    value: Buffer | None,
    headers: Headers = (),
) -> None:
    """Write one record of an uncompressed batch at the end of ``output``."""
    for part in record_parts(timestamp_delta, offset_delta, key, value, headers):
        output += part


def record_parts(
    timestamp_delta: int,
    offset_delta: int,
    key: Buffer | None,
    value: Buffer | None,
    headers: Headers = (),
) -> tuple[Buffer, ...]:
    """Return what one record of an uncompressed batch consists of; nothing large is copied."""
    key_bytes = -1 if key is None else len(key)
    value_bytes = -1 if value is None else len(value)
    fields = bytearray(1)  # attributes, unused
    append_varint(fields, timestamp_delta)
    append_varint(fields, offset_delta)
    append_varint(fields, key_bytes)
    middle = bytearray()
    append_varint(middle, value_bytes)
    tail = bytearray()
    append_varint(tail, len(headers))
    for name, content in headers:
        _append_bytes(tail, name.encode())
        _append_bytes(tail, content)
    head = bytearray()
    size_bytes = len(fields) + len(middle) + len(tail)
    append_varint(head, size_bytes + max(key_bytes, 0) + max(value_bytes, 0))
    head += fields
    return head, key or b"", middle, value or b"", tail


def build_batches(values: Sequence[bytes], *, count_per_batch: int = 1) -> bytearray:
    """Return batches of plain values, offsets from 0, one behind the other."""
    batches = bytearray()
    for start in range(0, len(values), count_per_batch):
        records = [NewRecord(value) for value in values[start : start + count_per_batch]]
        batches += build_batch(records, BatchOptions(base_offset=start))
    return batches


def build_end_marker(
    control: ControlRecordType,
    *,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp_ms: int,
) -> bytearray:
    """Return the batch that ends a transaction: ``control`` is ABORT or COMMIT.

    Source: EndTransactionMarker.java.
    """
    assert control in {ControlRecordType.ABORT, ControlRecordType.COMMIT}
    record = NewRecord(
        value=END_MARKER.pack(0, coordinator_epoch),
        key=CONTROL_KEY.pack(0, control),
        timestamp_ms=timestamp_ms,
    )
    return build_batch(
        [record],
        BatchOptions(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=True,
            is_control=True,
        ),
    )


def _attributes(options: BatchOptions) -> int:
    attributes = int(options.compression)
    if options.log_append_time_ms is not None:
        attributes |= TIMESTAMP_TYPE_BIT
    if options.is_transactional:
        attributes |= TRANSACTIONAL_BIT
    if options.is_control:
        attributes |= CONTROL_BIT
    if options.delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_BIT
    return attributes


def _max_timestamp(records: Sequence[NewRecord], options: BatchOptions) -> int:
    if options.log_append_time_ms is not None:
        return options.log_append_time_ms
    if options.max_timestamp_ms is not None:
        return options.max_timestamp_ms
    return max((record.timestamp_ms for record in records), default=-1)


def _build_records(records: Sequence[NewRecord], base_timestamp: int) -> tuple[bytearray, int]:
    output = bytearray()
    delta = -1
    for record in records:
        delta = delta + 1 if record.offset_delta is None else record.offset_delta
        timestamp_delta = wrapped_int64(record.timestamp_ms - base_timestamp)
        append_record(output, timestamp_delta, delta, record.key, record.value, record.headers)
    return output, max(delta, 0)


def _append_bytes(body: bytearray, data: Buffer | None) -> None:
    if data is None:
        append_varint(body, -1)
        return
    append_varint(body, len(data))
    body += data
