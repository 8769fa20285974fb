"""What one Fetch has given and may still give."""

from __future__ import annotations

import asyncio

import pytest

from broker.engine.fetch_room import FetchRoom
from broker.engine.serve.disk_reads import DiskRead, ReadSpan
from broker.engine.serve.reading import Reading
from broker.engine.types import FetchParams, FetchPart, FetchResult
from broker.storage.indexes import AbortedTransaction
from broker.storage.log_reader import LogRead
from protocol.byte_budget import ByteBudget
from protocol.errors import ErrorCode
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of

PART = FetchPart(ORDERS, bytes(16), 0, -1, -1, -1, 1 << 20)


def reading(counts: list[int], *, parts: int = 2) -> Reading:
    params = FetchParams(min_bytes=5, max_bytes=100)
    room = FetchRoom(ByteBudget(1 << 20))
    made = Reading(params, [PART] * parts, counts.append, room)
    made.results = [FetchResult() for _ in range(parts)]
    return made


def give(to: Reading, index: int, data: bytes) -> None:
    to.give(index, to.results[index], LogRead((data,), len(data), 1), max_bytes=100)


def test_enough_is_min_bytes_or_any_news() -> None:
    one = reading([])
    give(one, 0, b"abcd")
    assert not one.is_enough
    give(one, 1, b"e")
    assert one.is_enough
    other = reading([])
    assert other.refuse(ErrorCode.KAFKA_STORAGE_ERROR).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert other.is_enough


@pytest.mark.parametrize(("max_bytes", "aborted"), [(0, ()), (9, None)])
def test_of_a_batch_that_does_not_fit_no_transactions_are_told(
    max_bytes: int, aborted: tuple[()] | None
) -> None:
    one = reading([], parts=1)
    one.results[0].aborted = ()
    one.give(0, one.results[0], LogRead((), 0, 1), max_bytes=max_bytes)
    assert one.results[0].aborted == aborted


def test_what_is_taken_back_may_be_given_again() -> None:
    one = reading([])
    give(one, 0, b"abcd")
    assert (one.size_bytes, one.left_bytes) == (4, 96)
    one.take_back(0)
    assert (one.size_bytes, one.left_bytes) == (0, 100)


async def test_a_read_from_a_disk_keeps_its_room_until_it_ends(alone: Lab) -> None:
    counts: list[int] = []
    one = reading(counts)
    one.counted[1] = None
    await alone.create(replicas=[1])
    span = ReadSpan(0, 1, 60, min_one=False)
    ended = asyncio.get_running_loop().create_future()
    replica = alone[1].replica()
    read = DiskRead(1, replica, span, replica.log_dir, replica.log.token, ended)
    one.begin(read)
    assert one.left_bytes == 40
    one.end(read)
    give(one, 1, b"abc")
    assert (one.left_bytes, counts) == (97, [60, -60, 3])


def test_only_counted_parts_are_counted() -> None:
    counts: list[int] = []
    one = reading(counts)
    one.counted[1] = None
    give(one, 0, b"abcd")
    give(one, 1, b"ef")
    assert counts == [2]


def test_throttled_parts_are_woken_once() -> None:
    one = reading([])
    one.throttled[1] = None
    one.wake_throttled()
    assert (one.delayed.take_changed(), one.throttled) == ([1], {})


async def test_who_waits_is_woken_by_the_first_partition_that_changes() -> None:
    one = reading([])
    one.delayed.wake(0)
    woken = one.woken = asyncio.get_running_loop().create_future()
    for index in (1, 0):
        one.delayed.wake(index)
        assert woken.done()
    assert one.delayed.take_changed() == [0, 1]


async def test_many_small_appends_reach_min_bytes_together(alone: Lab) -> None:
    await alone.create(replicas=[1])
    waiting = alone.begin(alone[1].fetch(0, max_wait_ms=5_000, min_bytes=500))
    await asyncio.sleep(1)
    produced = 0
    while not waiting.done():
        await alone[1].produce("x" * 100, acks=1)
        await asyncio.sleep(0)
        produced += 1
    assert produced < 8
    assert len(offsets_of(await waiting)) >= 3


@pytest.mark.parametrize(
    ("index", "of_parts", "of_answer", "is_below"),
    [
        (0, 0, 0, False),
        (0, 100, 100, False),
        (0, -1, 100, True),
        (0, 100, -1, True),
        (1, 100, -1, False),
        (1, 0, -1, False),
        (1, -1, 100, True),
        (2, 100, -1, False),
    ],
)
def test_a_limit_below_nothing_is_a_part_s_own_or_the_answer_s_at_its_first_part(
    index: int, of_parts: int, of_answer: int, *, is_below: bool
) -> None:
    parts = [PART._replace(max_bytes=of_parts)] * 3
    room = FetchRoom(ByteBudget(1 << 20))
    one = Reading(FetchParams(max_bytes=of_answer), parts, lambda _: None, room)
    assert one.is_below_nothing(index) is is_below


async def test_who_reads_on_waits_for_memory_and_takes_no_more_than_there_is() -> None:
    budget = ByteBudget(8 << 20)
    one = Reading(FetchParams(), [PART], lambda _: None, FetchRoom(budget))
    assert one.left_bytes == 2 << 20
    budget.take(8 << 20)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(one.until_room())
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
        budget.give_back(1 << 20)
    assert one.left_bytes == 1 << 20


def test_what_is_let_go_is_kept_and_held_no_more() -> None:
    budget = ByteBudget(1 << 20)
    one = Reading(FetchParams(), [PART], lambda _: None, FetchRoom(budget))
    one.results = [FetchResult()]
    give(one, 0, b"abcd")
    assert budget.held_bytes == 4
    one.let_go()
    assert (budget.held_bytes, one.results, one.disk) == (0, [], [])


def test_the_aborted_transactions_of_what_was_read_are_told() -> None:
    one = reading([], parts=1)
    aborted = (AbortedTransaction(7, 0, 3, 3), AbortedTransaction(8, 1, 2, 3))
    one.give(0, one.results[0], LogRead((b"abcd",), 4, 4, aborted), max_bytes=100)
    assert one.results[0].aborted == ((7, 0), (8, 1))
    assert (one.results[0].records, one.results[0].records_size_bytes) == ((b"abcd",), 4)


async def test_reads_from_disks_are_kept_until_they_are_waited_for(alone: Lab) -> None:
    await alone.create(replicas=[1])
    replica = alone[1].replica()
    ended = asyncio.get_running_loop().create_future()
    span = ReadSpan(0, 1, 60, min_one=False)
    read = DiskRead(0, replica, span, replica.log_dir, replica.log.token, ended)
    one = reading([])
    one.begin(read)
    assert one.disk == [read]
