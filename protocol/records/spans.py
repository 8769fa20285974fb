"""Where the records of a v2 batch lie and what their keys are: compaction copies records by it.

It reads no values and no headers, and it builds no records.

Source: DefaultRecord.java.
"""

from __future__ import annotations

from typing import NamedTuple

from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.records.batch import HEADER_SIZE_BYTES, BatchHeader
from protocol.records.compression import OUTPUT_BYTES_MAX, decompress
from protocol.records.varint import append_varint, read_varint


class RecordSpan(NamedTuple):
    """One record inside the uncompressed records of its batch."""

    start: int
    end: int
    timestamp_delta: int
    offset_delta_at: int
    """Where the offset delta begins; all before it but the attributes depends on the batch."""
    offset_delta: int
    key: bytes | None
    is_tombstone: bool
    """Its value is null."""


def record_bytes(
    batch: Buffer, header: BatchHeader, *, output_bytes_max: int = OUTPUT_BYTES_MAX
) -> bytes:
    """Return the records of a whole ``batch`` as they are when nothing compresses them.

    Raises:
        Malformed: they cannot be decompressed.
    """
    body = memoryview(batch)[HEADER_SIZE_BYTES : header.size_bytes]
    if header.records_count == 0 and not body:
        return b""
    return bytes(decompress(header.compression, body, output_bytes_max=output_bytes_max))


def record_spans(data: bytes, count: int) -> list[RecordSpan]:
    """Find the ``count`` records that fill ``data``.

    Raises:
        Malformed: they do not fill it exactly, or a field of one is broken.
    """
    spans: list[RecordSpan] = []
    start = 0
    for _ in range(count):
        span = _read_span(data, start)
        spans.append(span)
        start = span.end
    if start != len(data):
        raise Malformed(f"{len(data) - start} bytes behind the last of {count} records")
    return spans


def first_without_key(data: bytes, count: int) -> int | None:
    """Return the number of the first of ``count`` records that has no key.

    Raises:
        Malformed: as ``record_spans``.
    """
    for number, span in enumerate(record_spans(data, count)):
        if span.key is None:
            return number
    return None


def append_span(output: bytearray, data: bytes, span: RecordSpan, timestamp_delta: int) -> None:
    """Write the record at ``span`` of ``data`` behind ``output`` with another timestamp delta."""
    timestamp = bytearray()
    append_varint(timestamp, timestamp_delta)
    rest = data[span.offset_delta_at : span.end]
    append_varint(output, 1 + len(timestamp) + len(rest))
    output.append(0)  # attributes, unused
    output += timestamp
    output += rest


def _read_span(data: bytes, start: int) -> RecordSpan:
    length, at = read_varint(data, start)
    end = at + length
    if not at < end <= len(data):
        raise Malformed(f"record of {length} bytes in {len(data) - at} bytes")
    timestamp_delta, offset_delta_at = read_varint(data, at + 1)
    offset_delta, at = read_varint(data, offset_delta_at)
    key_bytes, at = read_varint(data, at)
    key = None
    if key_bytes >= 0:
        key = data[at : at + key_bytes]
        at += key_bytes
    if at >= end:
        raise Malformed(f"key of {key_bytes} bytes in a record of {length} bytes")
    value_bytes, at = read_varint(data, at)
    if at + max(value_bytes, 0) >= end:
        raise Malformed(f"value of {value_bytes} bytes in a record of {length} bytes")
    return RecordSpan(
        start, end, timestamp_delta, offset_delta_at, offset_delta, key, value_bytes < 0
    )
