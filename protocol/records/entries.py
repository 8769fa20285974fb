"""Reads records of whatever format: batches and message sets, also one behind the other.

The hot paths, which meet format 2 only, read with `protocol.records.batch`.

Source: ByteBufferLogInputStream.java.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

from protocol.ports import Buffer
from protocol.records.batch import (
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    check_crc,
    read_batch_header,
)
from protocol.records.compression import OUTPUT_BYTES_MAX
from protocol.records.message_set import (
    MessageHeader,
    check_message_crc,
    iterate_message_views,
    read_message_header,
)
from protocol.records.records import (
    Record,
    RecordView,
    copy_record,
    iterate_record_views,
    iterate_records,
)

EntryHeader = BatchHeader | MessageHeader
_LENGTH: Final = Struct(">i")
_LENGTH_POSITION: Final = 8


def read_entry_header(buffer: Buffer, position: int = 0) -> EntryHeader:
    """Read the header of the batch or message at ``position``.

    Raises:
        Malformed: it is cut, or its length is too small for its format.
        UnsupportedMagic: a format that nobody knows.
    """
    magic_at = position + MAGIC_POSITION
    if magic_at < len(buffer) and buffer[magic_at] < MAGIC:
        return read_message_header(buffer, position)
    return read_batch_header(buffer, position)


def iterate_entries(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, EntryHeader]]:
    """Give (position, header) of each batch or message that lies whole in ``buffer``.

    Raises:
        Malformed: as ``read_entry_header``; the entries before were given.
    """
    end = len(buffer)
    while end - position >= LOG_OVERHEAD_BYTES:
        length = _LENGTH.unpack_from(buffer, position + _LENGTH_POSITION)[0]
        if position + LOG_OVERHEAD_BYTES + length > end:
            return
        header = read_entry_header(buffer, position)
        yield position, header
        position += header.size_bytes


def check_entry_crc(buffer: Buffer, position: int, header: EntryHeader) -> bool:
    """Tell whether the entry lies whole in ``buffer`` and its sum is right."""
    if isinstance(header, BatchHeader):
        return check_crc(buffer, position, header)
    return check_message_crc(buffer, position, header)


def iterate_entry_views(
    buffer: Buffer,
    position: int,
    header: EntryHeader,
    *,
    output_bytes_max: int = OUTPUT_BYTES_MAX,
) -> Iterator[RecordView]:
    """Give the records of the entry at ``position`` without copying them.

    Raises:
        Malformed: as ``iterate_record_views`` and ``iterate_message_views``.
    """
    if isinstance(header, BatchHeader):
        return iterate_record_views(buffer, position, header, output_bytes_max=output_bytes_max)
    return iterate_message_views(buffer, position, header, output_bytes_max=output_bytes_max)


def iterate_entry_records(buffer: Buffer, position: int, header: EntryHeader) -> Iterator[Record]:
    """Give copies of the records of the entry at ``position``.

    Raises:
        Malformed: as ``iterate_entry_views``, or the headers of a record are broken.
    """
    if isinstance(header, BatchHeader):
        return iterate_records(buffer, position, header)
    return map(copy_record, iterate_message_views(buffer, position, header))
