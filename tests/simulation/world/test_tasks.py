"""Tasks are the same in every run, and end in silence."""

from __future__ import annotations

import asyncio

from simulation.world.process import Process
from simulation.world.tasks import close_abandoned, describe_tasks
from tests.simulation.world.worlds import sim_loop, spawn


async def test_tasks_are_numbered_and_sets_of_them_follow_the_numbers():
    tasks = [sim_loop().create_task(asyncio.sleep(0)) for _ in range(5)]
    mixed = [tasks[3], tasks[0], tasks[4], tasks[2], tasks[1]]
    assert list(set(mixed)) == sorted(tasks, key=hash)
    assert tasks[0].get_name().startswith("Task-")
    for task in tasks:
        await task


async def test_a_group_cancels_in_the_order_of_beginning():
    ended: list[int] = []

    async def wait(number: int) -> None:
        try:
            await asyncio.sleep(1)
        finally:
            ended.append(number)

    async def fail() -> None:
        raise ValueError

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(5):
                group.create_task(wait(number))
            group.create_task(fail())
    except* ValueError:
        pass
    assert ended == [0, 1, 2, 3, 4]


async def test_a_buried_task_says_nothing_even_when_its_code_resists():
    loop, process = sim_loop(), Process("broker-1")

    async def resist() -> None:
        while True:
            try:
                await asyncio.sleep(1)
            finally:
                await asyncio.sleep(1)

    task = loop.create_task(resist(), context=process.context())
    await asyncio.sleep(0.1)
    loop.kill(process)
    close_abandoned(task)


async def test_the_unfinished_are_described_with_the_line_where_they_wait():
    task = spawn(Process("broker-1"), asyncio.sleep(1))
    await asyncio.sleep(0.1)
    assert f"broker-1: {task.get_name()} waits at " in describe_tasks(sim_loop())
    await task
