"""Which connections may be: not too many, none that is idle."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from protocol.connection import Peer, RequestReceived
from protocol.ports import Buffer
from protocol.transport.connection_watch import ConnectionLimits, ConnectionWatch
from protocol.transport.server_memory import ServerMemory
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


class Silent:
    """A watch of no connections."""

    def __init__(self, **limits: Any) -> None:
        self.watch = ConnectionWatch(
            list, ServerMemory(), ConnectionLimits(idle_ms_max=0, **limits)
        )
        self._number = 0

    def opened(self, listener: str, host: str = "10.0.0.1") -> bool:
        """Open a connection and tell whether it may be."""
        self._number += 1
        return self.watch.open(Peer(host, 1, self._number, listener))


def test_clients_leave_the_listener_of_the_nodes_alone() -> None:
    silent = Silent(count_max=2, count_max_of={"NODES": 3}, spared="NODES")
    assert [silent.opened("CLIENTS") for _ in range(3)] == [True, True, False]
    assert [silent.opened("NODES") for _ in range(4)] == [True, True, True, False]


def test_a_listener_and_an_address_may_have_numbers_of_their_own() -> None:
    silent = Silent(
        count_max_of={"CLIENTS": 2}, count_per_host_max=9, count_max_of_host={"10.0.0.2": 1}
    )
    assert [silent.opened("CLIENTS") for _ in range(3)] == [True, True, False]
    assert [silent.opened("OTHERS", "10.0.0.2") for _ in range(2)] == [True, False]


def test_other_limits_hold_for_the_next_connection() -> None:
    silent = Silent(count_max=1)
    assert [silent.opened("CLIENTS") for _ in range(2)] == [True, False]
    silent.watch.limits = ConnectionLimits(idle_ms_max=0, count_max=2)
    assert [silent.opened("CLIENTS") for _ in range(2)] == [True, False]
    silent.watch.close(Peer("10.0.0.1", 1, 1, "CLIENTS"))
    assert silent.opened("CLIENTS")
