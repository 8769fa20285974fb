"""One move at a time works with a log dir."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from broker.engine.move.move_turns import MoveTurns


def idle() -> int:
    return 0


async def one(turns: MoveTurns, said: list[str], name: str, *paths: str) -> None:
    async with turns.of(*paths):
        said.append(f"{name} begins")
        await asyncio.sleep(0)
        said.append(f"{name} ends")


async def order_of(*moves: tuple[str, ...]) -> list[str]:
    turns, said = MoveTurns(idle), list[str]()
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        for name, *paths in moves:
            tasks.create_task(one(turns, said, name, *paths))
    return said


async def test_moves_that_share_a_log_dir_go_one_after_the_other() -> None:
    said = await order_of(("a", "/d1", "/d2"), ("b", "/d2", "/d3"))
    assert said == ["a begins", "a ends", "b begins", "b ends"]


async def test_moves_between_other_log_dirs_go_at_the_same_time() -> None:
    said = await order_of(("a", "/d1", "/d2"), ("b", "/d3", "/d4"))
    assert said[:2] == ["a begins", "b begins"]


async def test_moves_that_cross_do_not_wait_for_each_other_for_ever() -> None:
    said = await order_of(("a", "/d1", "/d2"), ("b", "/d2", "/d1"), ("c", "/d1", "/d1"))
    assert sorted(said) == ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]


async def test_a_turn_ends_when_its_move_is_cancelled() -> None:
    turns = MoveTurns(idle)
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        held = tasks.create_task(_hold(turns))
        waiting = tasks.create_task(one(turns, said := [], "b", "/d1"))
        await asyncio.sleep(0)
        held.cancel()
        await waiting
    assert said == ["b begins", "b ends"]


def test_a_loop_that_ends_in_the_middle_of_a_turn_says_nothing() -> None:
    """It closes generators; a move that is cancelled after that ended with a RuntimeError."""
    said = list[object]()

    async def end() -> BaseException | None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: said.append(context["message"]))
        held = loop.create_task(_hold(MoveTurns(idle)))
        await asyncio.sleep(0)
        await loop.shutdown_asyncgens()
        held.cancel()
        (ended,) = await asyncio.gather(held, return_exceptions=True)
        return ended

    with asyncio.Runner() as runner:
        assert isinstance(runner.run(end()), asyncio.CancelledError)
    assert not said


async def _hold(turns: MoveTurns) -> None:
    async with turns.of("/d1", "/d2"):
        await asyncio.Event().wait()


@pytest.mark.parametrize(("is_loaded", "rest_s"), [(True, 0.06), (False, 0.0)])
async def test_a_turn_rests_twice_as_long_as_it_worked_while_there_are_appends(
    *, is_loaded: bool, rest_s: float
) -> None:
    appends = itertools.count() if is_loaded else itertools.repeat(7)
    turns, loop = MoveTurns(lambda: next(appends)), asyncio.get_running_loop()
    async with turns.of("/d1"):
        await asyncio.sleep(0.03)
        worked_until_s = loop.time()
    assert loop.time() - worked_until_s == pytest.approx(rest_s)


async def test_nobody_rests_after_an_error() -> None:
    appends = itertools.count()
    turns, loop = MoveTurns(lambda: next(appends)), asyncio.get_running_loop()

    async def fail() -> None:
        async with turns.of("/d1"):
            await asyncio.sleep(0.5)
            raise OSError("broken")

    began_s = loop.time()
    with pytest.raises(OSError, match="broken"):
        await fail()
    assert loop.time() - began_s == pytest.approx(0.5)
