"""Walk over the batches of a segment file, in bounded memory.

It checks structure, and sums only on request. Messages of the old formats are shown as batches.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from broker.core.batch_order import BatchOrder
from protocol.errors import Malformed
from protocol.ids import NO_OFFSET
from protocol.ports import Buffer, DiskFile
from protocol.records.batch import HEADER_SIZE_BYTES, BatchHeader
from protocol.records.entries import (
    check_stored_crc,
    iterate_stored_batches,
    read_stored_header,
)

T = TypeVar("T")
LOOKS_MAX: Final = 5
"""So often a log is read at most until two looks say the same: a disk may misread now and then."""
_CHUNK_BYTES: Final = 256 << 10
_CUT_CHUNK_BYTES: Final = 8 << 10


class CorruptBatch(Exception):  # noqa: N818 -- says what it met
    """A torn or damaged batch: everything from ``position`` on is not to be trusted."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"at position {position}: {reason}")
        self.position = position
        self.next_offset = NO_OFFSET
        """The offset after the last whole batch before it, where a recovery found one."""


class MisplacedBatch(CorruptBatch):
    """A whole batch that cannot stand where it does.

    Base offset and leader epoch lie outside of the CRC: they were misread, here or one batch
    before, or the log is damaged.
    """


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


def cut_position(
    file: DiskFile,
    start: int,
    offset: int,
    *,
    begin: int | None,
    end: int,
) -> int:
    """Return where a log is cut that shall end at ``offset``: there begins the batch that has it.

    Damage that stands in its place is cut off with it: a disk that wrote that batch elsewhere, or
    not at all, must not keep the log from taking another one.

    What two looks in turn say counts, or what the last of ``LOOKS_MAX`` does: no sum guards base
    offsets, and by a misread one batches would go that stay. Differs from Kafka, which looks once.

    Args:
        file: of the log.
        start: where a batch begins that ends before ``offset``, or the first one.
        offset: of the first record that goes.
        begin: the offset before that batch, where it is known.
        end: where the file ends.

    Raises:
        CorruptBatch: damage before that.
        OSError: as ``scan_headers``.
    """
    return until_two_agree(
        lambda: _cut_position(file, start, offset, begin, end), lambda _: file.forget(start)
    )


def until_two_agree(look: Callable[[], T], forget: Callable[[CorruptBatch | None], None]) -> T:
    """Return what two looks in turn say, or what the last of ``LOOKS_MAX`` does.

    Args:
        look: reads; what it raises is agreed with nobody.
        forget: called before it reads again, with what it raised, so that the device is asked.

    Raises:
        CorruptBatch: by the last look.
    """
    before: T | None = None
    for _ in range(LOOKS_MAX - 1):
        now, damage = None, None
        try:
            now = look()
        except CorruptBatch as exc:
            damage = exc
        if now is not None and now == before:
            return now
        before = now
        forget(damage)
    return look()


def _cut_position(file: DiskFile, start: int, offset: int, begin: int | None, end: int) -> int:
    next_offset = begin
    try:
        for position, header in scan_headers(file, start, end, chunk_bytes=_CUT_CHUNK_BYTES):
            if header.last_offset >= offset:
                return position
            next_offset = header.next_offset
    except CorruptBatch as damage:
        if next_offset != offset:
            raise
        return damage.position
    return end


def scan_batches(
    file: DiskFile,
    position: int,
    end: int,
    *,
    verify: bool,
    order: BatchOrder | None = None,
    ends_log: bool = False,
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Give (position, header, bytes) of each batch from ``position`` to ``end``.

    What looks damaged is read once more, past the page cache, before it is called so: a read may
    have failed and the disk be whole. So is the batch before damage, and with ``ends_log`` the last
    one, where a gap is before it or an epoch begins with it: nothing whole behind it tells that its
    base offset or leader epoch, of which there is no CRC, was misread, and its log would end where
    it does not.

    Raises:
        CorruptBatch: as ``scan_headers``; with ``verify`` also when the CRC-32C is wrong.
        MisplacedBatch: ``order``, which takes what is given, says so; or a batch is another when it
            is read again.
    """
    window = _Window(file, end, order, verify=verify)
    last: BatchHeader | None = None
    before_last: BatchHeader | None = None
    last_position = position
    while position < end:
        try:
            header, batch = window.take_surely(position)
        except CorruptBatch:
            if last is not None and not _follows(last, before_last):
                window.confirm(last_position, last)
            raise
        last_position, before_last, last = position, last, header
        position += header.size_bytes
        if ends_log and position == end and not _follows(header, before_last):
            batch = window.confirm(last_position, header)
        yield last_position, header, batch


def _follows(header: BatchHeader, before: BatchHeader | None) -> bool:
    return before is not None and (
        (header.base_offset, header.partition_leader_epoch)
        == (before.next_offset, before.partition_leader_epoch)
    )


class _Window:
    """The part of a file that is in memory; it goes forward, but for what is read again."""

    __slots__ = ("_chunk", "_end", "_file", "_order", "_start", "_verify")

    def __init__(self, file: DiskFile, end: int, order: BatchOrder | None, *, verify: bool) -> None:
        self._file = file
        self._end = end
        self._order = order
        self._verify = verify
        self._chunk = memoryview(b"")
        self._start = 0

    def take_surely(self, position: int) -> tuple[BatchHeader, memoryview]:
        """Return header and bytes of the batch at ``position``; what seems damaged is read again.

        Raises:
            CorruptBatch: it is damaged, or misplaced, both times.
        """
        try:
            return self._take(position)
        except CorruptBatch:
            self._forget(position)
            return self._take(position)

    def confirm(self, position: int, header: BatchHeader) -> memoryview:
        """Return the bytes of a batch that was taken, read again past the page cache.

        Raises:
            MisplacedBatch: it is another one now.
        """
        self._forget(position)
        try:
            again, batch = self._batch_at(position)
        except CorruptBatch as exc:
            raise MisplacedBatch(position, f"read as {header}, and not again: {exc}") from exc
        if again != header:
            raise MisplacedBatch(position, f"read as {header}, and again as {again}")
        return batch

    def _take(self, position: int) -> tuple[BatchHeader, memoryview]:
        header, batch = self._batch_at(position)
        reason = None if self._order is None else self._order.take(header)
        if reason is not None:
            raise MisplacedBatch(position, reason)
        return header, batch

    def _batch_at(self, position: int) -> tuple[BatchHeader, memoryview]:
        if position - self._start + HEADER_SIZE_BYTES > len(self._chunk):
            self._read(position, _CHUNK_BYTES)
        header = _read_header(self._chunk, position - self._start, position, self._end)
        if position - self._start + header.size_bytes > len(self._chunk):
            self._read(position, max(_CHUNK_BYTES, header.size_bytes))
        at = position - self._start
        batch = self._chunk[at : at + header.size_bytes]
        if self._verify and not check_stored_crc(batch, 0, header):
            raise CorruptBatch(position, f"wrong CRC of the batch at offset {header.base_offset}")
        return header, batch

    def _forget(self, position: int) -> None:
        """Have what lies behind ``position`` read from the device again."""
        self._file.forget(position)
        self._chunk = memoryview(b"")
        self._start = position

    def _read(self, position: int, size_bytes: int) -> None:
        size_bytes = min(size_bytes, self._end - position)
        self._chunk = memoryview(read_exactly(self._file, position, size_bytes))
        self._start = position


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
