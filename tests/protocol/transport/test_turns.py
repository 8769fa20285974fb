from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Generator
from itertools import pairwise
from weakref import WeakSet

import pytest

from benchmarks.hostile.worst_requests import fill
from protocol.messages.fetch import FetchRequest
from protocol.messages.metadata import MetadataResponsePartition
from protocol.messages.producer_ids import PartitionResponse, TopicResponse
from protocol.transport.turns import LOOKS_MIN, YOUNG_MAX, Hold, Turns, arrays_of_structs
from tests.deadlines import DEADLINE_S


class Held:
    """Holds a ring and can be watched."""

    def __init__(self, ring: list[object]) -> None:
        self.ring = ring


async def test_two_large_works_take_turns_and_others_have_their_looks_between_any_two_steps() -> (
    None
):
    turns = Turns()
    done: list[str] = []

    def steps(name: str) -> Generator[None, None, str]:
        for _ in range(3):
            done.append(name)
            yield
        return name

    async def other() -> None:
        for _ in range(8 * LOOKS_MIN):
            done.append("other")
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        first = group.create_task(turns.run(steps("a")))
        group.create_task(turns.run(steps("b")))
        group.create_task(other())
    assert first.result() == "a"
    assert [name for name in done if name != "other"] == ["a", "b"] * 3
    steps_at = [index for index, name in enumerate(done) if name != "other"][2:]
    looked = [set(done[index - LOOKS_MIN : index]) for index in steps_at]
    assert looked == [{"other"}] * 4


async def test_who_is_cancelled_while_it_waits_keeps_nobody_from_their_turn() -> None:
    turns = Turns()
    gone = asyncio.create_task(turns.next())  # noqa: TID251 - cancelled by hand
    waits = asyncio.create_task(turns.next())  # noqa: TID251 - outlives the one before it
    await asyncio.sleep(0)
    gone.cancel()
    async with asyncio.timeout(DEADLINE_S):
        await waits
    assert gone.cancelled()


async def test_garbage_is_collected_by_itself_again_one_moment_after_large_works() -> None:
    turns = Turns()
    with turns:
        pass
    await asyncio.sleep(0)  # The loop of an earlier test may have ended in the middle of a work.
    assert gc.isenabled()
    with turns:
        assert not gc.isenabled()
        with turns:
            pass
        assert not gc.isenabled()
    assert not gc.isenabled()  # who worked still has the request
    await asyncio.sleep(0)
    assert gc.isenabled()


def test_a_loop_that_ends_in_the_middle_of_a_work_does_not_hold_the_next_one() -> None:
    async def end_in_the_middle() -> None:
        Turns().__enter__()

    async def work() -> bool:
        with Turns():
            pass
        await asyncio.sleep(0)
        return gc.isenabled()

    asyncio.run(end_in_the_middle())
    assert asyncio.run(work())


async def test_works_without_a_gap_leave_no_garbage_of_theirs() -> None:
    class Ring:
        def __init__(self) -> None:
            self.itself = self

    def steps() -> Generator[None]:
        for _ in range(8):
            for _ in range(YOUNG_MAX // 4):
                rings.add(Ring())
            yield

    turns, rings = Turns(), WeakSet[Ring]()
    with turns:
        await turns.run(steps())
        assert len(rings) <= YOUNG_MAX


def test_what_outlives_young_collections_is_looked_for_when_it_is_much() -> None:
    hold = Hold(blocks_until_collected=20_000)
    hold.begin()
    try:
        ring: list[object] = [object() for _ in range(40_000)]
        ring.append(ring)
        gone = weakref.ref(held := Held(ring))
        ring.append(held)
        del held
        gc.collect(1)  # as old as what outlives many young collections
        del ring
        young = [[number] for number in range(2 * YOUNG_MAX)]
        hold.collect_some()
        assert gone() is None
        assert len(young) == 2 * YOUNG_MAX
    finally:
        hold.end()


async def test_a_message_that_is_discarded_is_emptied_in_steps_down_to_its_inner_arrays() -> None:
    request = fill(FetchRequest, 12, ("topics", "partitions"), 2000)
    topics, partitions = request.topics, request.topics[0].partitions
    Turns().discard([request])
    del request
    lengths: list[int] = []
    for _ in range(20):
        await asyncio.sleep(0)
        lengths.append(len(partitions))
    assert topics == partitions == []
    assert len(set(lengths)) >= 2000 // 512


@pytest.mark.parametrize("topics", [1, 2])
async def test_a_message_is_dropped_in_steps_however_its_structs_are_nested(topics: int) -> None:
    rows = [
        TopicResponse(
            name=f"t{n}",
            partitions=[
                PartitionResponse(partition_index=n, active_producers=[]) for _ in range(5000)
            ],
        )
        for n in range(topics)
    ]
    lists = [row.partitions for row in rows]
    lengths: list[int] = []

    async def look() -> None:
        while any(lists):
            lengths.append(sum(map(len, lists)))
            await asyncio.sleep(0)

    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        group.create_task(look())
        group.create_task(Turns().drop(rows, arrays_of_structs))
    assert rows == []
    assert max(a - b for a, b in pairwise(lengths)) <= 1024, "two steps at most between two looks"


async def test_arrays_of_plain_values_are_left_to_who_shares_them() -> None:
    replicas = [1, 2, 3]
    await Turns().drop([MetadataResponsePartition(replica_nodes=replicas)], arrays_of_structs)
    assert replicas == [1, 2, 3]


async def test_a_list_that_is_dropped_is_empty() -> None:
    items: list[object] = [object() for _ in range(2000)]
    await Turns().drop(items)
    assert items == []
