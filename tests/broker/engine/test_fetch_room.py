"""The memory of one fetch's answer: what it may read, and who waits."""

from __future__ import annotations

import asyncio

import pytest

from broker.engine.fetch_room import FIRST_BYTES, FetchRoom
from protocol.byte_budget import ByteBudget, Claim

MIB = 1 << 20


def test_an_answer_takes_a_quarter_of_all_and_less_where_memory_is_short() -> None:
    budget = ByteBudget(32 * MIB)
    assert FetchRoom(budget).bytes_max == 8 * MIB
    budget.take(29 * MIB)
    assert FetchRoom(budget).bytes_max == 3 * MIB
    budget.take(10 * MIB)
    assert FetchRoom(budget).bytes_max == FIRST_BYTES == MIB


def test_memory_is_short_where_no_batch_fits_in_or_others_wait_for_it() -> None:
    budget = ByteBudget(32 * MIB)
    room = FetchRoom(budget)
    budget.take(31 * MIB)
    assert not room.is_short
    budget.take(1)
    assert room.is_short
    budget.give_back(1)
    waits = Claim(2 * MIB, lambda: None)
    assert not budget.claim(waits)
    assert room.is_short
    budget.give_up(waits)
    assert not room.is_short


def test_who_holds_a_byte_is_wanted_while_others_wait_and_who_holds_none_is_not() -> None:
    budget = ByteBudget(MIB)
    with FetchRoom(budget) as holds, FetchRoom(budget) as holds_nothing:
        holds.hold(1)
        assert not holds.is_wanted
        waits = Claim(MIB, lambda: None)
        assert not budget.claim(waits)
        assert holds.is_wanted
        assert not holds_nothing.is_wanted
        budget.give_up(waits)
        assert not holds.is_wanted


async def test_what_a_fetch_held_is_free_when_it_is_over() -> None:
    budget = ByteBudget(32 * MIB)
    with FetchRoom(budget) as room:
        await room.until_some()
        room.hold(5 * MIB)
        room.hold(-MIB)
        assert budget.held_bytes == 4 * MIB
        assert not room.is_wanted
    assert budget.held_bytes == 0


async def test_a_fetch_without_room_waits_and_the_first_comes_first() -> None:
    budget = ByteBudget(2 * MIB)
    budget.take(2 * MIB)
    served: list[int] = []

    async def fetch(number: int) -> None:
        with FetchRoom(budget) as room:
            await room.until_some()
            served.append(number)

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(fetch(number))
        while budget.waiting_count < 5:  # noqa: ASYNC110 -- a budget has no event for it
            await asyncio.sleep(0)
        assert served == []
        budget.give_back(2 * MIB)
    assert served == [0, 1, 2, 3, 4]
    assert budget.held_bytes == 0


async def test_a_fetch_that_is_cancelled_while_it_waits_holds_up_nobody() -> None:
    budget = ByteBudget(MIB)
    budget.take(MIB)
    with FetchRoom(budget) as room, pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await room.until_some()
    assert budget.waiting_count == 0
    assert budget.held_bytes == MIB


async def test_a_budget_smaller_than_a_batch_serves_one_fetch_at_a_time() -> None:
    budget = ByteBudget(1000)
    with FetchRoom(budget) as room:
        await room.until_some()
        room.hold(FIRST_BYTES)
        assert FetchRoom(budget).is_short


async def test_who_holds_less_makes_room_for_those_who_wait() -> None:
    budget = ByteBudget(2 * MIB)
    with FetchRoom(budget) as holds, FetchRoom(budget) as waits:
        holds.hold(2 * MIB)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(waits.until_some())
            for _ in range(3):
                await asyncio.sleep(0)
            assert not waiting.done()
            holds.hold(-MIB)
        assert budget.held_bytes == MIB


async def test_a_fetch_that_is_cancelled_just_as_there_is_room_takes_none() -> None:
    budget = ByteBudget(MIB)
    budget.take(MIB)
    with FetchRoom(budget) as room:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(room.until_some())
            while not budget.waiting_count:  # noqa: ASYNC110 -- a budget has no event for it
                await asyncio.sleep(0)
            waiting.cancel()
            budget.give_back(MIB)
    assert (budget.held_bytes, budget.waiting_count) == (0, 0)
