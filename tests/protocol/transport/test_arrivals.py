"""New connections do what the server is told: they are served, wait first, or are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from protocol.connection import Peer
from protocol.transport.arrivals import Arrival, serve_at_once
from protocol.transport.connection_watch import ConnectionLimits
from tests.deadlines import DEADLINE_S
from tests.protocol.transport.raw_client import HOST, connected, echo, serving


def limits(*arrivals: Arrival) -> ConnectionLimits:
    left: Iterator[Arrival] = iter(arrivals)
    return ConnectionLimits(arrive=lambda _peer: next(left, Arrival()))


def test_by_default_everybody_is_let_in() -> None:
    assert serve_at_once(Peer(HOST, 50_000)) == Arrival(0, is_refused=False)


async def test_a_connection_that_waits_is_served_after_one_that_came_later() -> None:
    async with (
        serving(echo, limits=limits(Arrival(200))) as (_, port),
        connected(port) as early,
        connected(port) as late,
    ):
        early.send(b"early")
        late.send(b"late")
        assert await late.receive() == b"late"
        assert await early.receive() == b"early"


async def test_a_refused_connection_is_closed_after_its_wait_without_an_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with (
        serving(echo, limits=limits(Arrival(20, is_refused=True))) as (server, port),
        connected(port) as refused,
        connected(port) as served,
    ):
        refused.send(b"hello")
        assert await refused.is_closed_by_server()
        served.send(b"hello")
        assert await served.receive() == b"hello"
        assert server.connection_count == 1
    assert "more connections a second than its quota" in caplog.text


async def test_a_stop_does_not_wait_for_those_who_wait() -> None:
    async with asyncio.timeout(DEADLINE_S):
        async with (
            serving(echo, limits=limits(Arrival(10 * 1000 * DEADLINE_S))) as (server, port),
            connected(port),
        ):
            while server.connection_count == 0:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0)


async def test_a_connection_that_leaves_while_it_waits_is_forgotten() -> None:
    async with serving(echo, limits=limits(Arrival(20))) as (server, port):
        async with connected(port):
            pass
        async with connected(port) as other:
            other.send(b"there")
            assert await other.receive() == b"there"
            async with asyncio.timeout(DEADLINE_S):
                while server.connection_count > 1:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0)
