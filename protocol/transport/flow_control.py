"""Writing buffers to a transport that says when it is full: several at once, or long ones in parts.

It waits for nothing: who writes looks at what ``pause_writing`` and ``resume_writing`` said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from protocol.ports import Buffer

_TLS_RECORD_BYTES: Final = 16_384
"""A record of TLS has as many at most. Event loops write one for each buffer."""


def write_all(transport: asyncio.Transport, buffers: Sequence[Buffer]) -> None:
    """Write ``buffers`` in one go; ``pause_writing`` was called if too much waits after it.

    The transports of asyncio's own loop do not call it after ``writelines`` in Python 3.12 and
    3.13, but they look again whenever their limits are set. There, too, an empty buffer at the end
    is never taken for sent, and such a transport does not close.
    """
    if transport.get_extra_info("ssl_object") is not None:
        buffers = joined(buffers, _TLS_RECORD_BYTES)
    transport.writelines(buffers if all(buffers) else [each for each in buffers if each])
    waiting_bytes = transport.get_write_buffer_size()
    if waiting_bytes:
        _, high = transport.get_write_buffer_limits()
        if waiting_bytes > high:
            transport.set_write_buffer_limits(high=high)


def abort(transport: asyncio.Transport) -> None:
    """End a connection at once, whatever waits.

    One of TLS that was closed twice has nothing below it any more, which Python 3.11.2 trips over.
    """
    with suppress(AttributeError):
        transport.abort()


def joined(buffers: Sequence[Buffer], size_bytes: int) -> list[Buffer]:
    """Return ``buffers`` with short ones joined to such of ``size_bytes`` at least.

    What is as long already stays as it is, uncopied.
    """
    found: list[Buffer] = []
    short: list[Buffer] = []
    waiting_bytes = 0
    for buffer in buffers:
        if len(buffer) < size_bytes:
            short.append(buffer)
            waiting_bytes += len(buffer)
            if waiting_bytes < size_bytes:
                continue
        found += _whole(short)
        if len(buffer) >= size_bytes:
            found.append(buffer)
        short, waiting_bytes = [], 0
    return [*found, *_whole(short)]


def _whole(short: Sequence[Buffer]) -> Sequence[Buffer]:
    return short if len(short) < 2 else [b"".join(short)]


def cut(buffers: Sequence[Buffer], bytes_max: int) -> list[list[Buffer]]:
    """Return ``buffers`` as parts of so many bytes at most; the last may be empty."""
    parts: list[list[Buffer]] = []
    part: list[Buffer] = []
    left = bytes_max
    for buffer in buffers:
        rest = memoryview(buffer)
        while len(rest) > left:
            parts.append([*part, rest[:left]])
            rest, part, left = rest[left:], [], bytes_max
        part.append(rest)
        left -= len(rest)
    return [*parts, part]


def wake_up(future: asyncio.Future[None] | None) -> None:
    """Settle what somebody may wait for."""
    if future is not None and not future.done():
        future.set_result(None)
