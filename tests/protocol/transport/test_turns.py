from __future__ import annotations

import asyncio
import gc
from collections.abc import Generator

from protocol.transport.turns import Turns


async def test_two_large_works_take_turns_and_others_come_between_any_two_steps() -> None:
    turns = Turns()
    done: list[str] = []

    def steps(name: str) -> Generator[None, None, str]:
        for _ in range(3):
            done.append(name)
            yield
        return name

    async def other() -> None:
        for _ in range(8):
            done.append("other")
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        first = group.create_task(turns.run(steps("a")))
        group.create_task(turns.run(steps("b")))
        group.create_task(other())
    assert first.result() == "a"
    assert [name for name in done if name != "other"] == ["a", "b"] * 3
    steps_at = [index for index, name in enumerate(done) if name != "other"][2:]
    assert all(done[index - 1] == "other" for index in steps_at)


async def test_who_is_cancelled_while_it_waits_keeps_nobody_from_their_turn() -> None:
    turns = Turns()
    gone = asyncio.create_task(turns.next())  # noqa: TID251 - cancelled by hand
    waits = asyncio.create_task(turns.next())  # noqa: TID251 - outlives the one before it
    await asyncio.sleep(0)
    gone.cancel()
    async with asyncio.timeout(10):
        await waits


def test_no_garbage_is_collected_during_large_works() -> None:
    turns = Turns()
    assert gc.isenabled()
    with turns:
        assert not gc.isenabled()
        with turns:
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


async def test_a_list_that_is_dropped_is_empty() -> None:
    items: list[object] = [object() for _ in range(2000)]
    await Turns().drop(items)
    assert items == []
