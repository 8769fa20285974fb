# What waits inside the server shows from nowhere else.
# pyright: reportPrivateUsage=false
import asyncio
import logging
import socket
from collections.abc import Sequence
from struct import pack
from typing import Any

import pytest

from protocol.connection import ClientConnection, CloseConnection, Peer, RequestReceived
from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.transport.begun_answers import Body, LaterAnswer
from protocol.transport.rpc_server import RpcServer
from protocol.transport.server_link import QUEUED_REQUESTS_MAX
from tests.protocol.transport.raw_client import (
    DEADLINE_S,
    HOST,
    METADATA,
    UntilCancelled,
    connected,
    echo,
    eventually,
    serving,
)


async def test_pipelined_requests_are_answered_in_order() -> None:
    bodies = [b"%d" % number for number in range(2000)]
    async with serving(echo) as (_, port), connected(port) as client:
        client.send(*bodies)
        assert [await client.receive() for _ in bodies] == bodies


async def test_a_connection_has_one_request_under_way_and_others_do_not_wait_for_it() -> None:
    begun: list[bytes] = []
    gate = asyncio.Event()

    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        begun.append(bytes(request.body))
        if bytes(request.body) == b"slow":
            await gate.wait()
        return [request.body]

    async with serving(answer) as (_, port), connected(port) as one, connected(port) as two:
        one.send(b"slow", b"behind slow")
        two.send(b"quick")
        assert await two.receive() == b"quick"
        assert sorted(begun) == [b"quick", b"slow"]
        gate.set()
        assert await one.receive() == b"slow"
        assert await one.receive() == b"behind slow"


async def test_an_answer_does_not_wait_for_the_next_request_to_be_answered() -> None:
    gate = asyncio.Event()

    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        if bytes(request.body) == b"slow":
            await gate.wait()
        return [request.body]

    async with serving(answer) as (_, port), connected(port) as client:
        client.send(b"quick", b"slow")
        assert await client.receive() == b"quick"
        gate.set()
        assert await client.receive() == b"slow"


async def test_a_request_may_have_no_answer() -> None:
    async def answer(request: RequestReceived) -> Sequence[Buffer] | None:
        return None if bytes(request.body) == b"acks=0" else [request.body]

    async with serving(answer) as (_, port), connected(port) as client:
        client.send(b"acks=0", b"acks=1")
        assert await client.receive() == b"acks=1"


async def test_large_bodies_go_both_ways() -> None:
    body = bytes(range(256)) * 20_000
    async with serving(echo) as (_, port), connected(port) as client:
        client.send(b"small", body, body, b"small")
        received = [await client.receive() for _ in range(4)]
        assert [len(part) for part in received] == [5, len(body), len(body), 5]
        assert received[1] == body


async def test_the_body_may_be_changed_in_place() -> None:
    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        request.body[:1] = b"X"
        return [request.body]

    async with serving(answer) as (_, port), connected(port) as client:
        client.send(b"abc")
        assert await client.receive() == b"Xbc"


@pytest.mark.parametrize("reason", [CloseConnection("unsupported"), Malformed("short body")])
async def test_a_refused_request_closes_after_the_answers_before_it(reason: Exception) -> None:
    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        if bytes(request.body) == b"bad":
            raise reason
        return [request.body]

    async with serving(answer) as (_, port), connected(port) as client:
        client.send(b"good", b"bad", b"never")
        assert await client.receive() == b"good"
        assert await client.is_closed_by_server()


@pytest.mark.parametrize(
    "bytes_sent", [pack(">i", 101), pack(">i", -5), pack(">ihhi", 8, 999, 0, 0)]
)
async def test_bytes_that_are_no_request_close_after_the_answers_before(bytes_sent: bytes) -> None:
    async with serving(echo, size_bytes_max=100) as (_, port), connected(port) as client:
        client.send(b"good")
        client.writer.write(bytes_sent)
        assert await client.receive() == b"good"
        assert await client.is_closed_by_server()


async def test_a_bug_in_one_request_closes_its_connection_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        if bytes(request.body) == b"bug":
            raise LookupError("a bug of ours")
        return [request.body]

    async with serving(answer) as (_, port), connected(port) as one, connected(port) as two:
        one.send(b"bug")
        assert await one.is_closed_by_server()
        two.send(b"fine")
        assert await two.receive() == b"fine"
    assert [r.levelno for r in caplog.records if "failed" in r.message] == [logging.ERROR]


async def test_reading_pauses_while_too_many_requests_wait() -> None:
    gate = asyncio.Event()
    answered = 0

    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        nonlocal answered
        await gate.wait()
        answered += 1
        return [b"x"]

    flood = QUEUED_REQUESTS_MAX * 20
    body = bytes(1000)
    async with serving(answer) as (server, port), connected(port) as client:
        client.send(*[body] * flood)
        link = await first_link(server)
        await eventually(lambda: link._is_reading_paused)
        assert len(link._queue) < QUEUED_REQUESTS_MAX * 2
        gate.set()
        for _ in range(flood):
            assert await client.receive() == b"x"
        assert answered == flood


async def test_no_request_is_begun_while_the_client_does_not_read() -> None:
    answered = 0
    answer_bytes = 1 << 20  # Fifty of them are more than what sockets keep.

    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        nonlocal answered
        answered += 1
        return [bytes(answer_bytes)]

    async with serving(answer) as (server, port):
        raw = socket.create_connection((HOST, port))
        raw.setblocking(False)
        connection = ClientConnection(None)
        for _ in range(50):
            raw.sendall(b"".join(connection.send_request(METADATA, 1, [])))
        link = await first_link(server)
        await eventually(lambda: link._writable is not None)
        stuck_at = answered
        assert stuck_at < 50
        loop = asyncio.get_running_loop()
        remaining = 50 * (answer_bytes + 8)
        while remaining:
            remaining -= len(await loop.sock_recv(raw, 1 << 20))
        raw.close()
        assert answered == 50


async def test_a_client_that_leaves_lets_its_request_end() -> None:
    begun, gate, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        begun.set()
        await gate.wait()
        ended.set()
        return [b"to nobody"]

    async with serving(answer) as (server, port):
        async with connected(port) as client:
            client.send(b"produce")
            await begun.wait()
        gate.set()
        async with asyncio.timeout(DEADLINE_S):
            await ended.wait()
        await eventually(lambda: server.connection_count == 0)


async def test_stopping_cancels_requests_and_closes_connections() -> None:
    answer = UntilCancelled()
    async with serving(answer) as (server, port), connected(port) as client, connected(port):
        client.send(b"long poll")
        await answer.begun.wait()
        await server.stop()
        assert answer.cancelled.is_set()
        assert await client.is_closed_by_server()
        with pytest.raises(OSError):  # noqa: PT011 - the number depends on the system
            await asyncio.open_connection(HOST, port)


async def test_a_port_in_use_is_an_os_error() -> None:
    async with serving(echo) as (_, port):

        async def dispatch(request: RequestReceived, peer: Peer) -> Sequence[Buffer] | None:
            return None

        with pytest.raises(OSError, match="address already in use"):
            await RpcServer(dispatch).start(HOST, port)


async def first_link(server: RpcServer) -> Any:
    await eventually(lambda: bool(server._links))
    return next(iter(server._links.values()))


# Stopping: what is begun is answered, within a bound, and little more is begun.


class Slow:
    """Begins answers at once and has them ready when told, as a Produce with acks=all is."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.abandoned: list[bytes] = []
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._more = asyncio.Event()

    async def answer(self, request: RequestReceived) -> LaterAnswer | list[Buffer]:
        body = bytes(request.body)
        if body == b"fetch":
            return [body]
        if body == b"poll":
            self._begin(body)
            await asyncio.Event().wait()
        self._begin(body)
        return LaterAnswer(self.ready, lambda: self._body(body), lambda: self._abandon(body))

    def _body(self, body: bytes) -> Body:
        return [body]

    def _abandon(self, body: bytes) -> None:
        self.abandoned.append(body)

    async def until_begun(self, count: int) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while len(self.begun) < count:
                self._more.clear()
                await self._more.wait()

    def _begin(self, body: bytes) -> None:
        self.begun.append(body)
        self._more.set()


async def test_what_is_begun_is_answered_before_the_connection_ends() -> None:
    slow = Slow()
    bodies = [b"%d" % number for number in range(20)]
    async with (
        serving(slow.answer) as (server, port),
        connected(port) as client,
        asyncio.TaskGroup() as stopping,
    ):
        client.send(*bodies)
        await slow.until_begun(20)
        stopping.create_task(server.stop())
        await asyncio.sleep(0)
        slow.ready.set_result(None)
        assert [await client.receive() for _ in bodies] == bodies
        assert await client.is_closed_by_server()
        assert slow.abandoned == []


async def test_it_is_answered_although_a_request_behind_it_waits() -> None:
    slow = Slow()
    async with (
        serving(slow.answer) as (server, port),
        connected(port) as client,
        asyncio.TaskGroup() as stopping,
    ):
        client.send(b"one", b"two", b"poll")
        await slow.until_begun(3)
        stopping.create_task(server.stop())
        await asyncio.sleep(0)
        slow.ready.set_result(None)
        assert [await client.receive(), await client.receive()] == [b"one", b"two"]


async def test_a_follower_may_fetch_what_is_to_be_answered() -> None:
    slow = Slow()
    async with (
        serving(slow.answer) as (server, port),
        connected(port) as client,
        connected(port) as follower,
        asyncio.TaskGroup() as stopping,
    ):
        follower.send(b"fetch")
        assert await follower.receive() == b"fetch"
        client.send(b"one")
        await slow.until_begun(1)
        stopping.create_task(server.stop())
        await asyncio.sleep(0)
        follower.send(b"fetch")
        assert await follower.receive() == b"fetch"
        client.send(b"too late")
        follower.send(b"fetch")
        assert await follower.receive() == b"fetch"  # so the server has read both
        slow.ready.set_result(None)
        assert await client.receive() == b"one"
        assert await client.is_closed_by_server()
        assert slow.begun == [b"one"]


async def test_what_another_connection_begins_meanwhile_is_answered_too_and_is_its_last() -> None:
    slow = Slow()
    async with (
        serving(slow.answer) as (server, port),
        connected(port) as one,
        connected(port) as two,
        asyncio.TaskGroup() as stopping,
    ):
        two.send(b"fetch")
        assert await two.receive() == b"fetch"
        one.send(b"one")
        await slow.until_begun(1)
        stopping.create_task(server.stop())
        await asyncio.sleep(0)
        two.send(b"two")
        await slow.until_begun(2)
        slow.ready.set_result(None)
        assert [await one.receive(), await two.receive()] == [b"one", b"two"]
        assert await two.is_closed_by_server()


async def test_an_answer_that_never_gets_ready_holds_a_stop_up_for_a_bounded_time() -> None:
    slow = Slow()
    serving_ = serving(slow.answer, answer_timeout_ms=20)
    async with serving_ as (server, port), connected(port) as client:
        client.send(b"one")
        await slow.until_begun(1)
        await server.stop()
        assert slow.abandoned == [b"one"]
        assert await client.is_closed_by_server()


async def test_a_client_that_reads_nothing_holds_a_stop_up_for_a_bounded_time() -> None:
    large = bytes(64 << 20)

    async def answer(_request: RequestReceived) -> list[Buffer]:
        return [large]

    async with serving(answer) as (server, port), connected(port) as client:
        client.send(b"one")
        async with asyncio.timeout(DEADLINE_S):
            assert await client.reader.read(1)
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # of any transport
        await server.stop()
        assert server.connection_count == 0
