"""Reads and writes of whole byte ranges on a descriptor, through the page cache or past it.

It knows neither names nor disks. Short reads and writes are finished here.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from protocol.ports import Buffer

_BUFFERS_PER_CALL_MAX: Final = 1024
"""Linux refuses more buffers in one pwritev (IOV_MAX)."""
_BLOCK_BYTES: Final = 4096
"""Positions, lengths and memory of direct writes are multiples of it."""
_STAGING_BYTES: Final = 1 << 20
DIRECT_BYTES_MIN: Final = 128 << 10
"""Smaller writes gain nothing by going past the page cache."""


def write_all(descriptor: int, buffers: Sequence[Buffer], position: int) -> None:
    """Write all of ``buffers`` from ``position`` on, through the page cache."""
    for start in range(0, len(buffers), _BUFFERS_PER_CALL_MAX):
        group = buffers[start : start + _BUFFERS_PER_CALL_MAX]
        size_bytes = sum(map(len, group))
        written = os.pwritev(descriptor, group, position)
        if written < size_bytes:
            _finish_short_write(descriptor, b"".join(group), position, written)
        position += size_bytes


def _finish_short_write(descriptor: int, data: bytes, position: int, written: int) -> None:
    while written < len(data):
        count = os.pwrite(descriptor, memoryview(data)[written:], position + written)
        if count == 0:
            raise OSError(errno.EIO, f"wrote {written} of {len(data)} bytes")
        written += count


def read_all(descriptor: int, position: int, size_bytes: int) -> bytes:
    """Read ``size_bytes`` from ``position``; fewer only at the end of the file."""
    data = os.pread(descriptor, size_bytes, position)
    if len(data) == size_bytes or not data:
        return data
    parts = [data]
    missing = size_bytes - len(data)
    while missing and (data := os.pread(descriptor, missing, position + size_bytes - missing)):
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)


@contextmanager
def past_cache(descriptor: int) -> Generator[None]:
    """Let writes go past the page cache (O_DIRECT) for the length of a block.

    Raises:
        OSError: EINVAL where the file system cannot do it.
    """
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_DIRECT)
    try:
        yield
    finally:
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags)


class DirectWriter:
    """Writes what is large past the page cache: for data that nobody reads soon.

    It spares the processor that clients wait for: copying into the page cache and writing back
    from it cost a hundred times as much of it. The blocks in the middle go to the device, what
    is left at the end through the page cache, so that the file has its true size at any time.
    One thread uses it. Where direct writes are impossible it does as `write_all`.
    """

    __slots__ = ("_is_possible", "_past_cache", "_staging")

    def __init__(
        self, past_cache: Callable[[int], AbstractContextManager[None]] = past_cache
    ) -> None:
        self._past_cache = past_cache
        self._is_possible = hasattr(os, "O_DIRECT")
        self._staging: mmap.mmap | None = None

    def write(self, descriptor: int, buffers: Sequence[Buffer], position: int) -> None:
        """Write all of ``buffers`` from ``position`` on, which is the end of the file or before."""
        if not self._is_possible or sum(map(len, buffers)) < DIRECT_BYTES_MIN:
            write_all(descriptor, buffers, position)
            return
        start = position - position % _BLOCK_BYTES
        head = read_all(descriptor, start, position - start)
        for block in self._blocks([head, *buffers]):
            self._write_block(descriptor, block, start)
            start += len(block)

    def _blocks(self, buffers: Sequence[Buffer]) -> Iterator[memoryview]:
        """Gather ``buffers`` in aligned memory; every part is used before the next is asked for."""
        if self._staging is None:
            self._staging = mmap.mmap(-1, _STAGING_BYTES)
        staging, filled = memoryview(self._staging), 0
        for buffer in buffers:
            rest = memoryview(buffer)
            while rest:
                taken = rest[: _STAGING_BYTES - filled]
                staging[filled : filled + len(taken)] = taken
                filled, rest = filled + len(taken), rest[len(taken) :]
                if filled == _STAGING_BYTES:
                    yield staging
                    filled = 0
        whole = filled - filled % _BLOCK_BYTES
        if whole:
            yield staging[:whole]
        if filled > whole:
            yield staging[whole:filled]

    def _write_block(self, descriptor: int, block: memoryview, position: int) -> None:
        written = 0
        if self._is_possible and len(block) % _BLOCK_BYTES == 0:
            try:
                with self._past_cache(descriptor):
                    written = os.pwrite(descriptor, block, position)
            except OSError as exc:
                if exc.errno != errno.EINVAL:
                    raise
                self._is_possible = False  # This file system cannot, or wants larger blocks.
        if written < len(block):
            write_all(descriptor, [block[written:]], position + written)
