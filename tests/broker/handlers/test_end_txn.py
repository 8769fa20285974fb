"""EndTxn: committed or aborted, with an epoch for the next transaction from version 5 on."""

from __future__ import annotations

import pytest

from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.transactions import EndTxnRequest
from tests.broker.fakes import WALL_MS, FakeBroker


def ending(*, epoch: int = 0, committed: bool = True, name: str = "pay") -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=name, producer_id=70, producer_epoch=epoch, committed=committed
    )


@pytest.fixture
async def ongoing(broker: FakeBroker) -> FakeBroker:
    await broker.transactions.begin(BeginAsked("pay", 60_000))
    broker.transactions.shards.shard.add_partitions(
        0,
        "pay",
        ProducerIdAndEpoch(70, 0),
        [TopicPartition("orders", 0)],
        client_transaction_version=0,
        wall_ms=WALL_MS,
    )
    return broker


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("version", range(6))
async def test_a_transaction_is_ended(ongoing: FakeBroker, version: int, committed: bool):
    response = await ongoing.ask(ending(committed=committed), version)
    assert response.error_code == ErrorCode.NONE
    (due,) = ongoing.transactions.shards.effects
    assert due.is_commit is committed
    if version >= 5:
        assert (response.producer_id, response.producer_epoch) == (70, 1)


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)],
)
async def test_another_epoch_is_fenced(ongoing: FakeBroker, version: int, code: ErrorCode):
    assert (await ongoing.ask(ending(epoch=1), version)).error_code == code


async def test_an_empty_transactional_id_and_another_coordinator_are_told(ongoing: FakeBroker):
    response = await ongoing.ask(ending(name=""), 3)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    ongoing.transactions.shards.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    assert (await ongoing.ask(ending(), 3)).error_code == ErrorCode.NOT_COORDINATOR
