"""Virtual time, turns and processes that are held or ended."""

from __future__ import annotations

import asyncio

import pytest

from simulation.world.loop import SimLoop, run_world
from simulation.world.process import CURRENT, Process
from simulation.world.virtual_loop import DeadlockError, StepLimitError
from tests.simulation.world.worlds import sim_loop, spawn


async def test_a_sleep_takes_its_time_and_hardly_more():
    loop = sim_loop()
    before_us = loop.now_us
    await asyncio.sleep(3600)
    assert 3_600_000_000 <= loop.now_us - before_us < 3_600_000_010


async def test_a_timer_never_comes_too_early():
    loop = sim_loop()
    due_s = loop.time() + 0.1 + 0.2
    fired: asyncio.Future[float] = loop.create_future()
    loop.call_at(due_s, lambda: fired.set_result(loop.time()))
    assert due_s <= await fired < due_s + 0.000_002


async def test_time_passes_for_one_that_never_waits():
    loop = sim_loop()
    due_s = loop.time() + 0.001
    while loop.time() < due_s:  # noqa: ASYNC110 -- that is what is shown
        await asyncio.sleep(0)


async def test_callbacks_of_one_process_run_in_their_order():
    ran: list[int] = []
    for number in range(20):
        sim_loop().call_soon(ran.append, number)
    await asyncio.sleep(0.001)
    assert ran == list(range(20))


def who_runs(seed: int) -> str:
    """Two processes count side by side."""
    ran: list[str] = []

    async def count(name: str) -> None:
        for _ in range(20):
            ran.append(name)
            await asyncio.sleep(0)

    async def main(loop: SimLoop) -> str:
        tasks = [
            loop.create_task(count(name), context=Process(name).context()) for name in ("a", "b")
        ]
        for task in tasks:
            await task
        return "".join(ran)

    return run_world(seed, main)


def test_chance_decides_which_process_runs_next():
    assert who_runs(1) == who_runs(1)
    assert len({who_runs(seed) for seed in range(4)}) == 4


async def test_a_slow_process_takes_longer_per_step_and_holds_nobody_up():
    slow, quick = Process("slow", step_us=1000), Process("quick")

    async def steps() -> float:
        for _ in range(10):
            await asyncio.sleep(0)
        return sim_loop().time()

    slow_task, quick_task = spawn(slow, steps()), spawn(quick, steps())
    assert await quick_task < 0.001
    assert await slow_task >= 0.010


async def test_a_paused_process_runs_nothing_until_it_goes_on_and_then_all_of_it():
    loop, process, ran = sim_loop(), Process("broker-1"), list[int]()
    context = process.context()
    loop.call_soon(ran.append, 1, context=context)
    loop.call_later(1, ran.append, 2, context=context)
    loop.pause(process)
    await asyncio.sleep(5)
    assert ran == []
    loop.resume(process)
    await asyncio.sleep(0.001)
    assert ran == [1, 2]


async def test_a_process_that_is_not_paused_goes_on_as_it_did():
    loop, process, ran = sim_loop(), Process("broker-1"), list[int]()
    loop.call_soon(ran.append, 1, context=process.context())
    loop.resume(process)
    await asyncio.sleep(0.001)
    assert ran == [1]


async def test_a_killed_process_runs_nothing_any_more_not_even_its_end():
    loop, process, ran = sim_loop(), Process("broker-1"), list[str]()

    async def work() -> None:
        try:
            await asyncio.sleep(1)
        finally:
            ran.append("finally")

    spawn(process, work())
    loop.call_later(1, ran.append, "timer", context=process.context())
    await asyncio.sleep(0.5)
    loop.kill(process)
    loop.call_soon(ran.append, "later", context=process.context())
    await asyncio.sleep(5)
    assert ran == []


async def test_a_process_that_is_killed_before_its_first_step_is_not_complained_of():
    """Seed 690226: nothing but that step held its task, which was lost while it waited."""
    loop, process = sim_loop(), Process("broker-1")
    spawn(process, asyncio.sleep(1))
    loop.kill(process)
    await asyncio.sleep(5)
    assert loop.unhandled == []


async def test_children_belong_to_the_process_of_their_parent():
    process = Process("broker-1")

    async def child() -> Process | None:
        return CURRENT.get()

    async def parent() -> Process | None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(child())
        return task.result()

    assert await spawn(process, parent()) is process


async def test_cancelled_timers_do_not_pile_up():
    loop = sim_loop()
    for _ in range(2000):
        loop.call_later(3600, print).cancel()
        await asyncio.sleep(0.001)
    assert loop.timers_count < 1000


def test_a_world_in_which_nothing_can_happen_ends_with_a_list_of_who_waits():
    async def main(loop: SimLoop) -> None:
        await loop.create_future()

    with pytest.raises(DeadlockError, match=r"world: Task-1 waits at .*test_virtual_loop.py"):
        run_world(1, main)


def test_a_world_that_never_ends_is_ended():
    async def main(_loop: SimLoop) -> None:
        while True:  # noqa: ASYNC110 -- that is what is shown
            await asyncio.sleep(1)

    with pytest.raises(StepLimitError, match="steps taken, 100 given"):
        run_world(1, main, steps_max=100)


async def test_an_error_that_nobody_caught_is_noted(caplog: pytest.LogCaptureFixture):
    loop = sim_loop()
    loop.call_soon(lambda: 1 / 0)
    await asyncio.sleep(0.001)
    assert [type(error.context["exception"]) for error in loop.unhandled] == [ZeroDivisionError]
    assert "ZeroDivisionError" in caplog.text
