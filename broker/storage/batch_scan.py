"""Walk over the batches of a segment file, in bounded memory.

It checks structure, and sums only on request. Messages of the old formats are shown as batches.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from typing import Final

from protocol.errors import Malformed
from protocol.ports import Buffer, DiskFile
from protocol.records.batch import HEADER_SIZE_BYTES, BatchHeader
from protocol.records.entries import (
    check_stored_crc,
    iterate_stored_batches,
    read_stored_header,
)

_CHUNK_BYTES: Final = 256 << 10


class CorruptBatch(Exception):  # noqa: N818 -- says what it met
    """A torn or damaged batch: everything from ``position`` on is not to be trusted."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"at position {position}: {reason}")
        self.position = position


def scan_headers(
    file: DiskFile, position: int, end: int, *, chunk_bytes: int = _CHUNK_BYTES
) -> Iterator[tuple[int, BatchHeader]]:
    """Give (position, header) of each batch from ``position``, a batch's start, to ``end``.

    Raises:
        CorruptBatch: what stands there is no batch, or it passes ``end``.
        OSError: as ``read_exactly``.
    """
    chunk, chunk_start = b"", position
    while position < end:
        if position - chunk_start + HEADER_SIZE_BYTES > len(chunk):
            chunk, chunk_start = (
                read_exactly(file, position, min(chunk_bytes, end - position)),
                position,
            )
        header = _read_header(chunk, position - chunk_start, position, end)
        yield position, header
        position += header.size_bytes


def scan_batches(
    file: DiskFile, position: int, end: int, *, verify: bool
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Give (position, header, bytes) of each batch from ``position`` to ``end``.

    Raises:
        CorruptBatch: as ``scan_headers``; with ``verify`` also when the CRC-32C is wrong.
    """
    chunk, chunk_start = memoryview(b""), position
    while position < end:
        if position - chunk_start + HEADER_SIZE_BYTES > len(chunk):
            chunk = memoryview(read_exactly(file, position, min(_CHUNK_BYTES, end - position)))
            chunk_start = position
        header = _read_header(chunk, position - chunk_start, position, end)
        at = position - chunk_start
        if at + header.size_bytes > len(chunk):
            size_bytes = min(max(_CHUNK_BYTES, header.size_bytes), end - position)
            chunk = memoryview(read_exactly(file, position, size_bytes))
            chunk_start, at = position, 0
        batch = chunk[at : at + header.size_bytes]
        if verify and not check_stored_crc(batch, 0, header):
            raise CorruptBatch(position, f"wrong CRC of the batch at offset {header.base_offset}")
        yield position, header, batch
        position += header.size_bytes


def read_exactly(file: DiskFile, position: int, size_bytes: int) -> bytes:
    """Return bytes of which it is known that they were written.

    Raises:
        OSError: the disk gives fewer. It is broken then, and not the log: to take that for its end
            would cut off what is there. Source: Utils.readFullyOrFail.
    """
    data = file.read(position, size_bytes)
    if len(data) < size_bytes:
        raise OSError(errno.EIO, f"read {len(data)} of {size_bytes} bytes at {position}")
    return data


def batches_in(buffer: Buffer) -> Sequence[tuple[int, BatchHeader]]:
    """Return (position, header) of every batch in memory; most buffers hold one."""
    header = read_stored_header(buffer)
    if header.size_bytes == len(buffer):
        return ((0, header),)
    return list(iterate_stored_batches(buffer))


def _read_header(chunk: bytes | memoryview, at: int, position: int, end: int) -> BatchHeader:
    try:
        header = read_stored_header(chunk, at)
    except Malformed as exc:
        raise CorruptBatch(position, str(exc)) from exc
    if position + header.size_bytes > end:
        raise CorruptBatch(position, f"{header.size_bytes} bytes of a batch in {end - position}")
    if header.last_offset_delta < 0 or header.base_offset < 0:
        raise CorruptBatch(position, f"offsets {header.base_offset} to {header.last_offset}")
    return header
