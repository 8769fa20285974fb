"""Rewrites records in an older format for clients that fetch with an old version.

Offsets and codecs stay. Headers, control batches, producer ids and, in format 0, timestamps have no
place in the older formats and are left out. It neither checks sums nor knows of configurations.

Source: RecordsUtil.java downConvert, LazyDownConversionRecords.java, KIP-283.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Final

from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ports import Buffer
from protocol.records.batch import (
    HEADER_SIZE_BYTES,
    BatchHeader,
    Compression,
    whole_batches_size_bytes,
)
from protocol.records.build_message_set import pack_message_set
from protocol.records.compression import CONVERTED_BYTES_MAX
from protocol.records.entries import EntryHeader, iterate_entries, iterate_entry_views
from protocol.records.records import RecordView

OVERFLOW_MESSAGE: Final = Struct(">qi").pack(-1, HEADER_SIZE_BYTES)
"""The beginning of a message that never comes: tells a client that there was something, but nothing
that its format can hold, so that it does not ask for the same offset again and again."""


def down_convert(buffers: Iterable[Buffer], magic: int, *, fetch_offset: int) -> Iterator[Buffer]:
    """Give the records of ``buffers`` in format ``magic`` (0 or 1): a piece per batch, when asked.

    ``buffers`` hold whole batches. The first batch is always converted; what follows ends, between
    two messages, where the pieces would grow larger than ``buffers``. Records before
    ``fetch_offset`` are left out of batches that are not compressed: some versions of librdkafka
    rely on it.

    Raises:
        KafkaError: UNSUPPORTED_COMPRESSION_TYPE, the first batch is compressed with zstd.
        Malformed: the first batch cannot be read. A later one of either kind ends the pieces.
    """
    sources = list(map(memoryview, buffers))
    left_bytes = sum(map(len, sources))
    is_first = True
    try:
        for piece in _pieces(sources, magic, fetch_offset):
            fitting = piece if is_first else _fitting(piece, left_bytes)
            if fitting:
                yield fitting
            if len(fitting) < len(piece):
                return
            is_first = False
            left_bytes -= len(piece)
    except (KafkaError, Malformed):
        if is_first:
            raise
    if is_first and any(map(whole_batches_size_bytes, sources)):
        yield OVERFLOW_MESSAGE


def _pieces(sources: Iterable[memoryview], magic: int, fetch_offset: int) -> Iterator[memoryview]:
    for source in sources:
        for position, header in iterate_entries(source):
            piece = _convert(source, position, header, magic, fetch_offset)
            if piece:
                yield memoryview(piece)


def _fitting(piece: memoryview, size_bytes_max: int) -> memoryview:
    return piece[: whole_batches_size_bytes(piece[: max(size_bytes_max, 0)])]


def _convert(
    source: memoryview, position: int, header: EntryHeader, magic: int, fetch_offset: int
) -> Buffer:
    """Return one entry in format ``magic``; empty when nothing of it can be said there."""
    if header.magic <= magic:
        return source[position : position + header.size_bytes]
    if isinstance(header, BatchHeader) and (header.is_control or header.last_offset < fetch_offset):
        return b""
    codec = header.compression
    if codec is Compression.ZSTD:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd cannot be told in record format {magic}"
        )
    records: Iterable[RecordView] = iterate_entry_views(
        source, position, header, output_bytes_max=CONVERTED_BYTES_MAX
    )
    if codec is Compression.NONE:
        records = (record for record in records if record.offset >= fetch_offset)
    return pack_message_set(records, magic, codec, is_log_append_time=header.is_log_append_time)
