"""AddPartitionsToTxn: of one producer up to version 3, of several that leaders ask for after it."""

from __future__ import annotations

import pytest

from broker.core.transaction_state.begin import BeginAsked
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tests.broker.fakes import FakeBroker


@pytest.fixture
async def begun(broker: FakeBroker) -> FakeBroker:
    await broker.transactions.begin(BeginAsked("pay", 60_000))
    return broker


def adding(
    version: int, *partitions: int, epoch: int = 0, name: str = "pay", verify: bool = False
) -> AddPartitionsToTxnRequest:
    topics = [AddPartitionsToTxnTopic(name="orders", partitions=list(partitions))]
    if version < 4:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=70,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=topics,
        )
    asked = AddPartitionsToTxnTransaction(
        transactional_id=name,
        producer_id=70,
        producer_epoch=epoch,
        verify_only=verify,
        topics=topics,
    )
    return AddPartitionsToTxnRequest(transactions=[asked])


async def codes(broker: FakeBroker, request: AddPartitionsToTxnRequest, version: int) -> list[int]:
    response = await broker.ask(request, version)
    if version < 4:
        topics = response.results_by_topic_v3_and_below
    else:
        (transaction,) = response.results_by_transaction
        topics = transaction.topic_results
    return [row.partition_error_code for topic in topics for row in topic.results_by_partition]


@pytest.mark.parametrize("version", range(6))
async def test_partitions_are_added(begun: FakeBroker, version: int):
    assert await codes(begun, adding(version, 0, 1), version) == [0, 0]
    known = begun.transactions.shards.shard.get("pay")
    assert known is not None
    assert [tp.partition for tp in known.partitions] == [0, 1]
    assert known.client_transaction_version == (2 if version >= 4 else 0)


@pytest.mark.parametrize("version", [3, 4])
async def test_with_one_unknown_partition_nothing_is_added(begun: FakeBroker, version: int):
    assert await codes(begun, adding(version, 0, 99), version) == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    known = begun.transactions.shards.shard.get("pay")
    assert known is not None
    assert known.partitions == ()


@pytest.mark.parametrize("version", [4, 5])
async def test_a_leader_asks_whether_partitions_are_in(begun: FakeBroker, version: int):
    await codes(begun, adding(version, 0), version)
    verifying = adding(version, 0, 1, verify=True)
    assert await codes(begun, verifying, version) == [0, ErrorCode.TRANSACTION_ABORTABLE]


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (1, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, ErrorCode.PRODUCER_FENCED),
        (4, ErrorCode.PRODUCER_FENCED),
    ],
)
async def test_another_epoch_is_fenced(begun: FakeBroker, version: int, code: ErrorCode):
    assert await codes(begun, adding(version, 0, epoch=1), version) == [code]


@pytest.mark.parametrize("version", [0, 5])
async def test_an_empty_transactional_id_and_another_coordinator_are_told(
    begun: FakeBroker, version: int
):
    empty = adding(version, 0, name="")
    assert await codes(begun, empty, version) == [ErrorCode.INVALID_REQUEST]
    unknown = adding(version, 99, name="")
    assert await codes(begun, unknown, version) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    begun.transactions.shards.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    assert await codes(begun, adding(version, 0), version) == [ErrorCode.NOT_COORDINATOR]
