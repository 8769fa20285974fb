"""The records inside a v2 batch, for tools, tests and conversions; the produce path stays outside.

Views leave keys, values and headers where they lie; records are copies that outlive the buffer.

Source: DefaultRecord.java, ControlRecordType.java, EndTransactionMarker.java.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from protocol.errors import Malformed
from protocol.ids import NO_SEQUENCE
from protocol.ports import Buffer
from protocol.records.batch import HEADER_SIZE_BYTES, SEQUENCE_COUNT, BatchHeader, iterate_batches
from protocol.records.compression import OUTPUT_BYTES_MAX
from protocol.records.steps import Steps, at_once, decompress_in_steps
from protocol.records.varint import read_varint

_INT32_MIN: Final = -(2**31)
_INT32_MAX: Final = 2**31 - 1
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_INT64_COUNT: Final = 2**64
CONTROL_KEY: Final = Struct(">hh")
END_MARKER: Final = Struct(">hi")

Headers = tuple[tuple[str, bytes | None], ...]


class ControlRecordType(IntEnum):
    """What a record of a control batch says."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6
    UNKNOWN = -1


class RecordView(NamedTuple):
    """One record of any format, as slices of the buffer (or of what was decompressed)."""

    offset: int
    timestamp_ms: int
    """-1 without one: format 0 has none."""
    created_ms: int
    """What the producer set; ``timestamp_ms`` differs from it where the broker set the time."""
    key: Buffer | None
    value: Buffer | None
    headers: Buffer = b""
    """Their count and fields, for ``read_headers``; empty in formats 0 and 1, which have none."""

    @property
    def size_bytes(self) -> int:
        """Of key and value."""
        key, value = self.key, self.value
        return (0 if key is None else len(key)) + (0 if value is None else len(value))


class Record(NamedTuple):
    """One record. ``key`` and ``value`` are None for Kafka's null."""

    offset: int
    timestamp_ms: int
    sequence: int
    """-1 without an idempotent producer."""
    key: bytes | None
    value: bytes | None
    headers: Headers


def iterate_record_views(
    buffer: Buffer,
    position: int,
    header: BatchHeader,
    *,
    output_bytes_max: int = OUTPUT_BYTES_MAX,
) -> Iterator[RecordView]:
    """Give the records of the whole batch at ``position`` without copying them.

    A compressed batch is decompressed as a whole, to at most ``output_bytes_max``.

    Raises:
        Malformed: the records do not fill the batch exactly, or a field of one is broken.
    """
    steps = unpacked_in_steps(buffer, position, header, output_bytes_max=output_bytes_max)
    yield from iterate_unpacked_views(at_once(steps), header)


def unpacked_in_steps(
    buffer: Buffer, position: int, header: BatchHeader, *, output_bytes_max: int
) -> Steps[memoryview]:
    """Return the records of the whole batch at ``position`` as one block without compression.

    Raises:
        Malformed: they cannot be decompressed to at most ``output_bytes_max``.
    """
    body = memoryview(buffer)[position + HEADER_SIZE_BYTES : position + header.size_bytes]
    if header.records_count == 0 and not body:
        return body  # what compaction leaves has no compressed stream either
    codec = header.compression
    plain = yield from decompress_in_steps(codec, body, output_bytes_max=output_bytes_max)
    return memoryview(plain)


def iterate_unpacked_views(data: memoryview, header: BatchHeader) -> Iterator[RecordView]:
    """Give the records of a batch that are ``data``, the block that ``unpacked_in_steps`` returned.

    Raises:
        Malformed: as ``iterate_record_views``.
    """
    append_time_ms = header.max_timestamp if header.is_log_append_time else None
    at = 0
    for _ in range(header.records_count):
        length, at = read_varint(data, at)
        end = at + length
        if not at < end <= len(data):
            raise Malformed(f"record of {length} bytes in {len(data) - at} bytes")
        yield _view(data[at:end], header, append_time_ms)
        at = end
    if at != len(data):
        raise Malformed(f"{len(data) - at} bytes behind the last of {header.records_count} records")


def iterate_records(buffer: Buffer, position: int, header: BatchHeader) -> Iterator[Record]:
    """Give copies of the records of the whole batch at ``position``.

    Raises:
        Malformed: as ``iterate_record_views``, or the headers of a record are broken.
    """
    for view in iterate_record_views(buffer, position, header):
        yield copy_record(view, _sequence(header, view.offset - header.base_offset))


def iterate_all_records(buffer: Buffer) -> Iterator[Record]:
    """Give the records of every whole batch in ``buffer``, control records included."""
    for position, header in iterate_batches(buffer):
        yield from iterate_records(buffer, position, header)


def copy_record(view: RecordView, sequence: int = NO_SEQUENCE) -> Record:
    """Return a record that does not hold on to the buffer of ``view``.

    Raises:
        Malformed: its headers are broken.
    """
    key, value = view.key, view.value
    return Record(
        view.offset,
        view.timestamp_ms,
        sequence,
        None if key is None else bytes(key),
        None if value is None else bytes(value),
        read_headers(view.headers),
    )


def read_headers(data: Buffer) -> Headers:
    """Return the headers that ``RecordView.headers`` holds.

    Raises:
        Malformed: they do not fill ``data`` exactly, a key is null or not UTF-8.
    """
    if not data:
        return ()
    count, at = read_varint(data, 0)
    if not 0 <= count <= len(data) - at:
        raise Malformed(f"{count} record headers in {len(data) - at} bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        key, at = _read_slice(data, at)
        value, at = _read_slice(data, at)
        if key is None:
            raise Malformed("record header with a null key")
        headers.append((_text(key), None if value is None else bytes(value)))
    if at != len(data):
        raise Malformed(f"{len(data) - at} bytes behind the last field of a record")
    return tuple(headers)


def control_type(record: Record) -> ControlRecordType:
    """Return what a record of a control batch says.

    Raises:
        Malformed: its key is no control key.
    """
    if record.key is None or len(record.key) < CONTROL_KEY.size:
        raise Malformed("control record without a key of 4 bytes")
    code: int = CONTROL_KEY.unpack_from(record.key)[1]
    if not 0 <= code <= ControlRecordType.KRAFT_VOTERS:
        return ControlRecordType.UNKNOWN
    return ControlRecordType(code)


def coordinator_epoch(record: Record) -> int:
    """Return the coordinator epoch of an ABORT or COMMIT marker.

    Raises:
        Malformed: the value is no end marker.
    """
    if record.value is None or len(record.value) < END_MARKER.size:
        raise Malformed("end marker without a value of 6 bytes")
    return END_MARKER.unpack_from(record.value)[1]


def wrapped_int64(value: int) -> int:
    """Return ``value`` as 64 bits hold it: sums of offsets and of timestamps wrap as in Java."""
    if _INT64_MIN <= value <= _INT64_MAX:
        return value
    return (value - _INT64_MIN) % _INT64_COUNT + _INT64_MIN


def _view(record: memoryview, header: BatchHeader, append_time_ms: int | None) -> RecordView:
    timestamp_delta, at = read_varint(record, 1)  # the byte skipped is "attributes", unused
    offset_delta, at = read_varint(record, at)
    if not _INT32_MIN <= offset_delta <= _INT32_MAX:
        raise Malformed(f"offset delta {offset_delta}")
    key, at = _read_slice(record, at)
    value, at = _read_slice(record, at)
    if at == len(record):
        raise Malformed("record without a count of headers")
    created_ms = wrapped_int64(header.base_timestamp + timestamp_delta)
    return RecordView(
        wrapped_int64(header.base_offset + offset_delta),
        created_ms if append_time_ms is None else append_time_ms,
        created_ms,
        key,
        value,
        record[at:],
    )


def _sequence(header: BatchHeader, offset_delta: int) -> int:
    if header.base_sequence < 0:
        return NO_SEQUENCE
    return (header.base_sequence + offset_delta) % SEQUENCE_COUNT


def _read_slice(data: Buffer, at: int) -> tuple[Buffer | None, int]:
    length, at = read_varint(data, at)
    if length < 0:
        return None, at
    end = at + length
    if end > len(data):
        raise Malformed(f"field of {length} bytes in {len(data) - at} bytes")
    return data[at:end], end


def _text(key: Buffer) -> str:
    try:
        return bytes(key).decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"record header key is not UTF-8: {error}") from error
