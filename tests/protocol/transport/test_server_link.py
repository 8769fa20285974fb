"""Long answers of a connection; what else it does is shown by test_rpc_server.py."""

# What waits inside the server shows from nowhere else.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence

from protocol.connection import RequestReceived
from protocol.ports import Buffer
from protocol.transport.rpc_server import RpcServer
from protocol.transport.server_link import WRITTEN_AT_ONCE_BYTES, ServerLink
from tests.protocol.transport.raw_client import connected, eventually, serving


async def link_of(server: RpcServer) -> ServerLink:
    await eventually(lambda: bool(server._links))
    return next(iter(server._links.values()))


async def test_a_long_answer_is_written_in_parts_with_turns_for_others_between() -> None:
    body = bytes(range(256)) * (5 * WRITTEN_AT_ONCE_BYTES // 256)

    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        return [body, b""] if bytes(request.body) == b"long" else [request.body]

    async with (
        serving(answer) as (server, port),
        connected(port) as long,
        connected(port) as other,
    ):
        long.send(b"long", b"behind it")
        link = await link_of(server)
        await eventually(lambda: link._unwritten_bytes > 0)
        other.send(b"quick")
        assert await other.receive() == b"quick"
        assert await long.receive() == body
        assert await long.receive() == b"behind it"
        assert (link._unwritten_bytes, server.memory.answers.held_bytes) == (0, 0)


async def test_a_server_that_stops_sends_the_rest_of_a_long_answer() -> None:
    body = bytes(5 * WRITTEN_AT_ONCE_BYTES)

    async def answer(_request: RequestReceived) -> Sequence[Buffer]:
        return [body, b""]

    async with serving(answer) as (server, port), connected(port) as client:
        client.send(b"long")
        link = await link_of(server)
        await eventually(lambda: link._unwritten_bytes > 0)
        link.end()
        assert await client.receive() == body
        assert await client.is_closed_by_server()
