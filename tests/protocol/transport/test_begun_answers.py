"""Answers leave in the order of their requests, whenever they are ready."""

from __future__ import annotations

import asyncio
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from protocol.connection import RequestReceived
from protocol.transport.begun_answers import (
    BEGUN_BYTES_MAX,
    BEGUN_REQUESTS_MAX,
    BegunAnswers,
    Body,
    LaterAnswer,
)


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
        assert len(sent.answers) == 0
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
