"""Transactions coordinated over real logs: decided, marked, completed, taken over."""

from __future__ import annotations

import pytest

from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.metadata import TransactionState
from broker.core.transaction_state.shard import Initialized
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.topic_names import TRANSACTION_STATE
from tests.broker.coordinators.asking import until
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node

STATE = TopicPartition(TRANSACTION_STATE, 0)


@pytest.fixture
async def transactional_lab(lab: Lab) -> Lab:
    """Broker 1 leads everything."""
    await lab.create(STATE, cleanup_policy="compact")
    await until_loaded(lab[1])
    return lab


async def until_loaded(node: Node) -> None:
    await until(lambda: all(host.is_loaded for host in node.transactions.shards.hosts()))


async def begin(node: Node) -> Initialized:
    return await node.transactions.begin(BeginAsked("pay", 60_000))


async def add_orders(node: Node, producer: ProducerIdAndEpoch) -> ErrorCode:
    return await node.transactions.shards.ask(
        "pay",
        lambda shard, waiter, _now_ms, wall_ms: shard.add_partitions(
            waiter, "pay", producer, [ORDERS], client_transaction_version=0, wall_ms=wall_ms
        ),
    )


async def end(node: Node, producer: ProducerIdAndEpoch, *, commits: bool) -> ErrorCode:
    asked = EndAsked(*producer, is_commit=commits, client_transaction_version=0)
    return (await node.transactions.end("pay", asked)).error


def state(node: Node) -> TransactionState | None:
    known = node.transactions.shards.shard_of("pay").get("pay")
    return None if known is None else known.state


@pytest.mark.parametrize("commits", [True, False])
async def test_an_end_is_complete_when_its_markers_are_written(
    transactional_lab: Lab, commits: bool
) -> None:
    node = transactional_lab[1]
    begun = await begin(node)
    assert begun.error is ErrorCode.NONE
    producer = ProducerIdAndEpoch(begun.producer_id, begun.producer_epoch)
    assert await add_orders(node, producer) is ErrorCode.NONE
    assert await end(node, producer, commits=commits) is ErrorCode.NONE
    done = TransactionState.COMPLETE_COMMIT if commits else TransactionState.COMPLETE_ABORT
    await until(lambda: state(node) is done)
    assert await node.log_end() == 1


async def test_whoever_leads_next_knows_the_transaction(transactional_lab: Lab) -> None:
    lab = transactional_lab
    old, new = lab[1], lab[2]
    begun = await begin(old)
    producer = ProducerIdAndEpoch(begun.producer_id, begun.producer_epoch)
    await add_orders(old, producer)
    await lab.elect(STATE, new.id, [1, 2, 3])
    await until_loaded(new)
    with pytest.raises(KafkaError) as caught:
        await begin(old)
    assert caught.value.code is ErrorCode.NOT_COORDINATOR
    assert state(new) is TransactionState.ONGOING
    assert await end(new, producer, commits=True) is ErrorCode.NONE


@pytest.mark.parametrize("is_decided", [True, False])
async def test_no_answered_end_is_lost_when_the_disk_under_the_coordinator_fails(
    transactional_lab: Lab, is_decided: bool
) -> None:
    lab = transactional_lab
    old, new = lab[1], lab[2]
    begun = await begin(old)
    producer = ProducerIdAndEpoch(begun.producer_id, begun.producer_epoch)
    await add_orders(old, producer)
    lab.led[ORDERS].leader = -1  # No marker gets through before the disk fails.
    lab.tell_metadata()
    if is_decided:
        assert await end(old, producer, commits=True) is ErrorCode.NONE
    old.log_dirs[await old.dir_of(STATE) or ""].fail("append", OSError(5, "broken"))
    await lab.elect(STATE, new.id, [2, 3])
    await until_loaded(new)
    await lab.elect(ORDERS, new.id, [2, 3])
    if not is_decided:
        assert await end(new, producer, commits=True) is ErrorCode.NONE
    await until(lambda: state(new) is TransactionState.COMPLETE_COMMIT)
