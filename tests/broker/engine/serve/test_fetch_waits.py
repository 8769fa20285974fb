"""Fetches that wait: for how long, for what, beside whom; and what they leave behind."""

from __future__ import annotations

import asyncio
import gc

import pytest

from broker.core.isolation_level import READ_COMMITTED
from broker.engine.serve.reading import Reading
from broker.engine.types import FetchParams, FetchPart, FetchResult
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.fetched import now_s, part, wrote
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.serve.racks import two_racks
from tests.broker.engine.transactions import write
from tests.broker.engine.virtual_loop import VirtualLoop

OTHER = TopicPartition("other", 0)
WAITS = FetchParams(max_wait_ms=5_000, min_bytes=1)


async def fetch(lab: Lab, params: FetchParams, *parts: FetchPart) -> list[FetchResult]:
    return await lab[1].engine.fetches.fetch(params, list(parts))


def timers_count() -> int:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.timers_count


def readings_count() -> int:
    """Return how many there are, those that other tests left included."""
    gc.collect()
    return sum(isinstance(each, Reading) for each in gc.get_objects())


@pytest.mark.parametrize("part_count", [1, 300])
async def test_a_fetch_that_may_wait_for_a_millisecond_does(alone: Lab, part_count: int) -> None:
    await alone.create(replicas=[1])
    begun_s = now_s()
    params = FetchParams(max_wait_ms=1, min_bytes=1)
    await fetch(alone, params, *[part()] * part_count)
    assert now_s() - begun_s == pytest.approx(0.001)
    waiting = alone.begin(fetch(alone, params, *[part()] * part_count))
    await asyncio.sleep(0.0005)
    await alone[1].produce("a", acks=1)
    assert offsets_of((await waiting)[-1]) == [0]


@pytest.mark.parametrize("max_wait_ms", [0, -1])
async def test_a_fetch_of_many_partitions_without_time_is_answered_with_what_there_is(
    alone: Lab, max_wait_ms: int
) -> None:
    await wrote(alone, "a", of=[OTHER])
    await alone.create(replicas=[1])
    begun_s = now_s()
    params = FetchParams(max_wait_ms=max_wait_ms, min_bytes=10_000)
    results = await fetch(alone, params, *[part()] * 300, part(OTHER))
    assert [offsets_of(result) for result in results] == [[]] * 300 + [[0]]
    assert now_s() == begun_s


async def test_others_have_a_turn_behind_some_partitions_of_each_of_its_steps(
    alone: Lab,
) -> None:
    await wrote(alone, "a")

    async def turns_until_answered(count: int, *, max_wait_ms: int) -> int:
        params = FetchParams(max_wait_ms=max_wait_ms, min_bytes=1)
        fetching, turns = alone.begin(fetch(alone, params, *[part()] * count)), 0
        while not fetching.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    counts = (249, 251, 499, 500)
    looks = [await turns_until_answered(count, max_wait_ms=0) for count in counts]
    each = looks[1] - looks[0]
    assert each > 0
    assert [turns - looks[0] for turns in looks] == [0, each, each, 2 * each]
    waits = [await turns_until_answered(count, max_wait_ms=5_000) for count in counts]
    assert [turns - looks[0] for turns in waits] == [0, 2 * each, 2 * each, 4 * each]


async def test_a_fetch_of_many_partitions_that_is_cancelled_between_two_steps_waits_nowhere(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    fetching = alone.begin(fetch(alone, WAITS, *[part()] * 1_000))
    replica = alone[1].replica()
    while not len(replica.consumers):  # noqa: ASYNC110 -- each turn is one of the loop
        await asyncio.sleep(0)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not fetching.done()
    fetching.cancel()
    await asyncio.gather(fetching, return_exceptions=True)
    assert len(replica.consumers) == 0


async def test_of_many_partitions_one_that_is_not_here_is_answered_at_once(alone: Lab) -> None:
    await alone.create(replicas=[1])
    begun_s = now_s()
    results = await fetch(alone, WAITS, part(OTHER), *[part()] * 300)
    codes = [result.error_code for result in results]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] + [ErrorCode.NONE] * 300
    assert now_s() == begun_s


async def test_who_waits_for_more_goes_on_while_there_is_memory_for_others(alone: Lab) -> None:
    await wrote(alone, "a")
    params = FetchParams(max_wait_ms=5_000, min_bytes=100_000)
    waiting = alone.begin(fetch(alone, params, part()))
    await asyncio.sleep(1)
    assert offsets_of(await alone[1].fetch(0)) == [0]
    await asyncio.sleep(1)
    assert not waiting.done()


async def test_who_is_woken_reads_on_once_there_is_memory_for_it(alone: Lab) -> None:
    await alone.create(replicas=[1])
    waiting = alone.begin(fetch(alone, WAITS, part()))
    await asyncio.sleep(1)
    budget = alone[1].state.ports.answers
    budget.take(taken := budget.free_bytes)
    await alone[1].produce("a", acks=1)
    await asyncio.sleep(1)
    assert not waiting.done()
    budget.give_back(taken)
    assert offsets_of((await waiting)[0]) == [0]


async def on_a_slow_disk(lab: Lab, tp: TopicPartition = OTHER) -> None:
    """Have a record that only its disk has, which takes 0.2 s to read it."""
    await wrote(lab, "a", of=[tp])
    lab[1].replica(tp).tail.clear(1)
    lab[1].workers[lab[1].replica(tp).log_dir].delay_s = 0.2


async def test_what_came_while_a_disk_was_read_is_not_waited_for_once_more(alone: Lab) -> None:
    await on_a_slow_disk(alone)
    await alone.create(replicas=[1])
    assert alone[1].replica().log_dir != alone[1].replica(OTHER).log_dir
    begun_s = now_s()
    params = FetchParams(max_wait_ms=5_000, min_bytes=100)
    waiting = alone.begin(fetch(alone, params, part(), part(OTHER)))
    await asyncio.sleep(0.1)
    await alone[1].produce("b", acks=1)
    assert [offsets_of(result) for result in await waiting] == [[0], [0]]
    assert now_s() - begun_s == pytest.approx(0.2)


async def test_a_consumer_is_told_of_a_log_as_it_was_read(alone: Lab) -> None:
    await on_a_slow_disk(alone, ORDERS)
    replica = alone[1].replica()
    for params in (WAITS, FetchParams()):
        replica.partition.high_watermark = 1
        waiting = alone.begin(fetch(alone, params, part()))
        await asyncio.sleep(0.1)
        replica.partition.high_watermark = 2
        (result,) = await waiting
        assert (offsets_of(result), result.high_watermark) == ([0], 1)


async def test_records_from_a_disk_that_hangs_hold_back_no_others(alone: Lab) -> None:
    await wrote(alone, "a", of=(ORDERS, OTHER))
    for tp in (ORDERS, OTHER):
        alone[1].replica(tp).tail.clear(1)
    alone[1].workers[alone[1].replica().log_dir].hangs = True
    for _ in range(2):
        first, other = await fetch(alone, FetchParams(), part(), part(OTHER))
        assert (first.error_code, offsets_of(first), offsets_of(other)) == (0, [], [0])


async def test_what_memory_has_is_not_read_from_the_disk(alone: Lab) -> None:
    await wrote(alone, "a")
    queue = alone[1].replica().log.dir.queue
    before = queue.jobs_count
    assert offsets_of(await alone[1].fetch(0)) == [0]
    assert queue.jobs_count == before


async def test_no_disk_is_asked_once_the_answer_is_full(alone: Lab) -> None:
    await wrote(alone, "x" * 500, of=(ORDERS, OTHER))
    alone[1].replica(OTHER).tail.clear(1)
    queue = alone[1].replica(OTHER).log.dir.queue
    before = queue.jobs_count
    for max_bytes in (100, len(alone[1].disk_bytes())):
        first, other = await fetch(alone, FetchParams(max_bytes=max_bytes), part(), part(OTHER))
        assert (offsets_of(first), offsets_of(other)) == ([0], [])
    assert queue.jobs_count == before
    room_for_one = part(OTHER)._replace(max_bytes=1)
    await fetch(alone, FetchParams(), part(), room_for_one)
    assert queue.jobs_count == before + 1


async def test_a_fetch_leaves_no_timer_and_nothing_of_what_it_read_behind(alone: Lab) -> None:
    await alone.create(replicas=[1])
    timers, readings = timers_count(), readings_count()
    waiting = alone.begin(fetch(alone, WAITS, part()))
    await asyncio.sleep(0.001)
    assert timers_count() == timers + 1
    await alone[1].produce("a", acks=1)
    await waiting
    assert timers_count() == timers
    assert readings_count() <= readings


async def test_a_fetch_that_is_woken_just_at_its_deadline_is_answered(alone: Lab) -> None:
    await alone.create(replicas=[1])
    loop = asyncio.get_running_loop()
    loop.call_at(loop.time() + 0.5, alone[1].replica().consumers.wake)
    assert len(await fetch(alone, FetchParams(max_wait_ms=500, min_bytes=1), part())) == 1


async def test_open_transactions_end_what_a_committed_reader_alone_is_given(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a", acks=1)
    await write(alone[1], 1, 0)
    (everything,) = await fetch(alone, FetchParams(), part())
    assert (offsets_of(everything), everything.aborted) == ([0, 1], None)
    committed = FetchParams(isolation_level=READ_COMMITTED)
    (stable,) = await fetch(alone, committed, part())
    assert (offsets_of(stable), stable.aborted) == ([0], ())
    for params, aborted in ((FetchParams(), None), (committed, ())):
        (at_the_end,) = await fetch(alone, params, part(offset=2))
        assert (at_the_end.records, at_the_end.aborted) == ((), aborted)


async def test_who_leads_is_told_with_errors_that_a_newer_leader_explains_and_no_others(
    lab: Lab,
) -> None:
    await lab.create()
    await lab.elect(ORDERS, 1, [1, 2, 3])
    (refused,) = await fetch(lab, FetchParams(), part(offset=9))
    assert (refused.error_code, refused.current_leader) == (ErrorCode.OFFSET_OUT_OF_RANGE, None)
    (fenced,) = await fetch(lab, FetchParams(), part(epoch=0))
    assert (fenced.error_code, fenced.current_leader) == (ErrorCode.FENCED_LEADER_EPOCH, (1, 1))
    (elsewhere,) = await lab[2].engine.fetches.fetch(FetchParams(), [part()])
    assert elsewhere.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert elsewhere.current_leader == (1, 1)


async def test_a_consumer_that_tells_its_rack_is_told_where_its_log_is_another(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    await lab.elect(ORDERS, 1, [1, 2, 3])
    await lab[1].produce("b")
    params = FetchParams(client_rack="b", leader_only=False)
    asked = part(offset=2)._replace(last_fetched_epoch=0)
    (result,) = await fetch(lab, params, asked)
    assert result.diverging_epoch == (0, 1)


async def test_a_replica_whose_broker_is_gone_is_in_no_rack() -> None:
    async with two_racks() as lab:
        gone = lab.nodes.pop(2)
        lab.tell_metadata()
        params = FetchParams(client_rack="b", leader_only=False)
        (result,) = await fetch(lab, params, part())
        assert (result.preferred_read_replica, offsets_of(result)) == (-1, [0])
        lab.nodes[2] = gone
