"""Synchronous code that waits in its middle, in virtual time."""

from __future__ import annotations

import asyncio

from simulation.world.loop import SimLoop, run_world
from simulation.world.process import Process
from simulation.world.sim_thread import SimGate, SimThread
from tests.simulation.world.worlds import sim_loop


async def test_the_loop_goes_on_while_a_lane_waits_and_only_one_of_them_runs():
    loop, gate, ran = sim_loop(), SimGate(sim_loop()), list[tuple[float, str]]()

    def code() -> str:
        ran.append((round(loop.time()), "begin"))
        gate.wait(2000)
        ran.append((round(loop.time()), "middle"))
        gate.wait(None)
        ran.append((round(loop.time()), "end"))
        return "result"

    done: asyncio.Future[str] = loop.create_future()
    SimThread(loop, code, done.set_result).go_on()
    ran.append((round(loop.time()), "loop"))
    await asyncio.sleep(5)
    gate.open()
    assert await done == "result"
    assert ran == [(0, "begin"), (0, "loop"), (2, "middle"), (5, "end")]


async def test_an_open_gate_holds_nobody():
    loop, gate = sim_loop(), SimGate(sim_loop())
    gate.open()
    done: asyncio.Future[None] = loop.create_future()
    SimThread(loop, lambda: gate.wait(None), done.set_result).go_on()
    assert done.done()


async def test_a_lane_of_a_dead_process_goes_on_no_more():
    loop, gate, process, ran = sim_loop(), SimGate(sim_loop()), Process("broker-1"), list[int]()

    def code() -> None:
        gate.wait(None)
        ran.append(1)

    lane = process.context().run(SimThread, loop, code, lambda _result: ran.append(2))
    lane.go_on()
    loop.kill(process)
    gate.open()
    await asyncio.sleep(10)
    assert ran == []


def test_the_end_of_a_world_ends_its_lanes():
    ran = list[str]()

    async def main(loop: SimLoop) -> None:
        gate = SimGate(loop)

        def code() -> None:
            try:
                gate.wait(None)
            finally:
                ran.append("ends")
                gate.wait(None)
                ran.append("never")

        SimThread(loop, code, lambda _result: ran.append("done")).go_on()
        assert ran == []

    run_world(1, main)
    assert ran == ["ends"]
