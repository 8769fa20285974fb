"""Clients of a broker that was just started: they wait, and are told nothing that is not so."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from broker.client_gate import ClientGate
from broker.core.first_metadata import FirstMetadata
from broker.exit_codes import ExitCode
from protocol.connection import CloseConnection
from protocol.errors import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol.transport.begun_answers import Body
from protocol.transport.rpc_client import RpcClient
from tests.broker.fake_controller import FakeController
from tests.broker.one_broker import TOPIC_ID, RunningBroker, cluster_spec, http, running

ABOUT_ORDERS = MetadataRequest(
    topics=[MetadataRequestTopic(topic_id=bytes(16), name="orders")],
    allow_auto_topic_creation=False,
)


def client_of(run: RunningBroker) -> RpcClient:
    return RpcClient(host="127.0.0.1", port=run.port, client_id="client")


async def status(run: RunningBroker) -> dict[str, Any]:
    _, told = await http(run.broker.control_port, "GET", "/status")
    return told


async def until_waiting(run: RunningBroker, count: int) -> None:
    """Wait until so many requests of clients wait in the broker."""
    async with asyncio.timeout(10):
        while (await status(run))["waiting_client_requests"] != count:
            pass


async def test_a_question_about_topics_waits_until_the_controller_has_told_of_them(
    tmp_path: Path, controller: FakeController
) -> None:
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        client = client_of(run)
        about_this_process = await client.request(ApiVersionsRequest(), 0)
        assert about_this_process.error_code == ErrorCode.NONE
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(client.request(ABOUT_ORDERS, 9))
            await until_waiting(run, 1)
            await run.lead(0)
        response: MetadataResponse = asked.result()
        client.close()
    (topic,) = response.topics
    assert (topic.name, topic.error_code) == ("orders", ErrorCode.NONE)


async def test_what_is_sent_behind_a_request_that_waits_is_answered_behind_it(
    tmp_path: Path, controller: FakeController
) -> None:
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        client = client_of(run)
        order: list[str] = []
        about_topics = await client.begin(ABOUT_ORDERS, 9)
        about_versions = await client.begin(ApiVersionsRequest(), 0)
        about_topics.add_done_callback(lambda _: order.append("Metadata"))
        about_versions.add_done_callback(lambda _: order.append("ApiVersions"))
        await until_waiting(run, 1)
        assert order == []
        await run.lead(0)
        await about_versions
        client.close()
    assert order == ["Metadata", "ApiVersions"]


async def test_a_follower_is_answered_at_once(tmp_path: Path, controller: FakeController) -> None:
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        client = client_of(run)
        asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
        request = FetchRequest(
            replica_id=2,
            max_wait_ms=0,
            min_bytes=0,
            session_id=0,
            session_epoch=-1,
            topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[asked])],
        )
        response = await client.request(request, 13, timeout_ms=10_000)
        client.close()
        assert response.error_code == ErrorCode.NONE
        assert not run.broker.broker_control.client_gate.is_open


async def test_a_client_that_waited_for_request_timeout_ms_is_hung_up_on_without_an_answer(
    tmp_path: Path, controller: FakeController, caplog: pytest.LogCaptureFixture
) -> None:
    configs = {"request.timeout.ms": "50"}
    async with running(cluster_spec(tmp_path, controller.port, configs=configs)) as run:
        for _ in range(2):
            client = client_of(run)
            with pytest.raises(ConnectionError):
                await client.request(ABOUT_ORDERS, 9)
        gate = run.broker.broker_control.client_gate
        assert (gate.waiting_count, gate.waiting_bytes) == (0, 0)
    told = [each for each in caplog.messages if "for 50 ms" in each]
    assert len(told) == 1, "one line, however many clients there are"


async def test_a_client_that_leaves_waits_no_more(
    tmp_path: Path, controller: FakeController
) -> None:
    """What it asked for is not done behind its back when it has asked somebody else."""
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        client = client_of(run)
        with pytest.raises(TimeoutError):
            await client.request(ABOUT_ORDERS, 9, timeout_ms=50)
        await until_waiting(run, 0)


async def test_a_broker_that_ends_does_not_wait_for_those_who_wait(
    tmp_path: Path, controller: FakeController
) -> None:
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        client = client_of(run)
        asked = await client.begin(ABOUT_ORDERS, 9)
        await until_waiting(run, 1)
        assert await run.stop() is ExitCode.CLEAN
        with pytest.raises(ConnectionError):
            await asked


async def test_who_was_told_stays_told_when_it_registers_again(
    tmp_path: Path, controller: FakeController
) -> None:
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        await controller.until_heartbeats(1)
        await run.lead(0)
        controller.broker_epoch = 8
        controller.heartbeat_codes = [ErrorCode.STALE_BROKER_EPOCH]
        async with asyncio.timeout(10):
            while (await status(run))["broker_epoch"] != 8:
                pass
        client = client_of(run)
        response = await client.request(ABOUT_ORDERS, 9)
        client.close()
    assert response.topics[0].error_code == ErrorCode.NONE


async def test_the_control_endpoint_says_who_waits(
    tmp_path: Path, controller: FakeController, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with running(cluster_spec(tmp_path, controller.port)) as run:
        client = client_of(run)
        asked = await client.begin(ABOUT_ORDERS, 9)
        await until_waiting(run, 1)
        before = await status(run)
        await run.lead(0)
        await asked
        after = await status(run)
        client.close()
    keys = ("is_open_to_clients", "waiting_client_requests")
    assert [before[key] for key in keys] == [False, 1]
    assert before["waiting_client_bytes"] > 0
    assert [after[key] for key in keys] == [True, 0]
    assert "clients are served, 1 requests waited for it" in caplog.text


async def _nothing() -> Body:
    return None


async def test_what_has_no_room_is_hung_up_on_and_the_others_go_on_waiting() -> None:
    gate = ClientGate(FirstMetadata(requests_max=2, bytes_max=100))
    small, growing = gate.hold(10, 1_000, _nothing), gate.hold(10, 1_000, _nothing)
    with pytest.raises(CloseConnection, match="2 requests of 20 bytes wait already"):
        gate.hold(10, 1_000, _nothing)

    growing.received_more(81)
    with pytest.raises(CloseConnection, match="wait already"):
        await growing.admitted
    growing.release()

    assert not small.admitted.done()
    gate.open()
    await small.admitted
    small.release()
    assert gate.waiting_count == 0
