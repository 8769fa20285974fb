"""An alarm rings once, at the earliest of its deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from protocol.transport.alarm import Alarm
from simulation.world.loop import SimLoop, run_world


async def until(loop: SimLoop, at_s: float) -> None:
    over = asyncio.Event()
    loop.call_at(at_s, over.set)
    await over.wait()


def test_it_rings_once_at_the_earliest_deadline():
    async def main(loop: SimLoop) -> None:
        rung: list[float] = []
        alarm = Alarm(lambda: rung.append(loop.time()))
        for due_s in (3, 2, 4):
            alarm.ring_by(due_s)
        assert alarm.is_set
        await until(loop, 10)
        assert rung == [2.0]
        assert not alarm.is_set
        alarm.ring_by(11)
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
        now_s = asyncio.get_running_loop().time()
        for due_s in (now_s + 60, now_s - 1, now_s - 2, now_s - 1):
            alarm.ring_by(due_s)
        await rung.wait()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())
