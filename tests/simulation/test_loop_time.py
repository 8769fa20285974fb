"""Times of the loop in microseconds."""

from __future__ import annotations

import asyncio

from simulation.loop_time import loop_now_us, loop_us


def test_a_time_of_the_loop_is_told_in_whole_microseconds() -> None:
    assert loop_us(1.5) == 1_500_000


async def test_now_is_what_the_running_loop_says() -> None:
    loop = asyncio.get_running_loop()
    before_us = loop_us(loop.time())
    assert before_us <= loop_now_us() <= loop_us(loop.time())
