"""The controller's rows on their way: where it looks for the topic, and who gives it a number."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from controller.core.state import ClusterState, Partition
from controller.metric_topic import metric_topic
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.messages.producer_ids import InitProducerIdRequest, InitProducerIdResponse
from protocol.metrics.rows import RowOrigin
from protocol.metrics.topic import METRICS_TOPIC
from protocol.records.batch import read_batch_header
from tests.controller.core.cluster import settings, three_brokers, topic_records
from tests.deadlines import DEADLINE_S
from tests.protocol.metric_topic.test_producer import row

LED = [Partition(replicas=(one, 2, 3), leader=one, leader_epoch=0, isr=(one,)) for one in (1, 3)]
"""Two partitions: of controller 100 it is the first one."""


class Brokers:
    """All of them; a connection is known by its address."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.refuses_ids = 1
        self.is_written = asyncio.Event()

    def connect(self, host: str, port: int) -> Connection:
        return Connection(self, f"{host}:{port}")


class Connection:
    def __init__(self, brokers: Brokers, address: str) -> None:
        self._brokers, self._address = brokers, address

    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        self._brokers.asked.append((self._address, message))
        if isinstance(message, InitProducerIdRequest):
            self._brokers.refuses_ids -= 1
            is_refused = self._brokers.refuses_ids >= 0
            code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if is_refused else ErrorCode.NONE
            return InitProducerIdResponse(error_code=code, producer_id=-1 if is_refused else 7)
        self._brokers.is_written.set()
        part = PartitionProduceResponse(index=0, error_code=ErrorCode.NONE, base_offset=0)
        topic = TopicProduceResponse(name=METRICS_TOPIC, partition_responses=[part])
        return ProduceResponse(responses=[topic])

    def close(self) -> None:
        pass


async def asked_of(state: ClusterState, *, is_written: bool = True) -> list[tuple[str, Any]]:
    """Return what brokers are asked, each with its address, by a controller that has a row.

    Until it is written, or else until the controller has looked at its state for the first time.
    """
    brokers, has_looked = Brokers(), asyncio.Event()

    def looked_at() -> ClusterState:
        has_looked.set()
        return state

    topic = metric_topic(settings(), looked_at, brokers.connect, RowOrigin())
    topic.offer([row(1)])
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(topic.run())
        until = brokers.is_written if is_written else has_looked
        await asyncio.wait_for(until.wait(), DEADLINE_S)
        task.cancel()
    return brokers.asked


async def test_a_row_goes_to_the_leader_of_its_partition_with_a_producer_id_of_that_one():
    cluster = three_brokers(*topic_records(METRICS_TOPIC, LED))
    *numbers, (address, request) = await asked_of(cluster.state)
    assert [(address, type(each)) for address, each in numbers] == [
        ("host1:9092", InitProducerIdRequest)
    ] * 2, "one was refused"
    assert address == "host1:9092"
    assert isinstance(request, ProduceRequest)
    [part] = request.topic_data[0].partition_data
    assert isinstance(part.records, memoryview)
    assert (part.index, read_batch_header(part.records).producer_id) == (0, 7)


async def test_nobody_is_asked_without_the_topic_or_while_its_leader_is_fenced():
    assert await asked_of(three_brokers().state, is_written=False) == []
    state = three_brokers(*topic_records(METRICS_TOPIC, LED)).state
    state.brokers[1] = replace(state.brokers[1], is_fenced=True)
    assert await asked_of(state, is_written=False) == []
