"""A controller's alarm rings once, at the earliest of its deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from controller.alarm import Alarm
from simulation.world.loop import SimLoop, run_world


async def until(loop: SimLoop, at_s: float) -> None:
    over = asyncio.Event()
    loop.call_at(at_s, over.set)
    await over.wait()


def test_it_rings_once_at_the_earliest_deadline():
    async def main(loop: SimLoop) -> None:
        rung: list[float] = []
        alarm = Alarm(lambda: rung.append(loop.time()))
        for due_ms in (3_000, 2_000, 4_000):
            alarm.ring_by(due_ms)
        await until(loop, 10)
        assert rung == [2.0]
        alarm.ring_by(11_000)
        alarm.silence()
        alarm.silence()
        await until(loop, 20)
        assert rung == [2.0]

    run_world(1, main)


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_deadline_that_is_over_is_moved_forward_and_rung_on_every_loop(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
):
    async def main() -> None:
        rung = asyncio.Event()
        alarm = Alarm(rung.set)
        now_ms = int(asyncio.get_running_loop().time() * 1000)
        for due_ms in (now_ms + 60_000, now_ms - 1, now_ms - 2, now_ms - 1):
            alarm.ring_by(due_ms)
        await rung.wait()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())
