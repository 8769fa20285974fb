"""Channels: order, one in flight, retries, closing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controller.channels import QUEUED_REQUESTS_MAX, RETRY_MS, Channels
from controller.core.events import RequestAnswered
from protocol.errors import MalformedAnswer
from protocol.messages.control import StopReplicaRequest, UpdateMetadataRequest
from tests.deadlines import DEADLINE_S

WAIT_MS = 700


class FakeClient:
    """Answers when told to; ``refusals`` requests fail first."""

    def __init__(self, *, refusals: int = 0, refusal: ConnectionError | None = None) -> None:
        self.asked: list[tuple[Any, int]] = []
        self.is_closed = False
        self.refusals = refusals
        self._refusal = refusal or ConnectionRefusedError("not there yet")
        self.may_answer = asyncio.Event()
        self.was_asked = asyncio.Event()

    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        self.asked.append((message, version))
        self.was_asked.set()
        if self.refusals:
            self.refusals -= 1
            raise self._refusal
        await self.may_answer.wait()
        return ("answer", message, timeout_ms)

    def close(self) -> None:
        self.is_closed = True


class Desk:
    """What the channels tell."""

    def __init__(self, *clients: FakeClient) -> None:
        self._clients = list(clients)
        self.connected: list[tuple[str, int]] = []
        self.answers: list[RequestAnswered] = []
        self.overflows: list[int] = []
        self.channels: Channels
        self._news = asyncio.Event()

    def connect(self, host: str, port: int) -> FakeClient:
        self.connected.append((host, port))
        return self._clients.pop(0)

    def on_answer(self, answer: RequestAnswered) -> None:
        self.answers.append(answer)
        self._news.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while len(self.answers) < count:
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def desk(*clients: FakeClient) -> AsyncGenerator[Desk]:
    made = Desk(*clients)
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        made.channels = Channels(
            group, made.connect, made.on_answer, made.overflows.append, WAIT_MS
        )
        yield made
        made.channels.close_all()


async def test_requests_leave_in_order_one_at_a_time() -> None:
    client = FakeClient()
    first, second = UpdateMetadataRequest(), StopReplicaRequest()
    async with desk(client) as made:
        made.channels.open(1, 7, "host", 9092)
        made.channels.send(1, 1, first)
        made.channels.send(1, 2, second)
        await client.was_asked.wait()
        assert client.asked == [(first, 8)]

        client.may_answer.set()
        await made.until(2)

    assert client.asked == [(first, 8), (second, 4)]
    assert [(a.broker_id, a.broker_epoch, a.sequence) for a in made.answers] == [
        (1, 7, 1),
        (1, 7, 2),
    ]
    assert made.answers[0].response == ("answer", first, WAIT_MS)
    assert made.connected == [("host", 9092)]


@pytest.mark.parametrize(
    "refusal", [ConnectionRefusedError("not there yet"), MalformedAnswer("no answer")]
)
async def test_a_request_is_tried_until_it_is_answered(refusal: ConnectionError) -> None:
    client = FakeClient(refusals=2, refusal=refusal)
    client.may_answer.set()
    request = UpdateMetadataRequest()
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    async with desk(client) as made:
        made.channels.open(1, 7, "host", 9092)
        made.channels.send(1, 1, request)
        await made.until(1)

    assert client.asked == [(request, 8)] * 3
    assert loop.time() - began_s >= 2 * RETRY_MS / 1000


async def test_a_closed_channel_answers_no_more_and_a_new_one_begins_empty() -> None:
    old, new = FakeClient(), FakeClient()
    new.may_answer.set()
    async with desk(old, new) as made:
        made.channels.open(1, 7, "host", 9092)
        made.channels.send(1, 1, UpdateMetadataRequest())
        await old.was_asked.wait()

        made.channels.open(1, 8, "host", 9093)
        made.channels.send(1, 1, StopReplicaRequest())
        await made.until(1)

    assert old.is_closed
    assert [(a.broker_epoch, type(a.request)) for a in made.answers] == [(8, StopReplicaRequest)]


async def test_without_a_channel_nothing_is_sent() -> None:
    async with desk() as made:
        made.channels.send(1, 1, UpdateMetadataRequest())
        made.channels.close(1)

    assert made.answers == []


async def test_one_silent_broker_does_not_hold_the_others() -> None:
    silent, quick = FakeClient(), FakeClient()
    quick.may_answer.set()
    async with desk(silent, quick) as made:
        made.channels.open(1, 1, "host", 1)
        made.channels.open(2, 2, "host", 2)
        made.channels.send(1, 1, UpdateMetadataRequest())
        made.channels.send(2, 1, UpdateMetadataRequest())
        await made.until(1)

    assert [answer.broker_id for answer in made.answers] == [2]


async def test_a_broker_too_far_behind_is_reported() -> None:
    async with desk(FakeClient()) as made:
        made.channels.open(1, 1, "host", 1)
        request = UpdateMetadataRequest()
        for sequence in range(QUEUED_REQUESTS_MAX):
            made.channels.send(1, sequence + 1, request)
        assert made.overflows == []
        assert made.channels.queued_count_max == QUEUED_REQUESTS_MAX

        made.channels.send(1, QUEUED_REQUESTS_MAX + 1, request)

        assert made.overflows == [1]


async def test_after_the_end_no_channel_opens() -> None:
    async with desk(FakeClient()) as made:
        made.channels.close_all()
        made.channels.open(1, 1, "host", 1)
        made.channels.send(1, 1, UpdateMetadataRequest())
        assert made.channels.queued_count_max == 0
        assert made.connected == []


async def test_silence_and_its_end_are_said_once(caplog: pytest.LogCaptureFixture) -> None:
    client = FakeClient(refusals=2)
    client.may_answer.set()
    with caplog.at_level("INFO", "controller.channels"):
        async with desk(client) as made:
            made.channels.open(1, 7, "host", 9092)
            for sequence in (1, 2):
                made.channels.send(1, sequence, UpdateMetadataRequest())
            await made.until(2)
    silent, again = caplog.messages
    assert silent.startswith("broker 1 does not answer")
    assert again == "broker 1 answers again"
