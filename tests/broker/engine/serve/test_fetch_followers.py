"""What followers' fetches tell their leader, what they are told, and what throttles give them."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.delayed import DelayedFetch
from broker.engine.types import DeletedRecords, FetchParams, FetchResult
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.fetched import as_follower, now_s, wrote
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.serve.racks import two_racks

OTHER = TopicPartition("other", 0)
FOLLOWER = 8
"""A broker that is nobody: the tests fetch for it."""
ASKS = FetchParams(replica_id=FOLLOWER)


async def led_with(lab: Lab, *isr: int, tp: TopicPartition = ORDERS, **configs: str) -> None:
    """Have broker 1 lead a partition, in its second leader epoch, for the follower."""
    await lab.create(tp, replicas=[1], **configs)
    led = lab.led[tp]
    led.replicas, led.isr, led.leader_epoch = [1, FOLLOWER], list(isr), 1
    led.partition_epoch += 1
    lab.nodes[FOLLOWER] = lab[1]
    lab.tell_metadata()
    del lab.nodes[FOLLOWER]
    await lab.tell(tp, to=[1])


async def fetched(
    lab: Lab, offset: int = 0, params: FetchParams = ASKS, *, last_epoch: int = -1
) -> FetchResult:
    asked = as_follower(offset, epoch=1, last_epoch=last_epoch)
    (result,) = await lab[1].engine.fetches.fetch(params, [asked])
    return result


async def test_a_produce_is_answered_by_the_fetch_that_shows_that_the_isr_has_it(
    alone: Lab,
) -> None:
    await led_with(alone, 1, FOLLOWER)
    waiting = alone.begin(alone[1].produce("a"))
    await asyncio.sleep(1)
    await fetched(alone, 0)
    assert not waiting.done()
    before_s = now_s()
    await fetched(alone, 1)
    assert (await waiting).error_code == ErrorCode.NONE
    assert now_s() == before_s


async def test_consumers_are_woken_by_a_fetch_that_raises_the_high_watermark_and_by_no_other(
    alone: Lab,
) -> None:
    await led_with(alone, 1, FOLLOWER)
    await alone[1].produce("a", acks=1)
    woken: list[int] = []
    partition = alone[1].replica().partition
    consumer = DelayedFetch(lambda: woken.append(partition.high_watermark))
    alone[1].replica().consumers.add(consumer, 0)
    await fetched(alone, 0)
    assert woken == []
    await fetched(alone, 1)
    await fetched(alone, 1)
    assert woken == [1]


async def test_a_deletion_is_answered_by_the_fetch_that_shows_that_the_follower_made_it(
    alone: Lab,
) -> None:
    await led_with(alone, 1, FOLLOWER)
    await alone[1].produce("a", acks=1)
    await fetched(alone, 1)
    deletions = alone[1].engine.record_deletions
    waiting = alone.begin(deletions.delete([(ORDERS, 1)], timeout_ms=30_000))
    await asyncio.sleep(1)
    assert not waiting.done()
    before_s = now_s()
    made = as_follower(1, epoch=1)._replace(log_start_offset=1)
    await alone[1].engine.fetches.fetch(ASKS, [made])
    assert await waiting == [DeletedRecords(ErrorCode.NONE, 1)]
    assert now_s() == before_s


async def test_a_follower_that_has_everything_is_proposed_for_the_isr(alone: Lab) -> None:
    await led_with(alone, 1)
    await alone[1].produce("a", acks=1)
    await fetched(alone, 0)
    await asyncio.sleep(1)
    assert alone.alter_requests == []
    await fetched(alone, 1)
    await asyncio.sleep(1)
    assert alone.led[ORDERS].isr == [1, FOLLOWER]
    await fetched(alone, 1)
    await asyncio.sleep(1)
    assert len(alone.alter_requests) == 1


async def test_a_follower_at_the_end_of_an_older_epoch_is_given_the_next_ones_records(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a", acks=1)
    alone.led[ORDERS].replicas = [1, FOLLOWER]
    alone.led[ORDERS].leader_epoch = 1
    await alone.tell(ORDERS, to=[1])
    await alone[1].produce("b", acks=1)
    result = await fetched(alone, 1, last_epoch=0)
    assert (offsets_of(result), result.diverging_epoch) == ([1], None)


async def test_a_follower_is_sent_to_nobody_else_whatever_rack_it_names() -> None:
    async with two_racks() as lab:
        lab[2].is_reachable = False
        params = FetchParams(replica_id=2, client_rack="b")
        (result,) = await lab[1].engine.fetches.fetch(params, [as_follower(0)])
        assert (result.preferred_read_replica, offsets_of(result)) == (-1, [0])


async def test_a_follower_that_waited_is_told_where_the_log_begins_by_now(alone: Lab) -> None:
    await led_with(alone, 1, FOLLOWER)
    await alone[1].produce(["a"], acks=1)
    await alone[1].produce(["b"], acks=1)
    await fetched(alone, 2)
    waiting = alone.begin(fetched(alone, 2, ASKS._replace(max_wait_ms=500, min_bytes=1)))
    await asyncio.sleep(0.1)
    alone[1].logs.raise_log_start(alone[1].replica(), 1)
    result = await waiting
    assert (result.log_start_offset, result.last_stable_offset, result.high_watermark) == (1, 2, 2)


async def test_a_refused_part_of_a_fetch_that_waited_is_told_no_offsets(alone: Lab) -> None:
    for tp in (ORDERS, OTHER):
        await led_with(alone, 1, FOLLOWER, tp=tp)
        await alone[1].produce("a", tp=tp, acks=1)
    params = ASKS._replace(max_wait_ms=5_000, min_bytes=1)
    asked = [as_follower(1, tp=tp, epoch=1) for tp in (ORDERS, OTHER)]
    waiting = alone.begin(alone[1].engine.fetches.fetch(params, asked))
    await asyncio.sleep(0.1)
    alone.led[ORDERS].leader_epoch = 2
    await alone.tell(ORDERS, to=[1])
    fenced, other = await waiting
    assert (fenced.error_code, fenced.high_watermark) == (ErrorCode.FENCED_LEADER_EPOCH, -1)
    assert (fenced.log_start_offset, fenced.last_stable_offset) == (-1, -1)
    assert fenced.current_leader == (1, 2)
    assert (other.error_code, other.high_watermark) == (ErrorCode.NONE, 1)


async def test_a_follower_of_many_partitions_that_waited_lets_others_have_turns(
    alone: Lab,
) -> None:
    await led_with(alone, 1, FOLLOWER)
    params = ASKS._replace(max_wait_ms=500, min_bytes=1)

    async def turns_at_the_end(count: int) -> int:
        """Return how many turns others have between the end of the wait and the answer."""
        parts = [as_follower(0, epoch=1)] * count
        waiting = alone.begin(alone[1].engine.fetches.fetch(params, parts))
        await asyncio.sleep(0.4)
        assert not waiting.done()
        alone[1].engine.fetches.force_complete(FOLLOWER)
        turns = 0
        while not waiting.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    counts = (1_999, 2_000, 3_999, 4_000)
    few, some, as_some, many = [await turns_at_the_end(count) for count in counts]
    assert some == as_some
    assert some - few == many - some > 0, "one turn behind each 2,000"


async def test_a_knock_ends_a_poll_of_many_partitions_as_well(alone: Lab) -> None:
    await led_with(alone, 1, FOLLOWER)
    parts = [as_follower(0, epoch=1)] * 300
    params = ASKS._replace(max_wait_ms=5_000, min_bytes=1)
    waiting = alone.begin(alone[1].engine.fetches.fetch(params, parts))
    await asyncio.sleep(1)
    alone[1].engine.fetches.force_complete(FOLLOWER)
    await asyncio.sleep(0.01)
    assert waiting.done()


async def test_a_knock_that_comes_while_a_disk_is_read_ends_the_wait_behind_it(
    alone: Lab,
) -> None:
    await led_with(alone, 1, FOLLOWER)
    await alone[1].produce("a", acks=1)
    alone[1].replica().tail.clear(1)
    alone[1].workers[alone[1].replica().log_dir].delay_s = 0.2
    begun_s = now_s()
    params = ASKS._replace(max_wait_ms=5_000, min_bytes=100_000)
    waiting = alone.begin(fetched(alone, 0, params))
    await asyncio.sleep(0.1)
    alone[1].engine.fetches.force_complete(FOLLOWER)
    assert offsets_of(await waiting) == [0]
    assert now_s() - begun_s == pytest.approx(0.2)


async def test_a_follower_that_waits_for_nothing_is_given_what_is_on_the_disk(alone: Lab) -> None:
    await led_with(alone, 1, FOLLOWER)
    await alone[1].produce("a", acks=1)
    alone[1].replica().tail.clear(1)
    assert offsets_of(await fetched(alone, 0)) == [0]


async def test_the_memory_of_broker_0_is_that_of_nodes(alone: Lab) -> None:
    await wrote(alone, "a")
    budget = alone[1].state.ports.answers
    budget.take(budget.limit_bytes)
    fetch = alone.begin(alone[1].engine.fetches.fetch(FetchParams(replica_id=0), [as_follower(0)]))
    await asyncio.sleep(1)
    assert fetch.done()
    budget.give_back(budget.limit_bytes)


@pytest.mark.parametrize("is_in_isr", [False, True])
@pytest.mark.parametrize("is_throttled", [False, True])
async def test_throttled_replicas_outside_of_the_isr_alone_wait_until_the_quota_has_room(
    alone: Lab, *, is_throttled: bool, is_in_isr: bool
) -> None:
    isr = [1, FOLLOWER] if is_in_isr else [1]
    replicas = "*" if is_throttled else ""
    await led_with(alone, *isr, leader_replication_throttled_replicas=replicas)
    await alone[1].produce("x" * 10_000, acks=1)
    quota = alone[1].state.quotas.leader
    quota.limit_bytes_per_second = 1_000
    quota.record(2_000, alone[1].state.now_ms())
    wait_s = quota.wait_ms(alone[1].state.now_ms()) / 1000
    assert 0 < wait_s < 60
    begun_s = now_s()
    params = ASKS._replace(max_wait_ms=120_000, min_bytes=1)
    result = await fetched(alone, 0, params)
    assert offsets_of(result) == [0]
    waited_s = wait_s if is_throttled and not is_in_isr else 0
    assert now_s() - begun_s == pytest.approx(waited_s, abs=0.01)
    is_counted = quota.wait_ms(alone[1].state.now_ms()) > 5_000
    assert is_counted is is_throttled, "what the Isr is given counts, too"


async def test_a_throttled_follower_that_does_not_wait_is_given_nothing(alone: Lab) -> None:
    await led_with(alone, 1, leader_replication_throttled_replicas="*")
    await alone[1].produce("a", acks=1)
    quota = alone[1].state.quotas.leader
    quota.limit_bytes_per_second = 1
    quota.record(1_000, alone[1].state.now_ms())
    result = await fetched(alone, 0)
    assert (result.error_code, result.records) == (ErrorCode.NONE, ())


async def test_consumers_of_a_throttled_replica_are_neither_held_back_nor_counted(
    alone: Lab,
) -> None:
    await led_with(alone, 1, leader_replication_throttled_replicas="*")
    await alone[1].produce("a", acks=1)
    quota = alone[1].state.quotas.leader
    quota.limit_bytes_per_second = 1
    assert offsets_of(await alone[1].fetch(0)) == [0]
    assert quota.wait_ms(alone[1].state.now_ms()) == 0
    quota.record(1_000, alone[1].state.now_ms())
    assert offsets_of(await alone[1].fetch(0)) == [0]
