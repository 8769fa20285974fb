"""Automatic creation: each name once at a time, failures left to the next question."""

from __future__ import annotations

import asyncio

from broker.lifecycle.auto_topics import AutoTopics
from broker.lifecycle.controller_link import ControllerLink
from protocol.admin.topics import NewTopic
from protocol.messages.topics import CreateTopicsRequest
from protocol.transport.rpc_client import RpcClient
from tests.broker.fake_controller import FakeController
from tests.broker.log_watch import watching_for


def by_name(name: str) -> NewTopic:
    return NewTopic(name=name)


async def test_mentioned_topics_are_created_with_the_clusters_defaults(
    controller: FakeController, link: ControllerLink
):
    topics = AutoTopics(link, by_name)
    gate = controller.held[CreateTopicsRequest] = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(topics.run())
        topics.create(["a", "b"])
        await controller.until(lambda: len(controller.of(CreateTopicsRequest)) == 1)
        topics.create(["a"])
        gate.set()
        await controller.until(lambda: True)
        task.cancel()
    (request,) = controller.of(CreateTopicsRequest)
    assert [(t.name, t.num_partitions, t.replication_factor) for t in request.topics] == [
        ("a", -1, -1),
        ("b", -1, -1),
    ]


async def test_a_controller_that_is_away_gets_the_request_when_it_is_back(
    controller: FakeController, link: ControllerLink
):
    topics = AutoTopics(link, by_name)
    await controller.stop()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(topics.run())
        topics.create(["a"])
        await controller.start()
        await controller.until(lambda: len(controller.of(CreateTopicsRequest)) == 1)
        task.cancel()


async def test_a_failure_is_logged_and_the_loop_goes_on(controller: FakeController):
    def lost() -> RpcClient:
        client = controller.connect()
        client.close()
        return client

    topics = AutoTopics(ControllerLink(lost), by_name)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(topics.run())
        for name in ("a", "b"):
            with watching_for(f"automatic creation of {name} failed") as line:
                topics.create([name])
                await line.wait()
        task.cancel()
    assert controller.of(CreateTopicsRequest) == []
