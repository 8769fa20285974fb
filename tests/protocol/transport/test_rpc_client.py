import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from protocol.connection import CloseConnection, Peer, RequestReceived
from protocol.errors import MalformedAnswer
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.ports import Buffer
from protocol.transport.rpc_client import RpcClient
from protocol.transport.rpc_server import RpcServer
from protocol.wire.fast import codec
from tests.deadlines import DEADLINE_S

HOST = "127.0.0.1"
METADATA = 3
API_VERSIONS = 18


class Node:
    """Answers what it was asked; "hold" waits for the gate, "hang up" closes the connection."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.held = asyncio.Event()
        self.clients: list[str] = []

    async def dispatch(self, request: RequestReceived, peer: Peer) -> Sequence[Buffer] | None:
        self.clients.append(request.client_id)
        if request.api_key == API_VERSIONS:
            response = ApiVersionsResponse(
                error_code=0,
                api_keys=[],
                throttle_time_ms=7,
                supported_features=[],
                finalized_features=[],
                zk_migration_ready=False,
            )
            return [codec(ApiVersionsResponse, request.api_version).encode(response)]
        if bytes(request.body) == b"hold":
            self.held.set()
            await self.gate.wait()
        if bytes(request.body) == b"hang up":
            raise CloseConnection("asked to")
        return [request.body]


@asynccontextmanager
async def node() -> AsyncGenerator[tuple[Node, RpcServer, RpcClient]]:
    answering = Node()
    server = RpcServer(answering.dispatch)
    client = RpcClient(host=HOST, port=await server.start(HOST, 0), client_id="tester")
    try:
        async with asyncio.timeout(DEADLINE_S):
            yield answering, server, client
    finally:
        client.close()
        await server.stop()


async def test_a_message_is_encoded_sent_and_its_answer_decoded() -> None:
    async with node() as (answering, _, client):
        assert not client.is_connected
        for version in range(4):
            request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
            answer = await client.request(request, version)
            assert isinstance(answer, ApiVersionsResponse)
            assert answer.throttle_time_ms == (7 if version else 0)
        assert client.is_connected
        assert answering.clients == ["tester"] * 4


async def test_requests_are_pipelined_over_one_connection() -> None:
    async with node() as (answering, server, client), asyncio.TaskGroup() as group:
        bodies = [b"hold"] + [b"%d" % number for number in range(100)]
        tasks = [group.create_task(client.request_raw(METADATA, 1, [body])) for body in bodies]
        answering.gate.set()
        assert [bytes(await task) for task in tasks] == bodies
        assert server.connection_count == 1


async def test_large_answers_arrive_whole() -> None:
    async with node() as (_, _, client):
        body = bytes(range(256)) * 10_000
        assert await client.request_raw(METADATA, 9, [body[:9], body[9:]]) == body


async def test_losing_the_connection_ends_all_waiting_requests_and_the_next_one_reconnects() -> (
    None
):
    async with node() as (_, _, client):
        results = await asyncio.gather(
            client.request_raw(METADATA, 1, [b"hang up"]),
            client.request_raw(METADATA, 1, [b"behind"]),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [ConnectionResetError] * 2
        assert results[0] is not results[1]
        assert not client.is_connected
        assert await client.request_raw(METADATA, 1, [b"again"]) == b"again"


async def test_a_node_that_is_not_there_is_a_connection_error() -> None:
    async with node() as (_, server, client):
        await server.stop()
        with pytest.raises(ConnectionError):
            await client.request_raw(METADATA, 1, [b"x"])


async def test_a_name_that_nobody_has_is_a_connection_error() -> None:
    client = RpcClient(host="999.1.1.1", port=1, client_id=None)
    with pytest.raises(ConnectionError, match=r"cannot connect to 999\.1\.1\.1:1"):
        await client.request_raw(METADATA, 1, [b"x"])


async def test_no_answer_in_time_closes_the_connection() -> None:
    async with node() as (answering, _, client):
        with pytest.raises(TimeoutError, match="did not answer in 1 ms"):
            await client.request_raw(METADATA, 1, [b"hold"], timeout_ms=1)
        assert not client.is_connected
        answering.gate.set()
        assert await client.request_raw(METADATA, 1, [b"again"], timeout_ms=5000) == b"again"


async def test_a_request_may_have_less_time_than_the_one_before_it() -> None:
    async with node() as (answering, _, client), asyncio.TaskGroup() as group:

        async def wait_long() -> None:
            with pytest.raises(ConnectionError, match="did not answer in 1 ms"):
                await client.request_raw(METADATA, 1, [b"hold"], timeout_ms=60_000)

        group.create_task(wait_long())
        await answering.held.wait()
        with pytest.raises(TimeoutError, match="did not answer in 1 ms"):
            await client.request_raw(METADATA, 1, [b"behind"], timeout_ms=1)


class ShiftedClock:
    """The loop's clock, which goes on by itself and, when told so, ahead."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._loop = asyncio.get_running_loop()
        self._ahead_s = 0.0
        real = self._loop.time
        patch.setattr(self._loop, "time", lambda: real() + self._ahead_s)

    async def skip(self, seconds: float) -> None:
        """Go ahead; return when every timer that is due by then has run."""
        due = self._loop.create_future()
        self._loop.call_later(seconds, due.set_result, None)
        self._ahead_s += seconds
        await due


async def test_the_time_of_a_request_that_was_answered_ends_no_later_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with node() as (answering, _, client), asyncio.TaskGroup() as group:
        clock = ShiftedClock(monkeypatch)
        assert await client.request_raw(METADATA, 1, [b"first"], timeout_ms=20_000) == b"first"
        later = group.create_task(client.request_raw(METADATA, 1, [b"hold"], timeout_ms=60_000))
        await answering.held.wait()
        await clock.skip(20)
        answering.gate.set()
        assert await later == b"hold"


async def test_a_request_after_an_answered_one_ends_at_its_own_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with node() as (answering, _, client), asyncio.TaskGroup() as group:
        clock = ShiftedClock(monkeypatch)
        assert await client.request_raw(METADATA, 1, [b"first"], timeout_ms=20_000) == b"first"

        async def wait_in_vain() -> None:
            with pytest.raises(TimeoutError, match="did not answer in 60000 ms"):
                await client.request_raw(METADATA, 1, [b"hold"], timeout_ms=60_000)

        group.create_task(wait_in_vain())
        await answering.held.wait()
        await clock.skip(60)


async def test_a_cancelled_request_leaves_the_connection_to_the_others() -> None:
    async with node() as (answering, _, client), asyncio.TaskGroup() as group:
        held = group.create_task(client.request_raw(METADATA, 1, [b"hold"]))
        await answering.held.wait()
        held.cancel()
        answering.gate.set()
        assert await client.request_raw(METADATA, 1, [b"next"]) == b"next"


async def test_a_closed_client_refuses_and_ends_what_waits() -> None:
    async with node() as (answering, _, client):

        async def close_when_held() -> None:
            await answering.held.wait()
            client.close()

        held, _ = await asyncio.gather(
            client.request_raw(METADATA, 1, [b"hold"]), close_when_held(), return_exceptions=True
        )
        assert isinstance(held, ConnectionError)
        with pytest.raises(ConnectionError, match="closed"):
            await client.request_raw(METADATA, 1, [b"x"])


async def test_a_node_that_answers_garbage_is_left() -> None:
    served = asyncio.Event()

    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n")
        await reader.read()
        writer.close()
        await writer.wait_closed()
        served.set()

    server = await asyncio.start_server(garbage, HOST, 0)
    client = RpcClient(host=HOST, port=server.sockets[0].getsockname()[1], client_id=None)
    with pytest.raises(MalformedAnswer, match="sent no response"):
        await client.request_raw(METADATA, 1, [b"x"])
    async with asyncio.timeout(DEADLINE_S):
        await served.wait()
    server.close()
    await server.wait_closed()


async def test_requests_begun_one_after_the_other_are_answered_later() -> None:
    async with node() as (answering, _, client):
        ask = ApiVersionsRequest(client_software_name="t", client_software_version="1")
        begun = [await client.begin(ask, 3) for _ in range(3)]
        assert not any(answer.done() for answer in begun)

        bodies = [await answer for answer in begun]

        decode = codec(ApiVersionsResponse, 3).decode
        assert [decode(body).throttle_time_ms for body in bodies] == [7, 7, 7]
        assert answering.clients == ["tester"] * 3


async def test_a_dropped_connection_ends_what_was_begun_and_is_made_again() -> None:
    async with node() as (answering, _, client):
        client.drop("there is none yet")
        waiting = asyncio.gather(client.request_raw(METADATA, 1, [b"hold"]), return_exceptions=True)
        await answering.held.wait()

        client.drop("enough")

        (error,) = await waiting
        assert isinstance(error, ConnectionError)
        assert str(error) == "enough"
        assert await client.request_raw(METADATA, 1, [b"again"]) == b"again"
