"""The produce path: acks, idempotence, minimum Isr, and what a broken disk answers."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.delayed import DelayedFetch
from broker.engine.serve.produce import BegunProduce
from broker.engine.types import ProducePart
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.records.build import BatchOptions
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, records
from tests.broker.engine.transactions import end, write


async def test_acks_one_answers_with_the_base_offset_of_each_append(alone: Lab) -> None:
    await alone.create(replicas=[1])
    first = await alone[1].produce(["a", "b"], acks=1)
    second = await alone[1].produce("c", acks=1)
    assert (first.error_code, first.base_offset) == (ErrorCode.NONE, 0)
    assert (second.base_offset, second.log_start_offset) == (2, 0)


async def test_acks_zero_is_answered_before_anything_is_written(alone: Lab) -> None:
    await alone.create(replicas=[1])
    alone[1].workers[await alone[1].dir_of() or ""].hangs = True
    result = await alone[1].produce("a", acks=0)
    assert result.error_code == ErrorCode.NONE


async def test_acks_all_waits_for_every_member_of_the_isr(lab: Lab) -> None:
    await lab.create()
    result = await lab[1].produce("a")
    assert (result.error_code, result.base_offset) == (ErrorCode.NONE, 0)
    await asyncio.sleep(0.6)
    assert [await lab[n].log_end() for n in (1, 2, 3)] == [1, -1, -1]
    assert lab[2].disk_bytes() == lab[3].disk_bytes() == lab[1].disk_bytes()


async def test_a_produce_that_is_not_replicated_in_time_is_told_so(lab: Lab) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    result = await lab[1].produce("a", timeout_ms=1_000)
    assert (result.error_code, result.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, -1)
    assert await lab[1].log_end() == 1


async def test_too_small_an_isr_refuses_acks_all_and_takes_acks_one(lab: Lab) -> None:
    await lab.create(min_insync_replicas="2")
    await lab.elect(ORDERS, 1, [1])
    refused = await lab[1].produce("a")
    assert (refused.error_code, refused.log_start_offset) == (ErrorCode.NOT_ENOUGH_REPLICAS, 0)
    taken = await lab[1].produce("a", acks=1)
    assert (taken.error_code, taken.base_offset) == (ErrorCode.NONE, 0)


async def test_a_repeated_batch_gets_its_first_offset_and_is_written_once(lab: Lab) -> None:
    await lab.create()
    options = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0)
    first = await lab[1].produce(["a", "b"], options=options)
    again = await lab[1].produce(["a", "b"], options=options)
    assert (again.error_code, again.base_offset) == (ErrorCode.NONE, first.base_offset)
    assert await lab[1].log_end() == 2


async def test_a_repeated_batch_waits_until_the_first_one_is_replicated(lab: Lab) -> None:
    await lab.create()
    options = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0)
    first = lab.begin(lab[1].produce("a", options=options))
    await asyncio.sleep(0)
    again = await lab[1].produce("a", options=options)
    assert first.done()
    assert again.base_offset == first.result().base_offset == 0


async def test_a_gap_in_the_sequence_is_refused(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(
        "a", options=BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0)
    )
    result = await alone[1].produce(
        "c", options=BatchOptions(producer_id=7, producer_epoch=0, base_sequence=2)
    )
    assert result.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (result.error_message, result.log_start_offset) == (None, 0)


async def test_who_does_not_lead_says_who_does(lab: Lab) -> None:
    await lab.create()
    result = await lab[2].produce("a")
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert result.current_leader == (1, 0)


async def test_unknown_and_unhosted_partitions_are_told_apart(lab: Lab) -> None:
    await lab.create(replicas=[1])
    unknown = await lab[1].produce("a", tp=TopicPartition("nothing", 0))
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elsewhere = await lab[2].produce("a")
    assert elsewhere.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_corrupt_batch_is_refused_and_leaves_no_trace(alone: Lab) -> None:
    """Its records, which have no keys, are not looked at."""
    await alone.create(replicas=[1], max_message_bytes="1000", cleanup_policy="compact")
    result = await alone[1].produce("x" * 2_000, acks=1)
    assert result.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert (result.error_message, result.log_start_offset) == (None, -1)
    assert await alone[1].log_end() == 0


@pytest.mark.kafka_bug("waiting-produces")
@pytest.mark.scenario(59)
async def test_a_produce_that_waits_is_answered_at_once_when_its_log_dir_fails(lab: Lab) -> None:
    """Kafka lets it run into its timeout; here the producer learns of the failure at once."""
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    waiting = lab.begin(lab[1].produce("a"))
    await asyncio.sleep(0.05)
    before_s = asyncio.get_running_loop().time()
    lab[1].log_dirs[await lab[1].dir_of() or ""].fail("test", OSError("broken"))
    result = await waiting
    assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert asyncio.get_running_loop().time() - before_s < 0.001


@pytest.mark.parametrize("acks", [1, -1])
async def test_the_first_produce_that_meets_a_broken_disk_is_a_storage_error(
    alone: Lab, acks: int
) -> None:
    await alone.create(replicas=[1])
    alone[1].disks[await alone[1].dir_of() or ""].set_fault("eio")
    first = await alone[1].produce("a", acks=acks)
    second = await alone[1].produce("a", acks=acks)
    assert first.error_code == second.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(alone[1].events.failed) == 1


async def test_a_cancelled_produce_leaves_nothing_behind(lab: Lab) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    waiting = lab.begin(lab[1].produce("a"))
    await asyncio.sleep(0.05)
    replica = lab[1].replica(ORDERS)
    assert len(replica.replicated) == 1
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert len(replica.replicated) == 0


async def test_a_full_queue_makes_producers_wait_and_not_fail(alone: Lab) -> None:
    await alone.create(replicas=[1])
    alone[1].log_dirs[await alone[1].dir_of() or ""].queue.queue_depth_max = 1
    results = await asyncio.gather(*[alone[1].produce(str(n), acks=1) for n in range(20)])
    assert sorted(result.base_offset for result in results) == list(range(20))


async def begin(lab: Lab, value: str, *, acks: int = -1, timeout_ms: int = 30_000) -> BegunProduce:
    part = ProducePart(ORDERS, records(value))
    return await lab[1].engine.produces.begin([part], acks=acks, timeout_ms=timeout_ms)


async def test_produces_are_begun_before_earlier_ones_are_replicated(lab: Lab) -> None:
    await lab.create()
    begun = [await begin(lab, str(number)) for number in range(5)]
    assert not any(one.ready.done() for one in begun)
    before_s = asyncio.get_running_loop().time()
    await asyncio.gather(*[one.ready for one in begun])
    assert [one.results()[0].base_offset for one in begun] == [0, 1, 2, 3, 4]
    assert asyncio.get_running_loop().time() - before_s < 0.005, "one round trip for all"


async def test_a_begun_produce_expires_by_its_own_time(lab: Lab) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    late, later = await begin(lab, "a", timeout_ms=100), await begin(lab, "b", timeout_ms=200)
    await asyncio.sleep(0.15)
    assert (late.ready.done(), later.ready.done()) == (True, False)
    assert late.results()[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    await later.ready
    assert later.results()[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert len(lab[1].replica().replicated) == 0


@pytest.mark.parametrize("timeout_ms", [0, -1])
async def test_no_time_is_enough_where_no_other_replica_is_waited_for(
    alone: Lab, timeout_ms: int
) -> None:
    await alone.create(replicas=[1])
    first = await alone[1].produce("a", timeout_ms=timeout_ms)
    second = await alone[1].produce("b", timeout_ms=timeout_ms)
    assert [(one.error_code, one.base_offset) for one in (first, second)] == [(0, 0), (0, 1)]


async def test_without_time_a_produce_expires_once_it_is_written(lab: Lab) -> None:
    await lab.create()
    parts = [ProducePart(tp, records("a")) for tp in (ORDERS, TopicPartition("x", 0))]
    result, other = await lab[1].engine.produces.produce(parts, acks=-1, timeout_ms=0)
    assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert other.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await lab[1].log_end() == 1
    assert len(lab[1].replica().written) == len(lab[1].replica().replicated) == 0


async def test_a_batch_sent_again_without_time_expires_at_once_where_it_is_written(
    lab: Lab,
) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    options = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0)
    async with asyncio.timeout(1):
        for _ in range(2):
            result = await lab[1].produce("a", timeout_ms=0, options=options)
            assert result.error_code == ErrorCode.REQUEST_TIMED_OUT


async def test_an_abandoned_produce_without_time_leaves_nothing_behind(alone: Lab) -> None:
    await alone.create(replicas=[1])
    begun = await begin(alone, "a", timeout_ms=0)
    begun.abandon()
    assert len(alone[1].replica().written) == len(alone[1].replica().replicated) == 0


async def test_an_abandoned_produce_waits_no_more_and_stays_appended(lab: Lab) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    begun = await begin(lab, "a", timeout_ms=100)
    await asyncio.sleep(0.01)
    begun.abandon()
    assert len(lab[1].replica().replicated) == 0
    assert await lab[1].log_end() == 1
    await asyncio.sleep(1)
    assert not begun.ready.done()


async def test_who_waits_for_what_was_appended_before_is_told_when_it_is_replicated(
    lab: Lab,
) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    await lab[1].produce("a", acks=1)
    waiting = lab[1].engine.produces.await_replicated(ORDERS, 1)
    await asyncio.sleep(1)
    assert not waiting.ready.done()
    lab[2].is_reachable = lab[3].is_reachable = True
    await waiting.ready
    assert waiting.results()[0].error_code == ErrorCode.NONE
    elsewhere = lab[1].engine.produces.await_replicated(TopicPartition("nothing", 0), 1)
    assert elsewhere.ready.done()
    assert elsewhere.results()[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_nothing_to_append_is_ready_at_once(lab: Lab) -> None:
    begun = await lab[1].engine.produces.begin([], acks=-1, timeout_ms=1_000)
    assert begun.ready.done()
    assert begun.results() == []


async def test_markers_of_old_producers_and_coordinators_are_refused(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node = alone[1]
    await write(node, 1, 0, epoch=3)
    assert (await end(node, 1, commit=True, epoch=2)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    await end(node, 1, commit=True, epoch=3, coordinator_epoch=5)
    late = await end(node, 1, commit=True, epoch=3, coordinator_epoch=4)
    assert late.error_code == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert node.replica().partition.log_end_offset == 2


async def test_a_marker_for_a_partition_of_others_is_for_an_unknown_one(lab: Lab) -> None:
    await lab.create(replicas=[1, 2])
    codes = [(await end(lab[number], 1, commit=True)).error_code for number in (2, 3)]
    assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


async def test_a_batch_outside_of_the_open_transaction_is_refused(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await write(alone[1], 1, 0)
    refused = await write(alone[1], 1, 1, transactional=False)
    assert refused.error_code == ErrorCode.INVALID_TXN_STATE


async def test_what_producers_send_is_counted_sent_again_or_not_and_markers_too(
    alone: Lab,
) -> None:
    """As Kafka counts MessagesInPerSec and BytesInPerSec: ReplicaManager.appendToLocalLog."""
    await alone.create(replicas=[1])
    node = alone[1]
    options = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0)
    for _ in range(2):
        await node.produce(["a", "b", "c"], options=options)
    assert node.metrics.counters.messages_in.value == 6
    assert node.metrics.counters.bytes_in.value == 2 * len(records(["a", "b", "c"], options))
    await write(node, 8, 0)
    await end(node, 8, commit=True)
    assert node.metrics.counters.messages_in.value == 8


async def test_what_is_refused_or_reaches_no_disk_is_not_counted_as_come_in(alone: Lab) -> None:
    await alone.create(replicas=[1], max_message_bytes="10")
    await alone[1].produce("larger than allowed")
    alone[1].disks[await alone[1].dir_of() or ""].set_fault("eio")
    await alone[1].produce("")
    counters = alone[1].metrics.counters
    assert (counters.messages_in.value, counters.bytes_in.value) == (0, 0)


async def test_what_was_converted_counts_as_it_was_sent(alone: Lab) -> None:
    await alone.create(replicas=[1])
    part = ProducePart(ORDERS, records("a"), received_bytes=1_000)
    await alone[1].engine.produces.produce([part], acks=1, timeout_ms=1_000)
    assert alone[1].metrics.counters.bytes_in.value == 1_000


async def test_many_records_without_keys_are_looked_at_before_and_named(alone: Lab) -> None:
    await alone.create(replicas=[1], cleanup_policy="compact")
    refused = await alone[1].produce(["a"] * 2500, acks=1)
    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in refused.record_errors] == list(range(1000))
    assert await alone[1].log_end() <= 0


async def test_few_records_that_are_refused_are_named_as_well(alone: Lab) -> None:
    await alone.create(replicas=[1], cleanup_policy="compact")
    refused = await alone[1].produce(["a", "b"], acks=1)
    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in refused.record_errors] == [0, 1]
    assert refused.error_message


async def test_consumers_are_not_woken_by_records_that_they_may_not_read_yet(lab: Lab) -> None:
    """A fetch of many partitions that is woken looks again, and would do so at each append."""
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    woken: list[int] = []
    lab[1].replica().consumers.add(DelayedFetch(lambda: woken.append(high_watermark())), 0)

    def high_watermark() -> int:
        return lab[1].replica().partition.high_watermark

    for _ in range(3):
        await lab[1].produce("a", acks=1)
    assert woken == []
    lab[2].is_reachable = lab[3].is_reachable = True
    await lab[1].engine.produces.await_replicated(ORDERS, 3).ready
    assert woken == [3]


async def test_a_coordinator_is_told_before_it_decides_what_its_partition_would_refuse(
    lab: Lab,
) -> None:
    await lab.create(replicas=[1, 2], min_insync_replicas="2")

    def refusals(tp: TopicPartition = ORDERS) -> list[ErrorCode]:
        return [lab[number].engine.produces.refusal(tp) for number in (1, 2, 3)]

    not_here = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refusals() == [ErrorCode.NONE, not_here, not_here]
    assert set(refusals(TopicPartition("nothing", 0))) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    await lab.elect(ORDERS, 1, [1])
    assert refusals() == [ErrorCode.NOT_ENOUGH_REPLICAS, not_here, not_here]


async def test_a_produce_that_waited_for_one_log_is_not_written_into_another_that_is_cut_since(
    alone: Lab,
) -> None:
    other = TopicPartition("other", 0)
    for tp in (ORDERS, other):
        await alone.create(tp, replicas=[1])
    node = alone[1]
    await write(node, 1, 0)
    await write(node, 1, 0, epoch=1)
    options = BatchOptions(producer_id=1, producer_epoch=0, base_sequence=1, is_transactional=True)
    node.workers[await node.dir_of(other) or ""].delay_s = 1.0
    node.logs.truncate(node.replica(other), 0)
    parts = [ProducePart(ORDERS, records("v", options)), ProducePart(other, records("v"))]
    written = alone.begin(node.engine.produces.produce(parts, acks=1, timeout_ms=30_000))
    await asyncio.sleep(0.5)
    node.workers[await node.dir_of() or ""].delay_s = 1.0
    node.logs.truncate(node.replica(), 1)
    told = [(result.error_code, result.base_offset) for result in await written]
    assert told == [(ErrorCode.NONE, 1), (ErrorCode.NONE, 0)]


async def test_who_asks_to_verify_where_nobody_leads_is_told_why(lab: Lab) -> None:
    await lab.create()
    nowhere = ORDERS._replace(topic="nowhere")
    for broker_id, tp, code in (
        (1, nowhere, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (2, ORDERS, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ):
        with pytest.raises(KafkaError) as refused:
            lab[broker_id].engine.produces.begin_verification(tp, 1, 0, 0, raises_epochs=False)
        assert refused.value.code is code
