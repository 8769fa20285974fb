"""DescribeProducers: who writes to a partition."""

from __future__ import annotations

import pytest

from broker.core.producer_entry import ProducerEntry
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.producer_ids import (
    DescribeProducersRequest,
    PartitionResponse,
    TopicRequest,
)
from tests.broker.fakes import FakeBroker


async def ask(broker: FakeBroker, topic: str = "orders") -> PartitionResponse:
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])])
    response = await broker.ask(request, 0)
    return response.topics[0].partitions[0]


async def test_producers_are_told_with_their_open_transaction(broker: FakeBroker) -> None:
    entry = ProducerEntry(7, 3, 40, 100, 2, 1234, 5, 98)
    broker.engine.known_producers[TopicPartition("orders", 0)] = [entry]
    partition = await ask(broker)
    assert partition.error_code == ErrorCode.NONE
    (known,) = partition.active_producers
    assert (known.producer_id, known.producer_epoch, known.last_sequence) == (7, 3, 40)
    assert (known.last_timestamp, known.coordinator_epoch) == (1234, 5)
    assert known.current_txn_start_offset == 98


@pytest.mark.parametrize(("topic", "code"), [("nobody", 3), ("", 17), ("a/b", 17)])
async def test_what_is_not_here_has_a_code(broker: FakeBroker, topic: str, code: int) -> None:
    partition = await ask(broker, topic)
    assert (partition.error_code, len(partition.active_producers)) == (code, 0)


async def test_only_a_topic_that_is_not_there_or_cannot_be_is_explained(
    broker: FakeBroker,
) -> None:
    assert (await ask(broker, "a/b")).error_message == (
        "The request attempted to perform an operation on an invalid topic."
    )
    assert (await ask(broker, "nobody")).error_message == (
        "This server does not host this topic-partition."
    )
    broker.engine.error = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert (await ask(broker)).error_message is None


async def test_an_offline_partition_is_a_storage_error(broker: FakeBroker) -> None:
    broker.engine.error = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    assert (await ask(broker)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
