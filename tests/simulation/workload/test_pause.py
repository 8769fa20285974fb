from __future__ import annotations

import asyncio

from simulation.workload.pause import pause


async def test_a_pause_lasts_as_long_as_it_was_asked_for() -> None:
    loop = asyncio.get_running_loop()
    began_s = loop.time()

    await pause(asyncio.Event(), 1500)

    assert 1.5 <= loop.time() - began_s < 1.6


async def test_a_pause_ends_when_the_workload_is_stopped() -> None:
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    loop.call_later(0.2, stopping.set)
    began_s = loop.time()

    await pause(stopping, 1500)

    assert 0.2 <= loop.time() - began_s < 0.3
