"""AddOffsetsToTxn: the partition with a group's offsets joins the transaction."""

from __future__ import annotations

import pytest

from broker.core.coordination import CONSUMER_OFFSETS, partition_for
from broker.core.transaction_state.begin import BeginAsked
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.transactions import AddOffsetsToTxnRequest
from tests.broker.fakes import FakeBroker


@pytest.mark.parametrize("version", range(5))
async def test_the_partition_of_the_group_joins(broker: FakeBroker, version: int):
    await broker.transactions.begin(BeginAsked("pay", 60_000))
    request = AddOffsetsToTxnRequest(
        transactional_id="pay", producer_id=70, producer_epoch=0, group_id="readers"
    )
    assert (await broker.ask(request, version)).error_code == ErrorCode.NONE
    known = broker.transactions.get("pay")
    assert known is not None
    assert known.partitions == (TopicPartition(CONSUMER_OFFSETS, partition_for("readers", 50)),)


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)],
)
async def test_another_epoch_is_fenced(broker: FakeBroker, version: int, code: ErrorCode):
    await broker.transactions.begin(BeginAsked("pay", 60_000))
    request = AddOffsetsToTxnRequest(
        transactional_id="pay", producer_id=70, producer_epoch=9, group_id="readers"
    )
    assert (await broker.ask(request, version)).error_code == code


async def test_an_empty_transactional_id_is_refused(broker: FakeBroker):
    request = AddOffsetsToTxnRequest(transactional_id="", group_id="readers")
    assert (await broker.ask(request, 3)).error_code == ErrorCode.INVALID_REQUEST
