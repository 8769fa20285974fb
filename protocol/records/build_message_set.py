"""Builds message sets, the record formats 0 and 1, from records: for conversions, tests and tools.

Headers, control records and producer ids do not exist in these formats and are left out.

Source: MemoryRecordsBuilder.java, LegacyRecord.java.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import Final
from zlib import crc32

from protocol.ports import Buffer
from protocol.records.batch import TIMESTAMP_TYPE_BIT, Compression
from protocol.records.build import NewRecord
from protocol.records.compression import compress
from protocol.records.message_set import NO_TIMESTAMP, OLD_MAGICS
from protocol.records.records import RecordView, wrapped_int64

_OFFSET_LENGTH_AND_CRC: Final = Struct(">qiI")
_FIELDS_V0: Final = Struct(">bb")
_FIELDS_V1: Final = Struct(">bbq")
_FIELD_LENGTH: Final = Struct(">i")
_NULL: Final = _FIELD_LENGTH.pack(-1)
_CRC_BYTES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSetOptions:
    """What a message set says about all of its messages."""

    magic: int
    """0 or 1."""
    base_offset: int = 0
    compression: Compression = Compression.NONE
    """Not ZSTD, which these formats do not have."""
    log_append_time_ms: int | None = None
    """None: the records keep the time at which they were created. Format 0 has no times."""


def build_message_set(records: Iterable[NewRecord], options: MessageSetOptions) -> bytearray:
    """Return a message set of ``records``."""
    views: list[RecordView] = []
    append_time_ms = options.log_append_time_ms
    offset = options.base_offset - 1
    for record in records:
        delta = record.offset_delta
        offset = offset + 1 if delta is None else options.base_offset + delta
        time_ms = record.timestamp_ms if append_time_ms is None else append_time_ms
        views.append(RecordView(offset, time_ms, time_ms, record.key, record.value))
    is_log_append_time = append_time_ms is not None
    return pack_message_set(
        views, options.magic, options.compression, is_log_append_time=is_log_append_time
    )


def pack_message_set(
    records: Iterable[RecordView],
    magic: int,
    compression: Compression,
    *,
    is_log_append_time: bool,
) -> bytearray:
    """Return ``records`` one by one, or in one wrapper when they are to be compressed.

    Their timestamps are written as they are; ``is_log_append_time`` says whose they are. No records
    make an empty set, compressed or not.
    """
    assert magic in OLD_MAGICS, f"format {magic} has no message sets"
    assert compression is not Compression.ZSTD, "zstd came with format 2"
    attributes = TIMESTAMP_TYPE_BIT if is_log_append_time and magic > 0 else 0
    if compression is not Compression.NONE:
        return _pack_wrapper(list(records), magic, compression, attributes)
    output = bytearray()
    for record in records:
        _append_message(output, record, magic, attributes)
    return output


def _pack_wrapper(
    records: list[RecordView], magic: int, compression: Compression, attributes: int
) -> bytearray:
    output = bytearray()
    if not records:
        return output
    inner = bytearray()
    base_offset = records[0].offset if magic > 0 else 0
    newest_ms = NO_TIMESTAMP
    for record in records:
        newest_ms = max(newest_ms, record.timestamp_ms)
        relative = record._replace(offset=wrapped_int64(record.offset - base_offset))
        _append_message(inner, relative, magic, attributes)
    data = compress(compression, inner, magic=magic)
    wrapper = RecordView(records[-1].offset, newest_ms, newest_ms, None, data)
    _append_message(output, wrapper, magic, attributes | compression)
    return output


def _append_message(output: bytearray, record: RecordView, magic: int, attributes: int) -> None:
    if magic == 0:
        fields = _FIELDS_V0.pack(magic, attributes)
    else:
        fields = _FIELDS_V1.pack(magic, attributes, record.timestamp_ms)
    message = b"".join((fields, *_field(record.key), *_field(record.value)))
    output += _OFFSET_LENGTH_AND_CRC.pack(record.offset, len(message) + _CRC_BYTES, crc32(message))
    output += message


def _field(data: Buffer | None) -> tuple[Buffer, ...]:
    return (_NULL,) if data is None else (_FIELD_LENGTH.pack(len(data)), data)
