"""Handles of a virtual loop: what asyncio and its users may do with them."""

from __future__ import annotations

import asyncio

from simulation.world.loop import SimLoop, run_world


def test_a_timer_tells_when_it_is_due():
    async def main(loop: SimLoop) -> None:
        timer = loop.call_at(2.5, print)
        assert timer.when() == 2.5
        assert not timer.cancelled()

    run_world(1, main)


def test_what_is_cancelled_never_runs_and_holds_nothing():
    async def main(loop: SimLoop) -> None:
        ran: list[str] = []
        handles = [loop.call_soon(ran.append, "soon"), loop.call_later(1, ran.append, "later")]
        for handle in handles * 2:
            handle.cancel()
            assert handle.cancelled()
        assert loop.timers_cancelled == 1
        await asyncio.sleep(2)
        assert ran == []
        assert loop.timers_cancelled == 0

    run_world(1, main)


def test_a_timer_cancelled_after_it_ran_is_not_counted():
    async def main(loop: SimLoop) -> None:
        timer = loop.call_later(1, list[int])
        await asyncio.sleep(2)
        timer.cancel()
        assert loop.timers_cancelled == 0

    run_world(1, main)


def test_an_error_is_told_with_the_name_of_what_raised():
    told: list[str] = []

    def fail() -> None:
        raise ZeroDivisionError

    async def main(loop: SimLoop) -> None:
        loop.set_exception_handler(lambda _, context: told.append(str(context["message"])))
        loop.call_soon(fail)
        await asyncio.sleep(1)

    run_world(1, main)
    assert len(told) == 1
    assert "fail" in told[0]
