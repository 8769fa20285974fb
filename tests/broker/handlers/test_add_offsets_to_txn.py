"""AddOffsetsToTxn: the partition with a group's offsets joins the transaction."""

from __future__ import annotations

import pytest

from broker.core.coordination import partition_for
from broker.core.transaction_state.begin import BeginAsked
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.transactions import AddOffsetsToTxnRequest
from protocol.topic_names import CONSUMER_OFFSETS
from tests.broker.fakes import FakeBroker, topic_state, update_metadata


@pytest.fixture
async def coordinating(broker: FakeBroker) -> FakeBroker:
    broker.engine.metadata.update(update_metadata(topic_state(CONSUMER_OFFSETS)))
    return broker


@pytest.mark.parametrize("version", range(5))
async def test_the_partition_of_the_group_joins(coordinating: FakeBroker, version: int):
    await coordinating.transactions.begin(BeginAsked("pay", 60_000))
    request = AddOffsetsToTxnRequest(
        transactional_id="pay", producer_id=70, producer_epoch=0, group_id="readers"
    )
    assert (await coordinating.ask(request, version)).error_code == ErrorCode.NONE
    known = coordinating.transactions.shards.shard.get("pay")
    assert known is not None
    assert known.partitions == (TopicPartition(CONSUMER_OFFSETS, partition_for("readers", 50)),)


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)],
)
async def test_another_epoch_is_fenced(coordinating: FakeBroker, version: int, code: ErrorCode):
    await coordinating.transactions.begin(BeginAsked("pay", 60_000))
    request = AddOffsetsToTxnRequest(
        transactional_id="pay", producer_id=70, producer_epoch=9, group_id="readers"
    )
    assert (await coordinating.ask(request, version)).error_code == code


async def test_an_empty_transactional_id_is_refused(broker: FakeBroker):
    request = AddOffsetsToTxnRequest(transactional_id="", group_id="readers")
    assert (await broker.ask(request, 3)).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", range(5))
async def test_the_topic_of_offsets_is_made_before_anything_joins(broker: FakeBroker, version: int):
    await broker.transactions.begin(BeginAsked("pay", 60_000))
    request = AddOffsetsToTxnRequest(
        transactional_id="pay", producer_id=70, producer_epoch=0, group_id="readers"
    )
    answer = await broker.ask(request, version)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert broker.auto_topics.names == [CONSUMER_OFFSETS]
    known = broker.transactions.shards.shard.get("pay")
    assert known is not None
    assert known.partitions == ()
