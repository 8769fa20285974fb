"""Backpressure after many buffers at once, in every Python and on every loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import uvloop

from protocol.transport.flow_control import cut, joined, write_all


class Paused(asyncio.Protocol):
    """Notes what its transport says."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.is_free = asyncio.Event()

    def pause_writing(self) -> None:
        self.said.append("full")

    def resume_writing(self) -> None:
        self.said.append("free")
        self.is_free.set()


class SilentTransport(asyncio.Transport):
    """Says that it is full when its limits are set, not after ``writelines``: as of 3.12."""

    def __init__(self, protocol: Paused) -> None:
        super().__init__()
        self._protocol = protocol
        self.size_bytes = 0

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.size_bytes += sum(map(len, list_of_data))

    def get_write_buffer_size(self) -> int:
        return self.size_bytes

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return (25, 100)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert (low, high) == (None, 100)
        self._protocol.pause_writing()


def test_a_transport_that_says_nothing_by_itself_is_asked_beyond_its_limit_only() -> None:
    protocol = Paused()
    transport = SilentTransport(protocol)
    write_all(transport, [b"x" * 50, b"y" * 50])
    assert protocol.said == []
    write_all(transport, [b"z"])
    assert protocol.said == ["full"]


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_full_transport_of_either_loop_says_so_once_and_that_it_is_free_again(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def story() -> list[str]:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        transport, protocol = await loop.create_connection(Paused, sock=ours)
        transport.set_write_buffer_limits(high=1_000_000)
        pieces = [bytes(100_000)] * 20
        for _ in range(2):
            write_all(transport, pieces)
            write_all(transport, pieces)
        assert protocol.said == ["full"]
        left = 80 * 100_000
        while left:
            left -= len(await loop.sock_recv(theirs, 1 << 20))
        async with asyncio.timeout(10):
            await protocol.is_free.wait()
        transport.close()
        theirs.close()
        return protocol.said

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(story()) == ["full", "free"]


@pytest.mark.parametrize("sizes", [[], [3], [10], [11], [25], [4, 4, 4], [0, 10, 0, 1], [40, 1]])
def test_long_buffers_are_cut_into_parts_that_are_full_but_the_last(sizes: list[int]) -> None:
    buffers = [bytes([number]) * size for number, size in enumerate(sizes)]
    parts = [b"".join(part) for part in cut(buffers, 10)]
    assert b"".join(parts) == b"".join(buffers)
    assert all(len(part) == 10 for part in parts[:-1])
    assert len(parts[-1]) <= 10


@pytest.mark.parametrize(
    ("lengths", "left"),
    [
        ([], []),
        ([3], [3]),
        ([1, 2, 3], [6]),
        ([6, 6, 6, 6], [12, 12]),
        ([4, 50, 4, 3, 60], [4, 50, 7, 60]),
        ([9, 9, 1], [18, 1]),
    ],
)
def test_short_buffers_are_joined_and_long_ones_stay(lengths: list[int], left: list[int]) -> None:
    buffers = [bytes([number]) * length for number, length in enumerate(lengths)]
    found = joined(buffers, 10)
    assert [len(each) for each in found] == left
    assert b"".join(found) == b"".join(buffers)
    assert all(any(each is one for one in buffers) for each in found if len(each) in (50, 60))


@pytest.mark.parametrize(("is_tls", "count"), [(False, 40), (True, 1)])
def test_over_tls_short_buffers_are_one_write_and_so_one_record(is_tls: bool, count: int) -> None:
    written: list[bytes] = []

    class Transport(SilentTransport):
        def writelines(self, list_of_data: Iterable[Any]) -> None:
            written.extend(list_of_data)

    transport = Transport(Paused())
    transport._extra = {"ssl_object": object()} if is_tls else {}
    write_all(transport, [b"x" * 100] * 40)
    assert (len(written), sum(map(len, written))) == (count, 4_000)
