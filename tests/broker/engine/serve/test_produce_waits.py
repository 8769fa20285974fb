"""Produces that wait: how long, for whom, and what coordinators and verified producers are told."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.verification import ALREADY_OPEN, VerificationGuard
from broker.engine.types import ProducePart, ProduceResult
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.records.build import BatchOptions
from tests.broker.engine.fetched import now_s
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, records
from tests.broker.engine.virtual_loop import VirtualLoop

OTHER = TopicPartition("other", 0)
OPTIONS = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0)


async def produce(
    lab: Lab, *parts: ProducePart, acks: int = -1, timeout_ms: int = 30_000
) -> list[ProduceResult]:
    produces = lab[1].engine.produces
    return await produces.produce(list(parts), acks=acks, timeout_ms=timeout_ms)


@pytest.mark.parametrize("timeout_ms", [1, 100, 10_000])
async def test_a_produce_expires_when_its_time_is_over(lab: Lab, timeout_ms: int) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    begun_s = now_s()
    result = await lab[1].produce("a", timeout_ms=timeout_ms)
    assert (result.error_code, result.current_leader) == (ErrorCode.REQUEST_TIMED_OUT, None)
    assert now_s() - begun_s == pytest.approx(timeout_ms / 1_000)


async def test_without_time_it_waits_for_no_log_that_has_refused_its_records(lab: Lab) -> None:
    await lab.create()
    await lab.create(OTHER, min_insync_replicas="2")
    lab[2].is_reachable = lab[3].is_reachable = False
    await lab.elect(OTHER, 1, [1])
    assert lab[1].replica().log_dir != lab[1].replica(OTHER).log_dir
    lab[1].workers[lab[1].replica(OTHER).log_dir].delay_s = 5
    slow = lab.begin(lab[1].produce("b", tp=OTHER, acks=1))
    await asyncio.sleep(0.1)
    begun_s = now_s()
    parts = [ProducePart(tp, records("a")) for tp in (OTHER, ORDERS)]
    refused, result = await produce(lab, *parts, timeout_ms=0)
    assert refused.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert now_s() - begun_s < 0.1
    assert (await slow).base_offset == 0


async def test_with_acks_one_no_time_ends_the_wait_for_the_own_disk(alone: Lab) -> None:
    await alone.create(replicas=[1])
    alone[1].workers[alone[1].replica().log_dir].delay_s = 1
    result = await alone[1].produce("a", acks=1, timeout_ms=10)
    assert (result.error_code, result.base_offset) == (ErrorCode.NONE, 0)


async def test_a_produce_that_is_answered_leaves_no_timer_behind(alone: Lab) -> None:
    await alone.create(replicas=[1])
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    before = loop.timers_count
    await alone[1].produce("a")
    await produce(alone, ProducePart(OTHER, records("a")))
    assert loop.timers_count == before


async def test_a_produce_that_is_cancelled_while_it_is_written_waits_nowhere(alone: Lab) -> None:
    await alone.create(replicas=[1])
    alone[1].workers[alone[1].replica().log_dir].delay_s = 1
    waiting = alone.begin(alone[1].produce("a", acks=1))
    await asyncio.sleep(0.1)
    assert len(alone[1].replica().written) == 1
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert len(alone[1].replica().written) == 0


async def test_nobody_has_to_wait_for_a_produce_that_was_begun(alone: Lab) -> None:
    await alone.create(replicas=[1])
    alone[1].workers[alone[1].replica().log_dir].delay_s = 1
    part = ProducePart(ORDERS, records("a"))
    begun = await alone[1].engine.produces.begin([part], acks=1, timeout_ms=1_000)
    begun.ready.cancel()
    await asyncio.sleep(2)
    assert begun.delayed.codes == [ErrorCode.NONE]


async def test_a_repeated_batch_that_is_written_is_answered_at_once_with_acks_one(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a", acks=1, options=OPTIONS)
    alone[1].workers[alone[1].replica().log_dir].hangs = True
    async with asyncio.timeout(1):
        again = await alone[1].produce("a", acks=1, options=OPTIONS)
    assert (again.error_code, again.base_offset) == (ErrorCode.NONE, 0)
    assert len(alone[1].replica().written) == 0


async def test_what_was_cut_before_it_was_written_raises_no_log_end(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a", acks=1)
    replica = alone[1].replica()
    alone[1].workers[replica.log_dir].delay_s = 1
    alone.begin(alone[1].produce("b", acks=1))
    await asyncio.sleep(0.1)
    await alone[1].logs.truncate(replica, 1)
    await asyncio.sleep(5)
    assert (replica.partition.log_end_offset, replica.partition.next_offset) == (1, 1)
    assert replica.partition.high_watermark == 1


async def test_what_is_written_is_in_memory_for_its_readers(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a", acks=1)
    assert alone[1].replica().tail.size_bytes > 0


async def test_a_log_dir_that_is_closed_already_takes_no_records(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].replica().log.dir.close()
    async with asyncio.timeout(1):
        result = await alone[1].produce("a", acks=1)
    assert (result.error_code, result.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)


async def test_others_have_turns_while_many_records_are_looked_at_and_not_for_few(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1], cleanup_policy="compact")
    assert alone[1].replica().limits.requires_keys

    async def turns_until_refused(count: int, tp: TopicPartition = ORDERS) -> int:
        producing, turns = alone.begin(alone[1].produce(["a"] * count, tp=tp, acks=1)), 0
        while not producing.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    few, many = await turns_until_refused(1), await turns_until_refused(5_000)
    assert few < 3
    assert many > few + 5
    assert await turns_until_refused(5_000, OTHER) == few


async def test_a_log_that_is_being_cut_is_waited_for_behind_one_that_is_not_here(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(["a"], acks=1, options=OPTIONS)
    alone[1].workers[alone[1].replica().log_dir].delay_s = 1
    alone[1].logs.truncate(alone[1].replica(), 0)
    parts = [ProducePart(OTHER, records("a")), ProducePart(ORDERS, records("a", OPTIONS))]
    unknown, result = await produce(alone, *parts, acks=1)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (result.error_code, result.base_offset) == (ErrorCode.NONE, 0)


async def test_a_produce_that_waited_for_room_is_not_written_into_another_log_that_is_cut_since(
    alone: Lab,
) -> None:
    for tp in (ORDERS, OTHER):
        await alone.create(tp, replicas=[1])
    node = alone[1]
    await node.produce("a", acks=1, options=OPTIONS)
    full = node.replica(OTHER).log.dir
    node.workers[full.path].delay_s = 1
    full.queue.submit("work", lambda: None)
    full.queue.queue_depth_max = 1
    parts = [ProducePart(ORDERS, records("a", OPTIONS)), ProducePart(OTHER, records("a"))]
    written = alone.begin(produce(alone, *parts, acks=1))
    await asyncio.sleep(0.5)
    node.workers[node.replica().log_dir].delay_s = 1
    node.logs.truncate(node.replica(), 0)
    result, _ = await written
    assert (result.error_code, result.base_offset) == (ErrorCode.NONE, 0)
    assert node.replica().partition.log_end_offset == 1


# What coordinators write, and verified producers.


def transactional(epoch: int = 0, sequence: int = 0) -> BatchOptions:
    return BatchOptions(
        producer_id=7, producer_epoch=epoch, base_sequence=sequence, is_transactional=True
    )


async def test_what_a_coordinator_writes_for_a_producer_has_no_sequence(alone: Lab) -> None:
    await alone.create(replicas=[1])
    for number in range(2):
        batch = records("v", transactional())
        (result,) = await produce(alone, ProducePart(ORDERS, batch, is_coordinators=True))
        assert (result.error_code, result.base_offset) == (ErrorCode.NONE, number)
    (fenced,) = await produce(
        alone, ProducePart(ORDERS, records("v", transactional(1)), is_coordinators=True)
    )
    assert fenced.error_code == ErrorCode.NONE
    (fenced,) = await produce(
        alone, ProducePart(ORDERS, records("v", transactional(0)), is_coordinators=True)
    )
    assert fenced.error_code == ErrorCode.INVALID_PRODUCER_EPOCH


async def test_a_batch_is_taken_for_a_transaction_with_the_guard_of_its_verification_alone(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    produces = alone[1].engine.produces
    guard = produces.begin_verification(ORDERS, 7, 0, 0, raises_epochs=False)
    assert guard is not ALREADY_OPEN
    with pytest.raises(KafkaError) as refused:
        produces.check_verified(ORDERS, 7, 0, VerificationGuard())
    assert refused.value.code is ErrorCode.INVALID_TXN_STATE
    produces.check_verified(ORDERS, 7, 0, guard)
    batch = records("v", transactional())
    (result,) = await produce(alone, ProducePart(ORDERS, batch, guard=VerificationGuard()))
    assert result.error_code == ErrorCode.INVALID_TXN_STATE
    (result,) = await produce(alone, ProducePart(ORDERS, batch, guard=guard))
    assert (result.error_code, result.base_offset) == (ErrorCode.NONE, 0)
    guard = produces.begin_verification(ORDERS, 7, 0, 1, raises_epochs=False)
    assert guard is ALREADY_OPEN


async def test_what_a_coordinator_writes_needs_the_guard_too(alone: Lab) -> None:
    await alone.create(replicas=[1])
    guard = VerificationGuard()
    batch = records("v", transactional())
    part = ProducePart(ORDERS, batch, is_coordinators=True, guard=guard)
    (result,) = await produce(alone, part)
    assert result.error_code == ErrorCode.INVALID_TXN_STATE
