"""DescribeTransactions: each transactional id by itself."""

from __future__ import annotations

from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.transactions import DescribeTransactionsRequest
from tests.broker.fakes import WALL_MS, FakeBroker


async def test_each_transactional_id_is_described_by_itself(broker: FakeBroker):
    await broker.transactions.begin(BeginAsked("pay", 60_000))
    partitions = [TopicPartition("orders", 1), TopicPartition("x", 0), TopicPartition("orders", 0)]
    broker.transactions.shards.shard.add_partitions(
        0,
        "pay",
        ProducerIdAndEpoch(70, 0),
        partitions,
        client_transaction_version=0,
        wall_ms=WALL_MS,
    )
    request = DescribeTransactionsRequest(transactional_ids=["pay", "never", ""])
    pay, never, empty = (await broker.ask(request, 0)).transaction_states
    assert (pay.error_code, pay.transactional_id, pay.transaction_state) == (0, "pay", "Ongoing")
    assert (pay.producer_id, pay.producer_epoch, pay.transaction_timeout_ms) == (70, 0, 60_000)
    assert pay.transaction_start_time_ms == WALL_MS
    topics = [(topic.topic, list(topic.partitions)) for topic in pay.topics]
    assert topics == [("orders", [1, 0]), ("x", [0])]
    assert never.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert empty.error_code == ErrorCode.INVALID_REQUEST


async def test_another_broker_coordinates_it(broker: FakeBroker):
    broker.transactions.shards.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    response = await broker.ask(DescribeTransactionsRequest(transactional_ids=["pay"]), 0)
    assert [row.error_code for row in response.transaction_states] == [ErrorCode.NOT_COORDINATOR]
