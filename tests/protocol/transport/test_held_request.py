"""Requests that a server must not begin yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from protocol.apis import APIS
from protocol.connection import CloseConnection, Peer, RequestReceived
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.transport.begun_answers import Body
from protocol.transport.held_request import HeldRequest
from protocol.transport.rpc_client import RpcClient
from protocol.transport.rpc_server import RpcServer
from protocol.wire.fast import codec
from tests.deadlines import DEADLINE_S

ANSWER = codec(ApiVersionsResponse, 0).encode_parts(ApiVersionsResponse())


class Holding:
    """A dispatcher that holds every first request of a connection, and what became of it."""

    def __init__(self) -> None:
        self.admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.more_bytes = 0
        self.is_released = asyncio.Event()
        self.begun_count = 0
        self.came = asyncio.Event()
        self.more_came = asyncio.Event()
        self._held: dict[int, None] = {}

    async def dispatch(self, request: RequestReceived, peer: Peer) -> HeldRequest | Body:
        assert request.api_key in APIS
        if peer.number in self._held:
            return await self._begin()
        self._held[peer.number] = None
        self.came.set()
        return HeldRequest(self.admitted, self._begin, self._received, self.is_released.set)

    async def _begin(self) -> Body:
        self.begun_count += 1
        return ANSWER

    def _received(self, size_bytes: int) -> None:
        self.more_bytes += size_bytes
        self.more_came.set()


@pytest.fixture
async def holding() -> Holding:
    return Holding()


@pytest.fixture
async def client(holding: Holding) -> AsyncGenerator[RpcClient]:
    server = RpcServer(holding.dispatch)
    port = await server.start("127.0.0.1", 0)
    made = RpcClient(host="127.0.0.1", port=port, client_id="c")
    async with asyncio.timeout(DEADLINE_S):
        yield made
    made.close()
    await server.stop()


async def test_it_is_answered_once_it_is_admitted_and_what_came_behind_it_then(
    holding: Holding, client: RpcClient
) -> None:
    first = await client.begin(ApiVersionsRequest(), 0)
    await holding.came.wait()
    second = await client.begin(ApiVersionsRequest(), 0)
    await holding.more_came.wait()
    assert (holding.begun_count, first.done()) == (0, False)
    assert holding.more_bytes > 0

    holding.admitted.set_result(None)

    await first
    await second
    assert holding.begun_count == 2
    assert holding.is_released.is_set()


async def test_it_is_dropped_when_its_client_leaves(holding: Holding, client: RpcClient) -> None:
    await client.begin(ApiVersionsRequest(), 0)
    await holding.came.wait()
    client.drop("it has asked somebody else")

    await holding.is_released.wait()

    with pytest.raises(CloseConnection):
        holding.admitted.result()
    assert holding.begun_count == 0


async def test_one_that_never_is_admitted_ends_its_connection_without_an_answer(
    holding: Holding, client: RpcClient
) -> None:
    asked = await client.begin(ApiVersionsRequest(), 0)
    await holding.came.wait()
    holding.admitted.set_exception(CloseConnection("its time is up"))

    with pytest.raises(ConnectionError):
        await asked
    assert holding.is_released.is_set()
    assert holding.begun_count == 0


async def test_a_server_that_stops_waits_for_none(holding: Holding) -> None:
    server = RpcServer(holding.dispatch)
    port = await server.start("127.0.0.1", 0)
    client = RpcClient(host="127.0.0.1", port=port, client_id="c")
    asked = await client.begin(ApiVersionsRequest(), 0)
    await holding.came.wait()
    async with asyncio.timeout(DEADLINE_S):
        await server.stop()
        with pytest.raises(ConnectionError):
            await asked
    assert holding.is_released.is_set()
