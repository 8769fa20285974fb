"""Transactions coordinated over real logs: decided, marked, completed, taken over."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.metadata import EPOCH_MAX, TransactionState
from broker.core.transaction_state.shard import Initialized
from broker.core.transaction_state.stored import record_of
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from tests.broker.coordinators import test_verifier as verifying
from tests.broker.coordinators.asking import until
from tests.broker.coordinators.conftest import OFFSETS, STATE
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node
from tests.broker.engine.transactions import last_stable_offset, read


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


async def test_markers_are_written_once_while_the_coordinator_may_not_write_that_they_are(
    transactional_lab: Lab,
) -> None:
    lab, node = transactional_lab, transactional_lab[1]
    begun = await begin(node)
    producer = ProducerIdAndEpoch(begun.producer_id, begun.producer_epoch)
    await add_orders(node, producer)
    lab.led[ORDERS].leader = -1  # No marker gets through yet.
    lab.tell_metadata()
    assert await end(node, producer, commits=True) is ErrorCode.NONE
    lab[2].is_reachable = lab[3].is_reachable = False
    await lab.elect(STATE, node.id, [1])
    node.replica(STATE).partition.min_insync_replicas = 2
    await lab.elect(ORDERS, node.id, [1])
    await asyncio.sleep(10)
    assert await node.log_end() == 1
    assert state(node) is TransactionState.PREPARE_COMMIT
    node.replica(STATE).partition.min_insync_replicas = 1
    await until(lambda: state(node) is TransactionState.COMPLETE_COMMIT)
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


async def test_a_producer_id_is_fetched_only_for_who_needs_one(transactional_lab: Lab) -> None:
    node = transactional_lab[1]
    ids = [(await begin(node)).producer_id for _ in range(2)]
    assert ids[0] == ids[1] >= 0
    told = await node.transactions.begin(BeginAsked("other", 60_000))
    assert told.producer_id != ids[0]


async def test_an_end_in_the_last_epoch_goes_on_with_another_producer_id(
    transactional_lab: Lab,
) -> None:
    node = transactional_lab[1]
    begun = await begin(node)
    shard = node.transactions.shards.shard_of("pay")
    known = shard.get("pay")
    assert known is not None
    last = ProducerIdAndEpoch(begun.producer_id, EPOCH_MAX - 1)
    shard.replay(*record_of(replace(known, producer_epoch=last.producer_epoch), 2))
    assert await add_orders(node, last) is ErrorCode.NONE
    asked = EndAsked(*last, is_commit=True, client_transaction_version=2)
    told = await node.transactions.end("pay", asked)
    assert (told.error, told.producer_epoch) == (ErrorCode.NONE, 0)
    assert told.producer_id not in {-1, begun.producer_id}
    await until(lambda: state(node) is TransactionState.COMPLETE_COMMIT)
    assert shard.get("pay") == replace(
        shard.get("pay") or known, producer_id=told.producer_id, producer_epoch=0
    )


async def test_markers_that_are_written_late_complete_nothing_where_another_leads(
    transactional_lab: Lab,
) -> None:
    lab, old, new = transactional_lab, transactional_lab[1], transactional_lab[2]
    begun = await begin(old)
    producer = ProducerIdAndEpoch(begun.producer_id, begun.producer_epoch)
    await add_orders(old, producer)
    lab.led[ORDERS].leader = -1  # No marker gets through yet.
    lab.tell_metadata()
    assert await end(old, producer, commits=True) is ErrorCode.NONE
    await lab.elect(STATE, new.id, [1, 2, 3])
    await until_loaded(new)
    await lab.elect(ORDERS, old.id, [1, 2, 3])
    await until(lambda: state(new) is TransactionState.COMPLETE_COMMIT)
    assert list(old.transactions.shards.hosts()) == []
    assert await old.log_end() == 1


# Disks that fail. Broker 1 leads the records and the offsets, broker 2 the transactions; broker 3
# takes over.

BOTH_ENDS = pytest.mark.parametrize("commits", [True, False])


async def fail_disk_of(node: Node, tp: TopicPartition) -> None:
    node.log_dirs[await node.dir_of(tp) or ""].fail("append", OSError(5, "broken"))


async def fail_disk_of_leader(lab: Lab, tp: TopicPartition) -> None:
    """As the controller does, leave broker 1 out of the Isr of what else was on that disk."""
    path = await lab[1].dir_of(tp)
    gone = [other for other in lab.led if other != tp and await lab[1].dir_of(other) == path]
    await fail_disk_of(lab[1], tp)
    for other in gone:
        leader = lab.led[other].leader
        await lab.elect(other, 3 if leader == 1 else leader, [2, 3])


async def records_seen(node: Node) -> tuple[int, bool]:
    """Return where read_committed ends, and whether what comes before was aborted."""
    result = await read(node)
    return await last_stable_offset(node), bool(result.aborted)


@BOTH_ENDS
async def test_a_disk_fails_under_records_between_their_append_and_the_marker(
    verifying_lab: Lab, commits: bool
) -> None:
    lab = verifying_lab
    producer = await verifying.begun(lab)
    await verifying.add(lab, producer)
    assert await verifying.produce(lab, producer, 0) is ErrorCode.NONE
    await fail_disk_of_leader(lab, ORDERS)
    await verifying.end(lab, producer, commits=commits)
    known = lab[2].transactions.shards.shard_of("pay").get("pay")
    assert known is not None
    assert known.partitions == (ORDERS,), "it waits for whoever leads"
    await lab.elect(ORDERS, 3, [2, 3])
    await verifying.until_rested(lab)
    assert await records_seen(lab[3]) == (2, not commits)


@BOTH_ENDS
async def test_a_disk_fails_under_offsets_between_their_commit_and_the_marker(
    verifying_lab: Lab, commits: bool
) -> None:
    lab = verifying_lab
    producer = await verifying.begun(lab)
    await verifying.add(lab, producer)
    await verifying.add(lab, producer, OFFSETS)
    assert await verifying.produce(lab, producer, 0) is ErrorCode.NONE
    assert await verifying.commit_offset(lab, producer, 3) is ErrorCode.NONE
    await fail_disk_of_leader(lab, OFFSETS)
    await verifying.end(lab, producer, commits=commits)
    await lab.elect(OFFSETS, 3, [2, 3])
    await verifying.until_rested(lab)
    await until(lambda: all(host.is_loaded for host in lab[3].groups.hosts()))
    offsets = lab[3].groups.shard_of("readers").offsets
    assert not offsets.is_unstable("readers", ORDERS)
    assert (ORDERS in offsets.committed("readers")) is commits


@BOTH_ENDS
@pytest.mark.parametrize("is_decided", [True, False])
async def test_a_disk_fails_under_the_coordinator_of_the_second_protocol(
    verifying_lab: Lab, commits: bool, is_decided: bool
) -> None:
    """Who asks again with the old epoch is told what was decided, once."""
    lab = verifying_lab
    producer = await verifying.begun(lab)
    assert await verifying.produce(lab, producer, 0, verifying.ADDING) is ErrorCode.NONE
    asked = EndAsked(*producer, is_commit=commits, client_transaction_version=2)
    lab.led[ORDERS].leader = -1  # No marker gets through before the disk fails.
    lab.tell_metadata()
    if is_decided:
        await verifying.end(lab, producer, version=2, commits=commits)
    await fail_disk_of(lab[2], STATE)
    if not is_decided:
        with pytest.raises(KafkaError):
            await lab[2].transactions.end("pay", asked)
    await lab.elect(STATE, 3, [1, 3])
    await until(lambda: all(h.is_loaded for h in lab[3].transactions.shards.hosts()))
    await lab.elect(ORDERS, 1, [1, 3])
    shard = lab[3].transactions.shards.shard_of("pay")

    def rests() -> bool:
        known = shard.get("pay")
        assert known is not None
        complete = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
        return known.state in complete

    if not is_decided:
        told = await lab[3].transactions.end("pay", asked)
        assert told.error is ErrorCode.NONE
    await until(rests)
    again = await lab[3].transactions.end("pay", asked)
    following = ProducerIdAndEpoch(producer.producer_id, producer.producer_epoch + 1)
    assert again == (ErrorCode.NONE, *following)
    assert await records_seen(lab[1]) == (2, not commits)


async def test_records_that_were_not_replicated_are_no_part_of_what_is_committed(
    verifying_lab: Lab,
) -> None:
    """The producer is told of the failed append; it aborts, and nothing of it is seen."""
    lab = verifying_lab
    producer = await verifying.begun(lab)
    await verifying.add(lab, producer)
    await fail_disk_of_leader(lab, ORDERS)
    refused = await verifying.produce(lab, producer, 0)
    assert refused in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    await lab.elect(ORDERS, 3, [2, 3])
    await verifying.end(lab, producer, commits=False)
    await verifying.until_rested(lab)
    assert (await records_seen(lab[3]))[0] == await lab[3].log_end()
