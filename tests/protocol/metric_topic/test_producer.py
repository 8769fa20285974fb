"""Rows on their way to the metrics topic: each once, whatever the leader answers."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from broker.core.metadata_image import MetadataImage
from broker.lifecycle.metric_topic import metric_topic_ports
from broker.metric_types import Counter
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.metric_topic.producer import MetricTopic
from protocol.metric_topic.records import WAITING_BYTES_MAX
from protocol.metrics.rows import FailoverEventRow, FailoverStep, MetricRow, RowOrigin
from protocol.metrics.topic import METRICS_TOPIC
from protocol.records.batch import read_batch_header
from protocol.records.records import iterate_all_records
from tests.broker.engine.messages import Led, update_metadata
from tests.deadlines import DEADLINE_S


def row(number: int) -> MetricRow:
    return FailoverEventRow(
        at_ms=number,
        node="broker-1",
        failure_id=str(number),
        step=FailoverStep.LOG_DIR_FAILED,
        topic_count=-1,
        partition_count=-1,
        detail="",
    )


class Leaders:
    """All brokers of the cluster; they answer what the test says, and with NONE after that."""

    def __init__(self) -> None:
        self.answers: list[ErrorCode | OSError] = []
        self.asked: list[tuple[int, ProduceRequest]] = []
        self.created: list[str] = []
        self.is_created = asyncio.Event()
        self.connected: list[int] = []
        self.closed: list[int] = []
        self.wanted: dict[int, asyncio.Event] = {}
        self.image = MetadataImage(broker_id=BrokerId(1))
        self.next_id = 0
        self.dropped = Counter()

    def lead(self, *leaders: int) -> None:
        led = {
            TopicPartition(METRICS_TOPIC, n): Led([1, 2, 3], leader, [1, 2, 3])
            for n, leader in enumerate(leaders)
        }
        self.image.update(update_metadata(led, [1, 2, 3]))

    def create(self, names: Iterable[str]) -> None:
        self.created += names
        self.is_created.set()

    async def new_producer_id(self) -> int:
        self.next_id += 1
        if self.next_id == 1:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return self.next_id

    def connect(self, host: str, port: int) -> Connection:
        [broker] = [each for each in self.image.live_brokers() if each.port == port]
        self.connected.append(broker.id)
        return Connection(self, broker.id)

    async def until_asked(self, count: int) -> None:
        event = self.wanted.setdefault(count, asyncio.Event())
        if len(self.asked) < count:
            await asyncio.wait_for(event.wait(), DEADLINE_S)

    @property
    def topic(self) -> MetricTopic:
        ports = metric_topic_ports(
            self.image,
            self.connect,
            self.create,
            self.new_producer_id,
            request_timeout_ms=1_000,
            drop=self.dropped.add,
        )
        return MetricTopic(ports, node_id=1, origin=RowOrigin(run_id="r"))


class Connection:
    def __init__(self, leaders: Leaders, broker_id: int) -> None:
        self._leaders = leaders
        self._broker_id = broker_id

    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        leaders = self._leaders
        leaders.asked.append((self._broker_id, message))
        if (event := leaders.wanted.get(len(leaders.asked))) is not None:
            event.set()
        answer = leaders.answers.pop(0) if leaders.answers else ErrorCode.NONE
        if isinstance(answer, OSError):
            raise answer
        part = PartitionProduceResponse(index=1, error_code=answer, base_offset=0)
        topic = TopicProduceResponse(name=METRICS_TOPIC, partition_responses=[part])
        return ProduceResponse(responses=[topic])

    def close(self) -> None:
        self._leaders.closed.append(self._broker_id)


def told(request: ProduceRequest) -> tuple[int, int, list[str]]:
    """Return producer id, sequence and failure ids of the one batch in a request."""
    [topic] = request.topic_data
    [part] = topic.partition_data
    assert (topic.name, part.index) == (METRICS_TOPIC, 1)
    assert isinstance(part.records, memoryview)
    header = read_batch_header(part.records)
    values = [json.loads(each.value or b"") for each in iterate_all_records(part.records)]
    assert {each["run_id"] for each in values} == {"r"}
    return header.producer_id, header.base_sequence, [each["failure_id"] for each in values]


async def asked(leaders: Leaders, batches: list[list[int]]) -> None:
    """Offer batches in turn, each when the one before was asked for, until nothing waits."""
    topic = leaders.topic
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(topic.run())
        count = len(leaders.answers) + len(batches)
        for number, batch in enumerate(batches):
            topic.offer([row(each) for each in batch])
            await leaders.until_asked(count - len(batches) + number + 1)
        task.cancel()


async def test_rows_go_to_the_leader_of_the_broker_s_own_partition_in_their_order():
    leaders = Leaders()
    leaders.lead(1, 3)
    await asked(leaders, [[1, 2], [3]])
    assert [(broker, told(request)) for broker, request in leaders.asked] == [
        (3, (2, 0, ["1", "2"])),
        (3, (2, 2, ["3"])),
    ]
    assert (leaders.connected, leaders.closed, leaders.dropped.value) == ([3], [3], 0)


async def test_the_same_batch_is_sent_again_when_the_disk_below_its_leader_fails():
    leaders = Leaders()
    leaders.lead(1, 3)
    leaders.answers = [ErrorCode.KAFKA_STORAGE_ERROR, ConnectionResetError()]
    topic = leaders.topic
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(topic.run())
        topic.offer([row(1)])
        await leaders.until_asked(1)
        leaders.lead(1, 2)
        topic.offer([row(2)])
        await leaders.until_asked(4)
        task.cancel()
    assert [(broker, told(request)) for broker, request in leaders.asked] == [
        (3, (2, 0, ["1"])),
        (2, (2, 0, ["1"])),
        (2, (2, 0, ["1"])),
        (2, (2, 1, ["2"])),
    ]


async def test_a_producer_that_is_not_known_any_more_begins_with_a_new_id():
    leaders = Leaders()
    leaders.lead(1, 3)
    leaders.answers = [ErrorCode.UNKNOWN_PRODUCER_ID]
    await asked(leaders, [[1]])
    assert [told(request)[:2] for _, request in leaders.asked] == [(2, 0), (3, 0)]


async def test_the_topic_is_created_when_nobody_knows_it():
    leaders = Leaders()
    topic = leaders.topic
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(topic.run())
        topic.offer([row(1)])
        await asyncio.wait_for(leaders.is_created.wait(), DEADLINE_S)
        leaders.lead(1, 2)
        await leaders.until_asked(1)
        task.cancel()
    assert set(leaders.created) == {METRICS_TOPIC}


async def test_rows_beyond_what_may_wait_are_dropped_and_counted():
    leaders = Leaders()
    topic = leaders.topic
    large = dataclasses.replace(row(1), detail="x" * (WAITING_BYTES_MAX // 2))
    topic.offer([large, large, large])
    assert leaders.dropped.value == 2


async def test_what_the_leader_refuses_for_good_is_counted_and_the_rest_goes_on():
    leaders = Leaders()
    leaders.lead(1, 3)
    leaders.answers = [ErrorCode.MESSAGE_TOO_LARGE]
    topic = leaders.topic
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(topic.run())
        topic.offer([row(1)])
        await leaders.until_asked(1)
        topic.offer([row(2)])
        await leaders.until_asked(2)
        task.cancel()
    assert told(leaders.asked[1][1]) == (2, 0, ["2"])
    assert leaders.dropped.value == 1
