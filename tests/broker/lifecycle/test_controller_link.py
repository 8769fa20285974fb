"""The link: kinds of traffic do not wait for each other; a silent controller has a code."""

from __future__ import annotations

import asyncio

import pytest

from broker.lifecycle.controller_link import FORWARDS_MAX, ControllerLink
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.lifecycle import BrokerHeartbeatRequest
from protocol.messages.producer_ids import AllocateProducerIdsRequest
from protocol.messages.topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from tests.broker.fake_controller import DEADLINE_S, FakeController


def create(name: str = "new") -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreatableTopic(name=name)], timeout_ms=1_000)


async def test_a_forwarded_request_comes_back_with_the_controllers_answer(
    controller: FakeController, link: ControllerLink
):
    answer: CreateTopicsResponse = await link.forward(create(), 5, timeout_ms=1_000)
    assert [topic.name for topic in answer.topics] == ["new"]


async def test_heartbeats_and_ids_pass_a_forwarded_request_that_waits(
    controller: FakeController, link: ControllerLink
):
    gate = controller.held[CreateTopicsRequest] = asyncio.Event()
    async with asyncio.TaskGroup() as tasks, asyncio.timeout(DEADLINE_S):
        waiting = [
            tasks.create_task(link.forward(create(str(n)), 7, timeout_ms=60_000))
            for n in range(FORWARDS_MAX + 2)
        ]
        await controller.until(lambda: len(controller.of(CreateTopicsRequest)) == FORWARDS_MAX)
        await link.session_request(BrokerHeartbeatRequest(), 1, timeout_ms=1_000)
        await link.request(AllocateProducerIdsRequest(), 0)
        assert len(controller.of(CreateTopicsRequest)) == FORWARDS_MAX
        gate.set()
    assert [task.result().topics[0].name for task in waiting] == [
        str(n) for n in range(FORWARDS_MAX + 2)
    ]


async def test_a_silent_controller_means_request_timed_out(
    controller: FakeController, link: ControllerLink
):
    controller.held[CreateTopicsRequest] = asyncio.Event()
    hasty = ControllerLink(controller.connect, forward_grace_ms=20)
    with pytest.raises(KafkaError) as error:
        await hasty.forward(create(), 7, timeout_ms=20)
    hasty.close()
    assert error.value.code is ErrorCode.REQUEST_TIMED_OUT


async def test_a_request_that_allows_no_time_is_forwarded_and_answered(link: ControllerLink):
    answer: CreateTopicsResponse = await link.forward(create(), 7, timeout_ms=0)
    assert answer.topics[0].error_code == ErrorCode.NONE


async def test_no_controller_means_request_timed_out(controller: FakeController):
    hasty = ControllerLink(controller.connect, forward_grace_ms=20)
    await controller.stop()
    with pytest.raises(KafkaError) as error:
        await hasty.forward(create(), 7, timeout_ms=100)
    assert error.value.code is ErrorCode.REQUEST_TIMED_OUT
    hasty.close()


async def test_a_controller_that_starts_meanwhile_gets_the_request(
    controller: FakeController, link: ControllerLink
):
    await controller.stop()
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(link.forward(create(), 7, timeout_ms=60_000))
        await asyncio.sleep(0)
        await controller.start()
    assert [topic.name for topic in waiting.result().topics] == ["new"]


async def test_a_client_that_gives_up_leaves_no_connection_behind_that_waits(
    controller: FakeController, link: ControllerLink
):
    """Its answer may never come: the next request is not to stand behind it."""
    gate = controller.held[CreateTopicsRequest] = asyncio.Event()
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as tasks:
        given_up = tasks.create_task(link.forward(create("old"), 7, timeout_ms=60_000))
        await controller.until(lambda: len(controller.of(CreateTopicsRequest)) == 1)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        del controller.held[CreateTopicsRequest]

        answer: CreateTopicsResponse = await link.forward(create(), 7, timeout_ms=5_000)

    assert [topic.name for topic in answer.topics] == ["new"]
    gate.set()
