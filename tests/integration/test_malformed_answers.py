"""A controller that answers what cannot be read: every loop goes on, and so do clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from broker.exit_codes import ExitCode
from protocol.errors import ErrorCode
from protocol.messages.configs import DescribeConfigsRequest
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControlledShutdownRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.producer_ids import AllocateProducerIdsRequest, InitProducerIdRequest
from protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from protocol.transport.rpc_client import RpcClient
from tests.broker.fake_controller import FakeController
from tests.broker.one_broker import RunningBroker, cluster_spec, running

NOT_LOOPS = {
    "Broker.run",
    "Broker._wait_for_end",
    "RpcServer._supervise",
    "RpcServer._serve",
    "ControlServer._serve",
    "_open_to_append",
}
"""They end with the broker, a connection or a file that is opened, or end the broker loudly."""


@pytest.fixture
async def controller() -> AsyncGenerator[FakeController]:
    made = FakeController()
    await made.start()
    yield made
    await made.stop()


def client_of(run: RunningBroker) -> RpcClient:
    return RpcClient(host="127.0.0.1", port=run.port, client_id="client")


async def test_every_endless_loop_of_a_broker_is_supervised(
    tmp_path: Path, controller: FakeController
) -> None:
    before = asyncio.all_tasks()
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        await controller.until_heartbeats(1)
        await run.lead(0)
        begun = asyncio.all_tasks() - before
    kinds = sorted(str(getattr(task.get_coro(), "__qualname__", "")) for task in begun)
    assert kinds.count("supervised") >= 15
    assert {each for each in kinds if each not in NOT_LOOPS} == {"supervised"}


@pytest.mark.parametrize("kind", [BrokerRegistrationRequest, BrokerHeartbeatRequest])
async def test_the_session_goes_on(
    tmp_path: Path, controller: FakeController, kind: type[Any]
) -> None:
    controller.garbled[kind] = 3
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        await controller.until(lambda: len(controller.of(kind)) >= 3)
        await controller.until_heartbeats(len(controller.of(BrokerHeartbeatRequest)) + 2)
        assert run.broker.broker_control.session.is_connected
        assert await run.stop() is ExitCode.CLEAN


async def test_a_code_that_nobody_knows_is_an_unexpected_error_and_the_session_goes_on(
    tmp_path: Path, controller: FakeController
) -> None:
    unknown: Any = 999
    controller.heartbeat_codes = [unknown]
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        await controller.until_heartbeats(3)
        assert await run.stop() is ExitCode.CLEAN


async def test_the_configs_of_the_broker_and_of_topics_are_asked_for_again(
    tmp_path: Path, controller: FakeController
) -> None:
    controller.broker_configs["1"] = {"background.threads": "7"}
    controller.configs["orders"] = {"retention.ms": "77"}
    controller.garbled[DescribeConfigsRequest] = 1
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        await controller.until(lambda: len(controller.of(DescribeConfigsRequest)) >= 2)
        controller.garbled[DescribeConfigsRequest] = 1
        response = await run.lead(0)
        assert [each.error_code for each in response.topics[0].partition_errors] == [0]
        await controller.until(lambda: len(controller.of(DescribeConfigsRequest)) >= 4)


async def test_a_topic_that_a_client_mentions_is_created_in_the_end(
    tmp_path: Path, controller: FakeController
) -> None:
    controller.garbled[CreateTopicsRequest] = 1
    wanted = MetadataRequest(
        topics=[MetadataRequestTopic(topic_id=bytes(16), name="new")],
        allow_auto_topic_creation=True,
    )
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        await run.lead(0)
        client = client_of(run)
        async with asyncio.timeout(10):
            while len(controller.of(CreateTopicsRequest)) < 2:
                answer = await client.request(wanted, 9)
                assert answer.topics[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE
        client.close()


async def test_a_clean_stop_is_one(tmp_path: Path, controller: FakeController) -> None:
    controller.garbled[ControlledShutdownRequest] = 100
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        await controller.until_heartbeats(1)
        assert await run.stop() is ExitCode.CLEAN


async def test_a_client_is_not_hung_up_on_for_what_the_controller_answered(
    tmp_path: Path, controller: FakeController, caplog: pytest.LogCaptureFixture
) -> None:
    controller.garbled[CreateTopicsRequest] = 1
    controller.garbled[AllocateProducerIdsRequest] = 1
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        await controller.until_heartbeats(1)
        await run.lead(0)
        client = client_of(run)
        created = await client.request(CreateTopicsRequest(topics=[topic], timeout_ms=1_000), 5)
        identified = await client.request(InitProducerIdRequest(transactional_id=None), 4)
        again = await client.request(InitProducerIdRequest(transactional_id=None), 4)
        client.close()
    assert created.topics[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert identified.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert again.error_code == ErrorCode.NONE
    assert "sent no answer to CreateTopics" in caplog.text
    assert "it sent no request" not in caplog.text
