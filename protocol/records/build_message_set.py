"""Builds message sets, the record formats 0 and 1, from records: for conversions, tests and tools.

Headers, control records and producer ids do not exist in these formats and are left out.

Source: MemoryRecordsBuilder.java, LegacyRecord.java.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from struct import Struct
from typing import Final
from zlib import crc32

from protocol.errors import Malformed
from protocol.ids import NO_TIMESTAMP
from protocol.ports import Buffer
from protocol.records.batch import TIMESTAMP_TYPE_BIT, Compression
from protocol.records.build import NewRecord
from protocol.records.message_set import FIELD_LENGTH, OLD_MAGICS
from protocol.records.records import RecordView, wrapped_int64
from protocol.records.steps import (
    BYTES_OF_A_STEP,
    RECORDS_OF_A_STEP,
    CodecWork,
    Steps,
    append_in_steps,
    at_once,
    compress_in_steps,
)

_OFFSET_LENGTH_AND_CRC: Final = Struct(">qiI")
_FIELDS_V0: Final = Struct(">bb")
_FIELDS_V1: Final = Struct(">bbq")
_NULL: Final = FIELD_LENGTH.pack(-1)
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
    steps = pack_in_steps(records, magic, compression, is_log_append_time=is_log_append_time)
    return at_once(steps)


def pack_in_steps(
    records: Iterable[RecordView],
    magic: int,
    compression: Compression,
    *,
    is_log_append_time: bool,
    bytes_max: int | None = None,
) -> Steps[bytearray]:
    """Do as ``pack_message_set`` in steps of at most ``RECORDS_OF_A_STEP`` records.

    Raises:
        Malformed: the set became more than ``bytes_max`` before it was compressed; and what
            ``records`` raise.
    """
    assert magic in OLD_MAGICS, f"format {magic} has no message sets"
    assert compression is not Compression.ZSTD, "zstd came with format 2"
    attributes = TIMESTAMP_TYPE_BIT if is_log_append_time and magic > 0 else 0
    is_packed = compression is not Compression.NONE
    messages = _Messages(magic, attributes, is_relative=is_packed and magic > 0)
    stepped_bytes = 0
    for count, record in enumerate(records, start=1):
        if record.size_bytes < BYTES_OF_A_STEP:
            messages.append(record)
        else:
            yield from messages.append_long(record)
        size_bytes = len(messages.output)
        if bytes_max is not None and size_bytes > bytes_max:
            raise Malformed(f"{count} records are more than {bytes_max} bytes in format {magic}")
        if count % RECORDS_OF_A_STEP == 0 or size_bytes - stepped_bytes >= BYTES_OF_A_STEP:
            stepped_bytes = size_bytes
            yield
    if not is_packed or not messages.output:
        return messages.output
    data = yield from compress_in_steps(compression, messages.output, magic=magic)
    newest_ms = messages.newest_ms
    wrapper = RecordView(messages.last_offset, newest_ms, newest_ms, None, data)
    whole = _Messages(magic, attributes | compression, is_relative=False)
    if wrapper.size_bytes < BYTES_OF_A_STEP:
        whole.append(wrapper)
    else:
        yield from whole.append_long(wrapper)
    return whole.output


class _Messages:
    """Messages one behind the other; no record is kept, as there may be millions of them."""

    def __init__(self, magic: int, attributes: int, *, is_relative: bool) -> None:
        self.output = bytearray()
        self.newest_ms = NO_TIMESTAMP
        self.last_offset = 0
        self._magic = magic
        self._attributes = attributes
        self._is_relative = is_relative
        """Whether offsets are written as those from the first one."""
        self._base_offset = 0

    def append(self, record: RecordView) -> None:
        """Write one message."""
        message = b"".join(self._parts(record))
        self.output += self._head(record, len(message), crc32(message))
        self.output += message

    def append_long(self, record: RecordView) -> Steps[None]:
        """Write one that takes more than a step."""
        parts = self._parts(record)
        crc = yield CodecWork(partial(_sum, parts), is_large=False)
        self.output += self._head(record, sum(map(len, parts)), crc)
        for part in parts:
            yield from append_in_steps(self.output, part)

    def _parts(self, record: RecordView) -> tuple[Buffer, ...]:
        """Return what comes behind the sum."""
        if self._magic == 0:
            fields = _FIELDS_V0.pack(self._magic, self._attributes)
        else:
            fields = _FIELDS_V1.pack(self._magic, self._attributes, record.timestamp_ms)
        return (fields, *_field(record.key), *_field(record.value))

    def _head(self, record: RecordView, size_bytes: int, crc: int) -> bytes:
        self.last_offset = offset = record.offset
        self.newest_ms = max(self.newest_ms, record.timestamp_ms)
        if self._is_relative:
            if not self.output:
                self._base_offset = offset
            offset = wrapped_int64(offset - self._base_offset)
        return _OFFSET_LENGTH_AND_CRC.pack(offset, size_bytes + _CRC_BYTES, crc)


def _sum(parts: Iterable[Buffer]) -> int:
    crc = 0
    for part in parts:
        crc = crc32(part, crc)
    return crc


def _field(data: Buffer | None) -> tuple[Buffer, ...]:
    return (_NULL,) if data is None else (FIELD_LENGTH.pack(len(data)), data)
