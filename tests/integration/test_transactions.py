"""Transactions whose coordinator is the test: what clients and Kafka's own tools see of them."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaConsumer
from kafka.structs import TopicPartition

from benchmarks.peer.kafka import VERSION
from jbodlab.asking.rpc import BlockingClient
from protocol.errors import ErrorCode
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.transactions import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.deadlines import DEADLINE_S
from tests.integration.apache_kafka import BUILD_DIR, jars
from tests.integration.hanging_transactions import set_verification
from tests.integration.labs import Lab
from tests.kafka_tools.tools import KafkaTools


class Transactions:
    """Writes transactions to the leader of one partition, and their markers as a coordinator."""

    def __init__(self, lab: Lab, topic: str) -> None:
        broker = lab.cluster.spec.broker(lab.partition(topic).leader)
        self.topic = topic
        self.server = f"{broker.advertised_host}:{broker.advertised_port}"
        self.rpc = BlockingClient(broker.advertised_host, broker.advertised_port or 0)
        set_verification(self.rpc, broker.id, "false")  # No coordinator knows what is written.
        self._sequences: dict[int, int] = {}

    def write(
        self, producer_id: int, *values: bytes, transactional_id: str | None = "t"
    ) -> tuple[int, int]:
        """Return error code and base offset."""
        sequence = self._sequences.get(producer_id, 0)
        self._sequences[producer_id] = sequence + len(values)
        options = BatchOptions(
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
        now_ms = time.time_ns() // 1_000_000  # Retention goes by it.
        batch = build_batch([NewRecord(value, timestamp_ms=now_ms) for value in values], options)
        data = PartitionProduceData(index=0, records=bytes(batch))
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=self.topic, partition_data=[data])],
        )
        result = self.rpc.request(request, 9).responses[0].partition_responses[0]
        return result.error_code, result.base_offset

    def end(self, producer_id: int, *, commit: bool, coordinator_epoch: int = 0) -> int:
        topics = [WritableTxnMarkerTopic(name=self.topic, partition_indexes=[0])]
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=0,
            transaction_result=commit,
            topics=topics,
            coordinator_epoch=coordinator_epoch,
        )
        answer = self.rpc.request(WriteTxnMarkersRequest(markers=[marker]), 1)
        return answer.markers[0].topics[0].partitions[0].error_code


@pytest.fixture
def transactions(shared_lab: Lab, request: pytest.FixtureRequest) -> Any:
    topic = request.node.name.removeprefix("test_")[:60]
    shared_lab.create(topic)
    one = Transactions(shared_lab, topic)
    with closing(one.rpc):
        yield one


def aborted_committed_and_open(one: Transactions) -> None:
    """Offsets 0 to 8; what follows 5 is behind a transaction that stays open."""
    assert one.write(1, b"aborted", b"aborted too") == (0, 0)
    assert one.write(2, b"committed") == (0, 2)
    assert one.end(1, commit=False) == 0
    assert one.end(2, commit=True, coordinator_epoch=4) == 0
    assert one.write(1, b"second try") == (0, 5)
    assert one.end(1, commit=True) == 0
    assert one.write(3, b"open") == (0, 7)
    assert one.write(2, b"after open") == (0, 8)
    assert one.end(2, commit=True, coordinator_epoch=4) == 0


def read_with_kafka_python(one: Transactions, isolation: str, count: int) -> list[bytes | None]:
    """Read until nothing came for two seconds; at most one more than ``count``."""
    settings: dict[str, Any] = {"group_id": None, "consumer_timeout_ms": 2_000}
    settings["isolation_level"] = isolation
    consumer: Any = KafkaConsumer(bootstrap_servers=[one.server], **settings)
    try:
        partition = TopicPartition(one.topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        values: list[bytes | None] = []
        for record in consumer:
            values.append(record.value)
            if len(values) > count:
                break
        return values
    finally:
        consumer.close()


def read_with_confluent(one: Transactions, isolation: str, count: int) -> list[bytes]:
    """Read ``count`` values and whatever else comes within a second."""
    settings: dict[str, Any] = {"bootstrap.servers": one.server, "group.id": "unused"}
    consumer: Any = Consumer(settings | {"isolation.level": isolation, "enable.auto.commit": False})
    consumer.assign([ConfluentPartition(one.topic, 0, 0)])
    try:
        messages: list[Any] = consumer.consume(count, timeout=DEADLINE_S)
        messages += consumer.consume(1, timeout=1)
        assert [message.error() for message in messages] == [None] * len(messages)
        return [message.value() for message in messages]
    finally:
        consumer.close()


@pytest.mark.parametrize("read", [read_with_kafka_python, read_with_confluent])
def test_committed_readers_see_committed_records_only(
    shared_lab: Lab, read: Any, request: pytest.FixtureRequest
) -> None:
    topic = f"isolation-{request.node.callspec.id}"
    shared_lab.create(topic)
    one = Transactions(shared_lab, topic)
    with closing(one.rpc):
        aborted_committed_and_open(one)
        committed = [b"committed", b"second try"]
        assert read(one, "read_committed", 2) == committed
        assert read(one, "read_uncommitted", 6) == [
            b"aborted",
            b"aborted too",
            b"committed",
            b"second try",
            b"open",
            b"after open",
        ]
        assert one.end(3, commit=True) == 0
        assert read(one, "read_committed", 4) == [*committed, b"open", b"after open"]


def test_fenced_markers_and_loose_records_are_refused(transactions: Transactions) -> None:
    assert transactions.write(1, b"v") == (0, 0)
    assert transactions.end(1, commit=True, coordinator_epoch=5) == 0
    late = transactions.end(1, commit=True, coordinator_epoch=4)
    assert late == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    code, _ = transactions.write(2, b"v", transactional_id=None)
    assert code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@pytest.fixture
def kafka_tools(transactions: Transactions, tmp_path: Path) -> Generator[KafkaTools]:
    jars()
    with closing(KafkaTools(VERSION, BUILD_DIR, tmp_path, transactions.server)) as tools:
        yield tools


@pytest.mark.sampled_among("the longest waits for clusters", kept=1)
def test_kafkas_tool_sees_a_hanging_transaction_and_aborts_it(
    transactions: Transactions, shared_lab: Lab, kafka_tools: KafkaTools
) -> None:
    aborted_committed_and_open(transactions)
    where = ["--topic", transactions.topic, "--partition", "0"]
    described = kafka_tools.run("kafka-transactions describe-producers", *where)
    rows = {row.split()[0]: row.split() for row in described.lines if row[:1].isdigit()}
    assert set(rows) == {"1", "2", "3"}
    assert (rows["3"][1], rows["3"][-1], rows["2"][-1]) == ("0", "7", "None")
    told = kafka_tools.run("kafka-transactions abort --start-offset 7", *where)
    assert "rror" not in told.out + told.err, told
    values = read_with_kafka_python(transactions, "read_committed", 3)
    assert values == [b"committed", b"second try", b"after open"]
    leader = shared_lab.partition(transactions.topic).leader
    log_dir = Path(shared_lab.log_dir_of(leader, transactions.topic).path)
    (index,) = (log_dir / f"{transactions.topic}-0").glob("*.txnindex")
    dumped = kafka_tools.run("kafka-dump-log --files", str(index)).lines
    assert "version: 0 producerId: 1 firstOffset: 0 lastOffset: 3 lastStableOffset: 2" in dumped
    assert "version: 0 producerId: 3 firstOffset: 7 lastOffset: 10 lastStableOffset: 11" in dumped
