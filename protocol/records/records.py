"""The records inside a v2 batch, for tools, tests and lookups; the produce path never comes here.

Source: DefaultRecord.java, ControlRecordType.java, EndTransactionMarker.java.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.records.batch import HEADER_SIZE_BYTES, BatchHeader, iterate_batches
from protocol.records.compression import decompress
from protocol.records.varint import read_varint

NO_SEQUENCE: Final = -1
_SEQUENCE_COUNT: Final = 2**31
_CONTROL_KEY: Final = Struct(">hh")
_END_MARKER: Final = Struct(">hi")


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


class Record(NamedTuple):
    """One record. ``key`` and ``value`` are None for Kafka's null."""

    offset: int
    timestamp_ms: int
    sequence: int
    """-1 without an idempotent producer."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def iterate_records(buffer: Buffer, position: int, header: BatchHeader) -> Iterator[Record]:
    """Give the records of the whole batch at ``position``, decompressed.

    Raises:
        Malformed: the records do not fill the batch exactly, or a field of one is broken.
    """
    body = memoryview(buffer)[position + HEADER_SIZE_BYTES : position + header.size_bytes]
    if header.records_count == 0 and not body:
        return  # what compaction leaves has no compressed stream either
    data = memoryview(decompress(header.compression, body))
    at = 0
    for _ in range(header.records_count):
        record, at = _read_record(data, at, header)
        yield record
    if at != len(data):
        raise Malformed(f"{len(data) - at} bytes behind the last of {header.records_count} records")


def iterate_all_records(buffer: Buffer) -> Iterator[Record]:
    """Give the records of every whole batch in ``buffer``, control records included."""
    for position, header in iterate_batches(buffer):
        yield from iterate_records(buffer, position, header)


def control_type(record: Record) -> ControlRecordType:
    """Return what a record of a control batch says.

    Raises:
        Malformed: its key is no control key.
    """
    if record.key is None or len(record.key) < _CONTROL_KEY.size:
        raise Malformed("control record without a key of 4 bytes")
    code: int = _CONTROL_KEY.unpack_from(record.key)[1]
    if not 0 <= code <= ControlRecordType.KRAFT_VOTERS:
        return ControlRecordType.UNKNOWN
    return ControlRecordType(code)


def coordinator_epoch(record: Record) -> int:
    """Return the coordinator epoch of an ABORT or COMMIT marker.

    Raises:
        Malformed: the value is no end marker.
    """
    if record.value is None or len(record.value) < _END_MARKER.size:
        raise Malformed("end marker without a value of 6 bytes")
    return _END_MARKER.unpack_from(record.value)[1]


def _read_record(data: memoryview, at: int, header: BatchHeader) -> tuple[Record, int]:
    length, at = read_varint(data, at)
    end = at + length
    if not at < end <= len(data):
        raise Malformed(f"record of {length} bytes in {len(data) - at} bytes")
    record = data[:end]
    timestamp_delta, at = read_varint(record, at + 1)  # the byte skipped is "attributes", unused
    offset_delta, at = read_varint(record, at)
    key, at = _read_bytes(record, at)
    value, at = _read_bytes(record, at)
    headers, at = _read_headers(record, at)
    if at != end:
        raise Malformed(f"{end - at} bytes behind the last field of a record")
    return (
        Record(
            header.base_offset + offset_delta,
            _timestamp(header, timestamp_delta),
            _sequence(header, offset_delta),
            key,
            value,
            headers,
        ),
        end,
    )


def _timestamp(header: BatchHeader, delta: int) -> int:
    return header.max_timestamp if header.is_log_append_time else header.base_timestamp + delta


def _sequence(header: BatchHeader, offset_delta: int) -> int:
    if header.base_sequence < 0:
        return NO_SEQUENCE
    return (header.base_sequence + offset_delta) % _SEQUENCE_COUNT


def _read_bytes(data: memoryview, at: int) -> tuple[bytes | None, int]:
    length, at = read_varint(data, at)
    if length < 0:
        return None, at
    if length > len(data) - at:
        raise Malformed(f"field of {length} bytes in {len(data) - at} bytes")
    return bytes(data[at : at + length]), at + length


def _read_headers(data: memoryview, at: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, at = read_varint(data, at)
    if not 0 <= count <= len(data) - at:
        raise Malformed(f"{count} record headers in {len(data) - at} bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        key, at = _read_bytes(data, at)
        value, at = _read_bytes(data, at)
        if key is None:
            raise Malformed("record header with a null key")
        headers.append((_text(key), value))
    return tuple(headers), at


def _text(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"record header key is not UTF-8: {error}") from error
