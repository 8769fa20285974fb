"""A loop with a defect begins again."""

from __future__ import annotations

import asyncio

import pytest

from broker.engine.supervise import supervised


@pytest.fixture
def loops_go_on() -> None:
    """Let loops fail here."""


async def test_a_loop_that_raises_begins_again_a_second_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs: list[float] = []

    async def loop() -> None:
        runs.append(asyncio.get_running_loop().time())
        raise ValueError("defect")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(supervised("tested", loop))
        await asyncio.sleep(2.5)
        task.cancel()
    assert [round(at - runs[0], 3) for at in runs] == [0, 1, 2]
    assert "tested failed" in caplog.text


@pytest.mark.parametrize("is_grouped", [False, True])
async def test_what_is_meant_to_end_the_process_does(is_grouped: bool) -> None:
    async def loop() -> None:
        error = KeyError("the end")
        raise ExceptionGroup("group", [error]) if is_grouped else error

    with pytest.raises(ExceptionGroup if is_grouped else KeyError):
        await supervised("tested", loop, ending=KeyError)
