"""Answers that leave slowly, in slices, or not to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from struct import Struct
from typing import Any, cast

import pytest

from protocol.connection import Peer
from protocol.ports import Buffer
from protocol.transport.paced_transport import Pace, PacedTransport, ServerLinks
from tests.deadlines import DEADLINE_S

HEAD = Struct(">ii")
DAY_MS = 86_400_000


def answer(correlation_id: int, body: bytes) -> bytes:
    return HEAD.pack(4 + len(body), correlation_id) + body


class Flow(asyncio.BaseProtocol):
    """Remembers what it was told of room."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")


class Below(asyncio.Transport):
    """Remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.flow = Flow()
        self.written: list[bytes] = []
        self.is_closed = self.is_aborted = self.is_read = False

    def write(self, data: Buffer) -> None:
        self.written.append(bytes(data))

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_aborted = self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.flow

    def get_write_buffer_size(self) -> int:
        return 5

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return 1, 2

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert (high, low) == (3, None)

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


@pytest.fixture
def below() -> Below:
    return Below()


@pytest.fixture
def paced(below: Below) -> PacedTransport:
    return PacedTransport(below, lambda: 0.5)


async def test_what_has_no_pace_passes_at_once(below: Below, paced: PacedTransport) -> None:
    paced.writelines([answer(1, b"a"), answer(2, b"bc")])
    assert b"".join(below.written) == answer(1, b"a") + answer(2, b"bc")
    assert paced.get_write_buffer_size() == 5


async def test_one_answer_leaves_in_slices_and_the_next_waits_behind_it(
    below: Below, paced: PacedTransport
) -> None:
    paced.pace(2, Pace(slice_bytes=3))
    sent = [answer(1, b"a"), answer(2, b"bcd"), answer(3, b"e")]
    paced.writelines(sent)
    assert b"".join(below.written) == sent[0]
    assert paced.get_write_buffer_size() == 5 + len(sent[1]) + len(sent[2])
    async with asyncio.timeout(DEADLINE_S):
        await paced.until_drained()
    assert b"".join(below.written) == b"".join(sent)
    assert [len(each) for each in below.written[2:]] == [3, 3, 2, 3, 8, 1]


def test_bytes_per_second_and_pauses_say_how_long_a_slice_waits() -> None:
    assert Pace(bytes_per_second=1000).slice(lambda: 0) == 50
    assert Pace(bytes_per_second=1000).wait_s(50) == pytest.approx(0.05)
    assert Pace(slice_bytes=10, pause_ms=20).wait_s(10) == pytest.approx(0.02)
    jittery = Pace(slice_bytes=10, slice_jitter_bytes=4)
    assert [jittery.slice(draw) for draw in (lambda: 0, lambda: 0.5, lambda: 1)] == [6, 10, 14]


async def test_a_pace_that_ends_lets_the_rest_go_at_once(
    below: Below, paced: PacedTransport
) -> None:
    pace = Pace(slice_bytes=1, pause_ms=DAY_MS)
    paced.pace(1, pace)
    paced.pace(2, pace)
    paced.writelines([answer(1, b"abc"), answer(2, b"d")])
    assert below.written == []
    pace.end()
    assert b"".join(below.written) == answer(1, b"abc") + answer(2, b"d")


async def test_what_waits_here_pauses_the_protocol_until_it_has_left(
    below: Below, paced: PacedTransport
) -> None:
    pace = Pace(slice_bytes=1, pause_ms=DAY_MS)
    paced.pace(1, pace)
    paced.write(answer(1, b"abc"))
    assert below.flow.told == ["pause"]
    paced.write(answer(2, b"d"))
    assert below.flow.told == ["pause"]
    pace.end()
    assert below.flow.told == ["pause", "resume"]


async def test_nothing_is_kept_for_a_connection_that_is_lost(
    below: Below, paced: PacedTransport
) -> None:
    paced.pace(1, Pace(slice_bytes=1, pause_ms=DAY_MS))
    paced.write(answer(1, b"abc"))
    below.is_closed = True
    paced.close()
    assert paced.get_write_buffer_size() == below.get_write_buffer_size()


async def test_a_cut_ends_the_connection_in_the_middle_of_an_answer(
    below: Below, paced: PacedTransport
) -> None:
    paced.cut(2, 10)
    paced.writelines([answer(1, b"a"), answer(2, b"abcdef"), answer(3, b"g")])
    assert b"".join(below.written) == answer(1, b"a") + answer(2, b"abcdef")[:10]
    assert below.is_closed
    assert paced.is_closing()


async def test_a_close_comes_behind_what_waits_and_an_abort_at_once(below: Below) -> None:
    paced = PacedTransport(below, lambda: 0.5)
    paced.pace(1, Pace(slice_bytes=6))
    paced.write(answer(1, b"abcd"))
    paced.close()
    assert not below.is_closed
    async with asyncio.timeout(DEADLINE_S):
        await paced.until_drained()
    assert below.is_closed
    other = Below()
    paced = PacedTransport(other, lambda: 0.5)
    paced.pace(1, Pace(slice_bytes=6))
    paced.write(answer(1, b"abcd"))
    paced.abort()
    assert other.is_aborted
    assert other.written == []


def test_the_rest_is_left_to_the_transport_below(below: Below, paced: PacedTransport) -> None:
    paced.resume_reading()
    assert below.is_read
    paced.pause_reading()
    assert not below.is_read
    assert paced.get_write_buffer_limits() == (1, 2)
    paced.set_write_buffer_limits(high=3)
    assert paced.get_extra_info("peername", "nobody") == "nobody"


async def test_a_reset_is_seen_as_one_by_the_other_end() -> None:
    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        transport = cast("asyncio.Transport", writer.transport)  # typeshed knows half of it.
        links = ServerLinks(lambda _: transport, _replaced([]), lambda: 0.5)
        links.reset(Peer("", 0, 1))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(ConnectionResetError):
            await reader.read()
    writer.close()
    server.close()


async def test_a_connection_gets_one_paced_transport_and_none_when_it_is_gone(
    below: Below,
) -> None:
    replaced: list[Any] = []
    there: dict[int, asyncio.Transport] = {1: below}
    links = ServerLinks(there.get, _replaced(replaced), lambda: 0.5)
    made = links.paced(Peer("", 0, 1))
    assert replaced == [(1, made)]
    assert made is not None
    there[1] = made
    assert links.paced(Peer("", 0, 1)) is made
    await links.until_drained(Peer("", 0, 1))
    assert links.paced(Peer("", 0, 2)) is None
    links.reset(Peer("", 0, 2))


def _replaced(replaced: list[Any]) -> Callable[[int, asyncio.Transport], None]:
    return lambda number, transport: replaced.append((number, transport))
