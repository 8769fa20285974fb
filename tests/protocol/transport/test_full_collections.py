from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator
from typing import NamedTuple

import pytest

from protocol.transport.full_collections import (
    GROWN_SHARE_MIN,
    GROWN_TIMES_MIN,
    LOOK_INTERVAL_S,
    FullCollections,
)
from protocol.transport.turns import Turns, is_large_work_on
from tests.deadlines import DEADLINE_S


class Ring:
    """Refers to itself."""

    def __init__(self) -> None:
        self.itself = self


class Blocks:
    """Memory that grows when it is told to."""

    def __init__(self) -> None:
        self.count = 1000

    def __call__(self) -> int:
        return self.count


class Lab(NamedTuple):
    """Full collections of this process, which think that it has so many blocks."""

    blocks: Blocks
    busy: list[bool]
    """Whether large work is on, as its last element."""
    collections: FullCollections


@pytest.fixture
async def lab() -> AsyncGenerator[Lab]:
    blocks = Blocks()
    busy = [False]
    collections = FullCollections(blocks, lambda: busy[-1])
    collections.begin()
    try:
        yield Lab(blocks, busy, collections)
    finally:
        collections.end()


@pytest.fixture
def blocks(lab: Lab) -> Blocks:
    return lab.blocks


def is_looked_at(one: object) -> bool:
    return any(each is one for each in gc.get_objects())


async def test_what_stood_a_full_collection_is_left_out_of_the_next(blocks: Blocks) -> None:
    standing, ring = [blocks], Ring()
    assert is_looked_at(standing)
    gc.collect()
    assert not is_looked_at(standing)
    gone = weakref.ref(ring)
    del ring
    gc.collect()
    assert gone() is not None


async def test_younger_collections_leave_nothing_out(blocks: Blocks) -> None:
    standing = [blocks]
    gc.collect(1)
    assert is_looked_at(standing)


async def test_all_is_looked_at_again_once_the_process_has_grown_much(blocks: Blocks) -> None:
    ring = Ring()
    gc.collect()
    gone = weakref.ref(ring)
    del ring
    blocks.count = GROWN_TIMES_MIN * blocks.count + 1
    gc.collect()
    assert gone() is None
    later = Ring()
    gc.collect()
    still_there = weakref.ref(later)
    del later
    gc.collect()
    assert still_there() is not None


def grown(blocks: Blocks) -> int:
    return int((1 + GROWN_SHARE_MIN) * blocks.count) + 1


def lose_a_ring() -> weakref.ref[Ring]:
    """Make garbage that only a full collection finds."""
    ring = Ring()
    gc.collect(0)
    gc.collect(1)
    return weakref.ref(ring)


async def test_python_makes_no_full_collection_by_itself_until_the_end() -> None:
    collections, before = FullCollections(Blocks()), gc.get_threshold()
    collections.begin()
    youngest, middle, oldest = gc.get_threshold()
    collections.end()
    assert (youngest, middle) == before[:2]
    assert oldest > 10**9
    assert gc.get_threshold() == before


async def test_a_process_that_has_not_grown_has_no_garbage_worth_a_look(lab: Lab) -> None:
    lost = lose_a_ring()
    lab.collections.collect_if_due()
    assert lost() is not None
    lab.blocks.count = grown(lab.blocks)
    lab.collections.collect_if_due()
    assert lost() is None


async def test_large_work_is_not_held_up_by_a_full_collection(lab: Lab) -> None:
    lost = lose_a_ring()
    lab.blocks.count = grown(lab.blocks)
    lab.busy.append(True)
    lab.collections.collect_if_due()
    assert lost() is not None
    lab.busy.append(False)
    lab.collections.collect_if_due()
    assert lost() is None


def test_turns_are_large_work() -> None:
    with Turns():
        assert is_large_work_on()


async def test_the_loop_looks_by_itself(lab: Lab) -> None:
    freed = asyncio.Event()
    ring = Ring()
    weakref.finalize(ring, freed.set)
    gc.collect(0)
    gc.collect(1)
    del ring
    lab.blocks.count = grown(lab.blocks)
    async with asyncio.timeout(DEADLINE_S + LOOK_INTERVAL_S):
        await freed.wait()


async def test_what_was_frozen_before_a_fork_stays_out_until_the_process_has_grown_much() -> None:
    blocks, inherited = Blocks(), [Ring()]
    gone = weakref.ref(inherited[0])
    gc.freeze()
    collections = FullCollections(blocks)
    collections.begin()
    try:
        assert not is_looked_at(inherited)
        inherited.clear()
        gc.collect()
        assert gone() is not None
        blocks.count = GROWN_TIMES_MIN * blocks.count + 1
        gc.collect()
        assert gone() is None
    finally:
        collections.end()
