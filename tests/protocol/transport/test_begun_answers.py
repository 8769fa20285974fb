"""Answers leave in the order of their requests, whenever they are ready."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.connection import CloseConnection, RequestReceived
from protocol.transport.begun_answers import (
    BEGUN_BYTES_MAX,
    BEGUN_REQUESTS_MAX,
    BegunAnswers,
    Body,
    LaterAnswer,
)
from tests.protocol.transport.raw_client import DEADLINE_S, connected, eventually, serving


class Sent:
    """What a connection would have sent."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        self.errors: list[Exception] = []
        self.abandoned: list[int] = []
        self.answers = BegunAnswers(self._send_all, self.errors.append)

    def _send_all(self, answers: list[tuple[RequestReceived, Body]]) -> None:
        self.bodies += [body for _, body in answers]

    def add(self, number: int, *, size_bytes: int = 0) -> asyncio.Future[None]:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        later = LaterAnswer(ready, lambda: [b"%d" % number], partial(self._abandon, number))
        self.answers.add(request(size_bytes), later)
        return ready

    def _abandon(self, number: int) -> None:
        self.abandoned.append(number)


def request(size_bytes: int = 0) -> RequestReceived:
    return RequestReceived(0, 9, 1, "test", memoryview(bytes(size_bytes)))


@given(st.permutations(range(6)), st.sets(st.integers(0, 5)))
def test_any_order_of_readiness_gives_the_order_of_requests(
    order: list[int], at_once: set[int]
) -> None:
    async def run() -> None:
        sent = Sent()
        ready = [sent.add(number) for number in range(6)]
        for number in order:
            ready[number].set_result(None)
            if number in at_once:
                await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert sent.bodies == [[b"%d" % number] for number in range(6)]
        assert sent.answers.count == 0
        await sent.answers.until_empty()

    asyncio.run(run())


async def test_it_is_full_by_number_and_by_size() -> None:
    many, large = Sent(), Sent()
    first, *_ = [many.add(number) for number in range(BEGUN_REQUESTS_MAX)]
    large.add(1, size_bytes=BEGUN_BYTES_MAX)
    assert (many.answers.is_full, large.answers.is_full) == (True, True)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(many.answers.until_room())
        await asyncio.sleep(0)
        assert not waiting.done()
        first.set_result(None)
    large.answers.abandon()
    await large.answers.until_room()


async def test_what_is_abandoned_is_never_sent() -> None:
    sent = Sent()
    ready = [sent.add(number) for number in range(2)]
    async with asyncio.TaskGroup() as group:
        emptied = group.create_task(sent.answers.until_empty())
        await asyncio.sleep(0)
        assert not emptied.done()
        sent.answers.abandon()
    for one in ready:
        one.set_result(None)
    await asyncio.sleep(0)
    assert (sent.bodies, sent.abandoned) == ([], [0, 1])


class Later:
    """Answers that are ready when the test says so; those that begin with ``now`` are at once."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.ready: dict[bytes, asyncio.Future[None]] = {}
        self.abandoned: list[bytes] = []
        self.moved = asyncio.Event()
        self.error: Exception | None = None

    async def answer(self, request: RequestReceived) -> LaterAnswer | Body:
        body = bytes(request.body)
        if body == b"close":
            raise CloseConnection("asked to")
        self.begun.append(body)
        self.moved.set()
        if body.startswith(b"now"):
            return [body]
        ready = self.ready[body] = asyncio.get_running_loop().create_future()

        def finish() -> Body:
            if self.error is not None:
                raise self.error
            return None if body.startswith(b"silent") else [body]

        def abandon() -> None:
            self.abandoned.append(body)
            self.moved.set()

        return LaterAnswer(ready, finish, abandon)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not condition():
                self.moved.clear()
                await self.moved.wait()


async def test_requests_are_begun_while_earlier_answers_take_their_time() -> None:
    later = Later()
    async with serving(later.answer) as (_, port), connected(port) as client:
        client.send(b"a", b"b", b"now c", b"silent", b"d")
        await later.until(lambda: len(later.begun) == 5)
        for name in (b"d", b"silent", b"b"):
            later.ready[name].set_result(None)
        later.ready[b"a"].set_result(None)
        assert [await client.receive() for _ in range(4)] == [b"a", b"b", b"now c", b"d"]
        client.send(b"now again")
        assert await client.receive() == b"now again"


async def test_only_so_many_requests_are_begun() -> None:
    later = Later()
    names = [b"%d" % number for number in range(BEGUN_REQUESTS_MAX + 5)]
    async with serving(later.answer) as (_, port), connected(port) as client:
        client.send(*names)
        await later.until(lambda: len(later.begun) == BEGUN_REQUESTS_MAX)
        later.ready[names[0]].set_result(None)
        assert await client.receive() == names[0]
        await later.until(lambda: len(later.begun) == BEGUN_REQUESTS_MAX + 1)
        while len(later.ready) < len(names) or not all(one.done() for one in later.ready.values()):
            for ready in later.ready.values():
                if not ready.done():
                    ready.set_result(None)
            await asyncio.sleep(0)
        assert [await client.receive() for _ in names[1:]] == names[1:]


async def test_a_connection_closes_after_the_answers_that_were_begun() -> None:
    later = Later()
    async with serving(later.answer) as (_, port), connected(port) as client:
        client.send(b"a", b"close", b"never")
        await later.until(lambda: later.begun == [b"a"])
        later.ready[b"a"].set_result(None)
        assert await client.receive() == b"a"
        assert await client.is_closed_by_server()
        assert later.begun == [b"a"]


async def test_answers_that_nobody_will_read_are_abandoned() -> None:
    later = Later()
    async with serving(later.answer) as (_, port):
        async with connected(port) as client:
            client.send(b"a", b"b")
            await later.until(lambda: len(later.begun) == 2)
        await later.until(lambda: len(later.abandoned) == 2)
        async with connected(port) as client:
            client.send(b"c")
            await later.until(lambda: len(later.begun) == 3)
    assert later.abandoned == [b"a", b"b", b"c"]


async def test_an_answer_behind_one_that_was_begun_may_come_when_the_client_has_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    later, gate = Later(), asyncio.Event()

    async def answer(request: RequestReceived) -> LaterAnswer | Body:
        given = await later.answer(request)
        if bytes(request.body) == b"now, but slowly":
            await gate.wait()
        return given

    with caplog.at_level(logging.ERROR):
        async with serving(answer) as (server, port):
            async with connected(port) as client:
                client.send(b"a", b"now, but slowly")
                await later.until(lambda: len(later.begun) == 2)
            await later.until(lambda: later.abandoned == [b"a"])
            gate.set()
            await eventually(lambda: server.connection_count == 0)
    assert caplog.text == ""


async def test_an_answer_that_cannot_be_finished_closes_its_connection_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    later = Later()
    later.error = ValueError("a bug")
    async with serving(later.answer) as (_, port), connected(port) as client:
        client.send(b"a", b"b")
        await later.until(lambda: len(later.begun) == 2)
        with caplog.at_level(logging.ERROR):
            later.ready[b"a"].set_result(None)
            assert await client.is_closed_by_server()
        assert "a bug" in caplog.text
        assert later.abandoned == [b"b"]
        async with connected(port) as another:
            another.send(b"now")
            assert await another.receive() == b"now"
