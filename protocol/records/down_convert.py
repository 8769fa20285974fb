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
from protocol.records.build_message_set import pack_in_steps
from protocol.records.compression import CONVERTED_BYTES_MAX
from protocol.records.entries import EntryHeader, entry_views_in_steps, iterate_entries
from protocol.records.records import RecordView
from protocol.records.steps import RECORDS_OF_A_STEP, Steps, at_once

_OVERFLOW: Final = Struct(">qi")
_FILLING_BYTES_MAX: Final = 128 * 1024
"""Zeros are sent in pieces of this size. Source: LazyDownConversionRecordsSend.MAX_READ_SIZE."""
_ZEROS: Final = memoryview(bytes(_FILLING_BYTES_MAX))


def down_convert(buffers: Iterable[Buffer], magic: int, *, fetch_offset: int) -> list[Buffer]:
    """Return the records of ``buffers`` in format ``magic`` (0 or 1), a piece per batch.

    ``buffers`` hold whole batches. The first batch is always converted; what follows ends, between
    two messages, where the pieces would grow larger than ``buffers``. Where they are smaller, a
    message that never ends fills them up, as Kafka does, whose answer had its size before. Records
    before ``fetch_offset`` are left out of batches that are not compressed: some versions of
    librdkafka rely on it.

    Raises:
        KafkaError: UNSUPPORTED_COMPRESSION_TYPE, the first batch is compressed with zstd.
        Malformed: the first batch cannot be read, or became too large. A later one of either kind
            ends the pieces.
    """
    return at_once(down_convert_in_steps(buffers, magic, fetch_offset=fetch_offset))


def down_convert_in_steps(
    buffers: Iterable[Buffer], magic: int, *, fetch_offset: int
) -> Steps[list[Buffer]]:
    """Do as ``down_convert`` in steps: a batch, some hundred records, what a codec does."""
    sources = list(map(memoryview, buffers))
    left_bytes = sum(map(len, sources))
    pieces: list[Buffer] = []
    try:
        for count, (source, position, header) in enumerate(_entries(sources), start=1):
            if header.magic > magic or count % RECORDS_OF_A_STEP == 0:
                yield
            piece = yield from _converted(source, position, header, magic, fetch_offset)
            fitting = _fitting(piece, left_bytes) if pieces else piece
            if fitting:
                pieces.append(fitting)
                left_bytes -= len(fitting)
            if len(fitting) < len(piece):
                break
    except (KafkaError, Malformed):
        if not pieces:
            raise
    if pieces or any(map(whole_batches_size_bytes, sources)):
        size_bytes = left_bytes if pieces else max(left_bytes, _OVERFLOW.size)
        pieces += _overflow(size_bytes)
    return pieces


def _overflow(size_bytes: int) -> list[Buffer]:
    """Return the beginning of a message that never comes, in so many bytes.

    It tells a client that there was something, but nothing that its format can hold, so that it
    does not ask for the same offset again and again. Source: buildOverflowBatch.
    """
    if size_bytes <= 0:
        return []
    beginning = _OVERFLOW.pack(-1, max(size_bytes + 1, HEADER_SIZE_BYTES))[:size_bytes]
    whole, rest = divmod(size_bytes - len(beginning), _FILLING_BYTES_MAX)
    return [beginning, *([_ZEROS] * whole), *([_ZEROS[:rest]] if rest else [])]


def _entries(sources: Iterable[memoryview]) -> Iterator[tuple[memoryview, int, EntryHeader]]:
    for source in sources:
        for position, header in iterate_entries(source):
            yield source, position, header


def _fitting(piece: memoryview, size_bytes_max: int) -> memoryview:
    return piece[: whole_batches_size_bytes(piece[: max(size_bytes_max, 0)])]


def _converted(
    source: memoryview, position: int, header: EntryHeader, magic: int, fetch_offset: int
) -> Steps[memoryview]:
    """Return one entry in format ``magic``; empty when nothing of it can be said there."""
    if header.magic <= magic:
        return source[position : position + header.size_bytes]
    if isinstance(header, BatchHeader) and (header.is_control or header.last_offset < fetch_offset):
        return memoryview(b"")
    codec = header.compression
    if codec is Compression.ZSTD:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd cannot be told in record format {magic}"
        )
    records: Iterable[RecordView] = yield from entry_views_in_steps(
        source, position, header, output_bytes_max=CONVERTED_BYTES_MAX
    )
    if codec is Compression.NONE:
        records = (record for record in records if record.offset >= fetch_offset)
    packed = yield from pack_in_steps(
        records,
        magic,
        codec,
        is_log_append_time=header.is_log_append_time,
        bytes_max=2 * CONVERTED_BYTES_MAX,
    )
    return memoryview(packed)
