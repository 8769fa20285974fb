"""The loop of a world: what it takes and what it refuses."""

from __future__ import annotations

import asyncio
import threading

import pytest

from simulation.world.loop import SimLoop, run_world
from simulation.world.refusals import NotSimulatedError
from tests.simulation.world.worlds import sim_loop


async def test_a_thread_must_not_call_into_the_loop():
    loop, refused = sim_loop(), list[Exception]()

    def call() -> None:
        try:
            loop.call_soon_threadsafe(print)
        except NotSimulatedError as error:
            refused.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert len(refused) == 1


async def test_its_own_thread_may_use_the_safe_call():
    ran: list[int] = []
    sim_loop().call_soon_threadsafe(ran.append, 1)
    await asyncio.sleep(0.001)
    assert ran == [1]


def test_what_a_world_leaves_running_is_let_go_in_silence():
    ended: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("closed")
            await asyncio.sleep(1)

    async def main(loop: SimLoop) -> asyncio.Task[None]:
        task = loop.create_task(forever())
        await asyncio.sleep(1)
        return task

    run_world(1, main)
    assert ended == ["closed"]


def test_the_result_of_a_world_is_that_of_its_main():
    async def main(loop: SimLoop) -> float:
        await asyncio.sleep(1)
        return loop.time()

    assert run_world(1, main) == pytest.approx(1.0, abs=0.001)
