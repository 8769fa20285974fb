from __future__ import annotations

import socket
from struct import pack

import pytest

from jbodlab.conformance.connection import Connection
from tests.deadlines import DEADLINE_S


@pytest.fixture
def ends() -> tuple[Connection, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = Connection(socket.create_connection(server.getsockname(), DEADLINE_S))
        theirs, _ = server.accept()
    return ours, theirs


def test_frames_come_whole_however_they_are_cut(ends: tuple[Connection, socket.socket]) -> None:
    ours, theirs = ends
    with theirs:
        theirs.sendall(pack(">i", 3) + b"abc" + pack(">i", 0) + pack(">i", 2) + b"d")
        assert ours.frame(DEADLINE_S) == b"abc"
        assert ours.frame(DEADLINE_S) == b""
        assert ours.frame(0.01) is None
        assert not ours.is_closed
        theirs.sendall(b"e")
        assert ours.frame(DEADLINE_S) == b"de"
        ours.close()


def test_bytes_leave_as_they_are_also_in_pieces(ends: tuple[Connection, socket.socket]) -> None:
    ours, theirs = ends
    with theirs:
        ours.send(b"whole")
        ours.send(b"pieces", chunk_bytes=1)
        ours.half_close()
        assert theirs.makefile("rb").read() == b"wholepieces"
        ours.close()


def test_a_closed_connection_is_told(ends: tuple[Connection, socket.socket]) -> None:
    ours, theirs = ends
    theirs.close()
    assert ours.frame(DEADLINE_S) is None
    assert ours.is_closed
    ours.close()


def test_a_size_that_cannot_be_ends_the_connection(ends: tuple[Connection, socket.socket]) -> None:
    ours, theirs = ends
    with theirs:
        theirs.sendall(pack(">i", -5))
        assert ours.frame(DEADLINE_S) is None
        assert ours.is_closed
        ours.close()
