from __future__ import annotations

import asyncio
import socket
from struct import pack

import pytest

from conformance.connection import Connection, connect
from tests.deadlines import DEADLINE_MS, DEADLINE_S


@pytest.fixture
async def ends() -> tuple[Connection, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = await connect(*server.getsockname(), timeout_ms=DEADLINE_MS)
        theirs, _ = server.accept()
    return ours, theirs


async def test_frames_come_whole_however_they_are_cut(
    ends: tuple[Connection, socket.socket],
) -> None:
    ours, theirs = ends
    with theirs:
        theirs.sendall(pack(">i", 3) + b"abc" + pack(">i", 0) + pack(">i", 2) + b"d")
        assert await ours.frame(DEADLINE_S) == b"abc"
        assert await ours.frame(DEADLINE_S) == b""
        assert await ours.frame(0.01) is None
        assert not ours.is_closed
        theirs.sendall(b"e")
        assert await ours.frame(DEADLINE_S) == b"de"
        ours.close()


async def test_bytes_leave_as_they_are_also_in_pieces(
    ends: tuple[Connection, socket.socket],
) -> None:
    ours, theirs = ends
    with theirs:
        await ours.send(b"whole")
        await ours.send(b"pieces", chunk_bytes=1)
        ours.half_close()
        assert await asyncio.to_thread(theirs.makefile("rb").read) == b"wholepieces"
        ours.close()


async def test_a_closed_connection_is_told(ends: tuple[Connection, socket.socket]) -> None:
    ours, theirs = ends
    theirs.close()
    assert await ours.frame(DEADLINE_S) is None
    assert ours.is_closed
    ours.close()


async def test_a_size_that_cannot_be_ends_the_connection(
    ends: tuple[Connection, socket.socket],
) -> None:
    ours, theirs = ends
    with theirs:
        theirs.sendall(pack(">i", -5))
        assert await ours.frame(DEADLINE_S) is None
        assert ours.is_closed
        ours.close()
