"""Reads records of whatever format: batches and message sets, also one behind the other.

What a log stores may be old, so logs read with the ``stored`` functions, which show every entry as
a batch; produce requests, which never are, are read with `protocol.records.batch`.

Source: ByteBufferLogInputStream.java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, TypeVar

from protocol.ids import NO_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from protocol.ports import Buffer
from protocol.records.batch import (
    COMPRESSION_MASK,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_POSITION,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    Compression,
    UnsupportedMagic,
    check_crc,
    read_batch_header,
)
from protocol.records.compression import OUTPUT_BYTES_MAX
from protocol.records.message_set import (
    OLD_MAGICS,
    MessageHeader,
    check_message_crc,
    iterate_message_views,
    opened_in_steps,
    read_message_header,
)
from protocol.records.records import (
    Record,
    RecordView,
    copy_record,
    iterate_record_views,
    iterate_records,
    iterate_unpacked_views,
    unpacked_in_steps,
)
from protocol.records.steps import Steps

EntryHeader = BatchHeader | MessageHeader
HeaderT = TypeVar("HeaderT", BatchHeader, EntryHeader)
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
    return _iterate_whole(buffer, position, read_entry_header)


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


def entry_views_in_steps(
    buffer: Buffer, position: int, header: EntryHeader, *, output_bytes_max: int
) -> Steps[Iterator[RecordView]]:
    """Return what ``iterate_entry_views`` gives, with the entry unpacked by then.

    Raises:
        Malformed: as ``iterate_entry_views``; what it returned may raise it, too.
    """
    if not isinstance(header, BatchHeader):
        steps = opened_in_steps(buffer, position, header, output_bytes_max=output_bytes_max)
        return (yield from steps)
    data = yield from unpacked_in_steps(buffer, position, header, output_bytes_max=output_bytes_max)
    return iterate_unpacked_views(data, header)


def iterate_entry_records(buffer: Buffer, position: int, header: EntryHeader) -> Iterator[Record]:
    """Give copies of the records of the entry at ``position``.

    Raises:
        Malformed: as ``iterate_entry_views``, or the headers of a record are broken.
    """
    if isinstance(header, BatchHeader):
        return iterate_records(buffer, position, header)
    return map(copy_record, iterate_message_views(buffer, position, header))


def read_stored_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Read the header at ``position``; a message of an old format is shown as a batch.

    Such a batch has neither producer nor leader epoch, and the offset of its (last) message only.

    Raises:
        Malformed: as ``read_entry_header``.
        UnsupportedMagic: a format that nobody knows.
    """
    try:
        return read_batch_header(buffer, position)
    except UnsupportedMagic:
        return _as_batch(read_message_header(buffer, position))


def iterate_stored_batches(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Give (position, header) of each entry that lies whole in ``buffer``, messages as batches.

    Raises:
        Malformed: as ``read_stored_header``; the entries before were given.
    """
    return _iterate_whole(buffer, position, read_stored_header)


def check_stored_crc(buffer: Buffer, position: int, header: BatchHeader) -> bool:
    """As ``check_crc``, for what ``read_stored_header`` read."""
    if header.magic == MAGIC:
        return check_crc(buffer, position, header)
    return check_message_crc(buffer, position, read_message_header(buffer, position))


def iterate_stored_records(buffer: Buffer, position: int, header: BatchHeader) -> Iterator[Record]:
    """Give copies of the records of what ``read_stored_header`` read.

    Raises:
        Malformed: as ``iterate_entry_records``.
    """
    if header.magic == MAGIC:
        return iterate_records(buffer, position, header)
    return iterate_entry_records(buffer, position, read_message_header(buffer, position))


def _iterate_whole(
    buffer: Buffer, position: int, read_header: Callable[[Buffer, int], HeaderT]
) -> Iterator[tuple[int, HeaderT]]:
    end = len(buffer)
    while end - position >= LOG_OVERHEAD_BYTES:
        length = _LENGTH.unpack_from(buffer, position + _LENGTH_POSITION)[0]
        if position + LOG_OVERHEAD_BYTES + length > end:
            return
        header = read_header(buffer, position)
        yield position, header
        position += header.size_bytes


def _as_batch(message: MessageHeader) -> BatchHeader:
    assert message.magic in OLD_MAGICS, f"format {message.magic}"
    is_wrapper = message.attributes & COMPRESSION_MASK != Compression.NONE
    return BatchHeader(
        base_offset=message.offset,
        batch_length=message.message_length,
        partition_leader_epoch=NO_EPOCH,
        magic=message.magic,
        crc=message.crc,
        attributes=message.attributes & (COMPRESSION_MASK | TIMESTAMP_TYPE_BIT),
        last_offset_delta=0,
        base_timestamp=message.timestamp,
        max_timestamp=message.timestamp,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_PRODUCER_EPOCH,
        base_sequence=NO_SEQUENCE,
        records_count=-1 if is_wrapper else 1,
    )
