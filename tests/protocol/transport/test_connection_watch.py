"""Which connections may be: not too many, none that is idle."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from protocol.connection import RequestReceived
from protocol.ports import Buffer
from protocol.transport.connection_watch import ConnectionLimits
from tests.protocol.transport.raw_client import connected, echo, eventually, serving


async def test_an_idle_connection_is_closed_and_one_with_a_request_here_is_not() -> None:
    gate = asyncio.Event()

    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        await gate.wait()
        return [request.body]

    limits = ConnectionLimits(idle_ms_max=40)
    async with (
        serving(answer, limits=limits) as (_, port),
        connected(port) as busy,
        connected(port) as idle,
    ):
        busy.send(b"waits")
        assert await idle.is_closed_by_server()
        gate.set()
        assert await busy.receive() == b"waits"


@pytest.mark.parametrize(
    "limits", [ConnectionLimits(count_max=1), ConnectionLimits(count_per_host_max=1)]
)
async def test_a_connection_too_many_is_closed_until_another_one_leaves(
    limits: ConnectionLimits,
) -> None:
    async with serving(echo, limits=limits) as (server, port):
        async with connected(port) as first, connected(port) as second:
            assert await second.is_closed_by_server()
            first.send(b"served")
            assert await first.receive() == b"served"
        await eventually(lambda: server.connection_count == 0)
        async with connected(port) as third:
            third.send(b"served")
            assert await third.receive() == b"served"
