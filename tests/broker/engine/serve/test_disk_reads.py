"""Reads from disks that hang hold up nobody for long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from broker.engine.serve.disk_reads import DiskRead, ReadSpan
from broker.engine.types import FetchParams
from broker.storage.log_reader import LogRead
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.fetched import now_s, part, wrote
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.transactions import aborted_of, end, read, three_transactions, write
from tests.broker.engine.virtual_loop import VirtualLoop

OTHER = TopicPartition("other", 0)


async def test_a_disk_that_hangs_holds_up_only_its_own_partitions(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone.create(OTHER, replicas=[1])
    for tp in (ORDERS, OTHER):
        await alone[1].produce("a", tp=tp, acks=1)
    alone[1].state.tails.drop_older_than(1 << 62)
    alone[1].workers[await alone[1].dir_of() or ""].hangs = True
    params = FetchParams(max_wait_ms=0, max_bytes=1 << 21)
    before_s = now_s()
    hung, good = await alone[1].engine.fetches.fetch(params, [part(), part(OTHER)])
    assert (hung.error_code, offsets_of(hung), offsets_of(good)) == (ErrorCode.NONE, [], [0])
    assert now_s() - before_s == pytest.approx(0.5)
    before_s = now_s()
    hung, good = await alone[1].engine.fetches.fetch(params, [part(), part(OTHER)])
    assert (offsets_of(hung), offsets_of(good)) == ([], [0])
    assert now_s() - before_s < 0.01


async def consumers_and_a_slow_disk(alone: Lab, delay_ms: int) -> None:
    for tp in (ORDERS, OTHER):
        await alone.create(tp, replicas=[1])
        await alone[1].produce("a", tp=tp, acks=1)
    alone[1].state.tails.drop_older_than(1 << 62)
    alone[1].workers[await alone[1].dir_of() or ""].delay_s = delay_ms / 1000


async def test_what_a_slow_disk_gives_late_is_given_to_the_next_fetch(alone: Lab) -> None:
    await consumers_and_a_slow_disk(alone, 2_000)
    before_s = now_s()
    assert offsets_of(await alone[1].fetch(max_wait_ms=500)) == []
    result = await alone[1].fetch(max_wait_ms=5_000)
    assert offsets_of(result) == [0]
    assert now_s() - before_s == pytest.approx(2, abs=0.1)


async def test_a_late_read_is_not_used_for_a_log_that_was_cut_since(alone: Lab) -> None:
    await consumers_and_a_slow_disk(alone, 2_000)
    assert offsets_of(await alone[1].fetch(max_wait_ms=500)) == []
    alone[1].replica().log.end()
    await asyncio.sleep(3)
    before_s = now_s()
    assert offsets_of(await alone[1].fetch(max_wait_ms=1_000)) == []
    assert now_s() - before_s >= 0.5


async def test_what_came_late_for_another_isolation_level_hides_no_abort(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await write(alone[1], 1, 0)
    await end(alone[1], 1, commit=False)
    alone[1].state.tails.drop_older_than(1 << 62)
    worker = alone[1].workers[await alone[1].dir_of() or ""]
    worker.delay_s = 2.0
    assert offsets_of(await alone[1].fetch(max_wait_ms=500)) == []
    await asyncio.sleep(3)
    worker.delay_s = 0.0
    await asyncio.sleep(3)
    assert aborted_of(await read(alone[1])) == [(1, 0)]


async def test_a_disk_that_was_slow_once_is_waited_for_shortly(alone: Lab) -> None:
    await consumers_and_a_slow_disk(alone, 2_000)
    both = FetchParams(max_wait_ms=0, max_bytes=1 << 21)
    await alone[1].engine.fetches.fetch(both, [part(), part(OTHER)])
    await asyncio.sleep(3)
    alone[1].replica().log.end()
    before_s = now_s()
    hung, good = await alone[1].engine.fetches.fetch(both, [part(), part(OTHER)])
    assert (offsets_of(hung), offsets_of(good)) == ([], [0])
    assert now_s() - before_s < 0.05


async def test_committed_readers_see_the_same_from_disk_as_from_memory(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await three_transactions(alone[1])
    from_memory = await read(alone[1])
    assert (await alone[1].fetch()).aborted is None, "who reads all is told of no transactions"
    alone[1].replica().tail.clear()
    from_disk = await read(alone[1])
    assert offsets_of(from_disk) == offsets_of(from_memory)
    assert from_disk.aborted == from_memory.aborted
    assert (await alone[1].fetch()).aborted is None, "who reads all is told of no transactions"


@pytest.mark.parametrize(("after_s", "kept"), [(1, range(2, 18)), (10, range(2, 18)), (11, ())])
async def test_late_reads_are_kept_for_a_while_and_of_many_only_the_newest(
    alone: Lab, after_s: int, kept: Sequence[int]
) -> None:
    await wrote(alone, *map(str, range(18)))
    alone[1].state.tails.drop_older_than(1 << 62)
    worker = alone[1].workers[await alone[1].dir_of() or ""]
    worker.delay_s = 0.6
    fetches = [alone.begin(alone[1].fetch(offset)) for offset in range(18)]
    await asyncio.sleep(0.1)
    worker.delay_s = 0
    await asyncio.sleep(after_s)
    assert [offsets_of(await fetch) for fetch in fetches] == [[]] * 18
    worker.hangs = True
    served = [offset for offset in range(18) if offsets_of(await alone[1].fetch(offset))]
    assert served == list(kept)


async def both_seconds(lab: Lab) -> float:
    """Return how long a fetch of two partitions waits for their disks."""
    before_s = now_s()
    params = FetchParams(max_wait_ms=0, max_bytes=1 << 21)
    await lab[1].engine.fetches.fetch(params, [part(), part(OTHER)])
    return now_s() - before_s


async def test_a_disk_is_slow_until_it_gives_something_in_time(alone: Lab) -> None:
    await consumers_and_a_slow_disk(alone, 2_000)
    worker = alone[1].workers[alone[1].replica().log_dir]
    assert await both_seconds(alone) == pytest.approx(0.5)
    await asyncio.sleep(3)
    assert await both_seconds(alone) == 0, "what came late is given"
    assert await both_seconds(alone) == pytest.approx(0.02), "and is no news of the disk"
    worker.delay_s = 0.01
    await asyncio.sleep(3.1)
    alone[1].replica().log.end()
    assert await both_seconds(alone) == pytest.approx(0.01)
    worker.delay_s = 2
    assert await both_seconds(alone) == pytest.approx(0.5)


async def test_a_disk_that_fails_when_nobody_waits_for_it_any_more_gives_nothing(
    alone: Lab,
) -> None:
    await consumers_and_a_slow_disk(alone, 2_000)
    assert offsets_of(await alone[1].fetch()) == []
    log_dir = alone[1].replica().log.dir
    log_dir.fail("test", OSError("broken"))
    await asyncio.sleep(3)
    assert (await alone[1].fetch()).error_code == ErrorCode.KAFKA_STORAGE_ERROR


async def test_reads_that_ended_leave_no_timer_behind(alone: Lab) -> None:
    await wrote(alone, "a")
    alone[1].replica().tail.clear(1)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    before = loop.timers_count
    assert offsets_of(await alone[1].fetch()) == [0]
    assert loop.timers_count == before


async def test_committed_readers_read_from_memory_as_well(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await three_transactions(alone[1])
    queue = alone[1].replica().log.dir.queue
    before = queue.jobs_count
    assert aborted_of(await read(alone[1])) == [(1, 0)]
    assert queue.jobs_count == before


async def test_transactions_that_memory_has_forgotten_are_read_from_the_disk(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await three_transactions(alone[1])
    alone[1].replica().partition.producers.ended.restart_at(8)
    result = await read(alone[1])
    assert (offsets_of(result), aborted_of(result)) == ([0, 1, 2, 3, 4, 5], [(1, 0)])


@pytest.mark.parametrize(
    ("span", "serves"),
    [
        (ReadSpan(0, 9, 100, min_one=False), True),
        (ReadSpan(0, 9, 99, min_one=False), False),
        (ReadSpan(0, 9, 99, min_one=True), True),
        (ReadSpan(0, 8, 100, min_one=False), False),
        (ReadSpan(0, 10, 100, min_one=False), True),
        (ReadSpan(0, 9, 100, min_one=False, with_aborted=True), False),
    ],
)
async def test_what_came_late_serves_who_may_have_all_of_it(
    alone: Lab, span: ReadSpan, *, serves: bool
) -> None:
    await alone.create(replicas=[1])
    replica = alone[1].replica()
    future: asyncio.Future[LogRead] = asyncio.get_running_loop().create_future()
    future.set_result(LogRead((bytes(100),), 100, 9))
    late = DiskRead(0, replica, ReadSpan(0, 9, 1_000, True), "/d", replica.log.token, future)
    assert late.serves(span) is serves
    replica.log.end()
    assert not late.serves(span)
