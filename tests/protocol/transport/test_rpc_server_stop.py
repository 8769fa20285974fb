"""A server that stops answers what it has begun, within a bound, and begins little more."""

from __future__ import annotations

import asyncio

from protocol.connection import RequestReceived
from protocol.ports import Buffer
from protocol.transport.begun_answers import Body, LaterAnswer
from tests.protocol.transport.raw_client import DEADLINE_S, connected, serving


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
