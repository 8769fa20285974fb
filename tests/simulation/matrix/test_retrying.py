"""Retrying ends, in virtual time."""

from __future__ import annotations

import asyncio

from protocol.errors import ErrorCode
from simulation.matrix.retrying import PATIENCE_S, Retrying
from simulation.world.loop import SimLoop


def retrying() -> Retrying:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    return Retrying(loop)


async def test_what_comes_is_waited_for_and_what_does_not_is_given_up() -> None:
    waiting = retrying()
    looks: list[int] = []

    def is_there() -> bool:
        looks.append(1)
        return len(looks) == 3

    assert await waiting.until(is_there)
    before_s = waiting.loop.time()
    assert not await waiting.until(lambda: False)
    assert PATIENCE_S <= waiting.loop.time() - before_s < PATIENCE_S + 0.1


async def test_an_order_is_given_until_it_is_answered() -> None:
    answers: list[ErrorCode | OSError] = [
        ConnectionError("nobody there"),
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ]

    async def ask() -> ErrorCode:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    assert await retrying().order(ask)
    assert answers == [ErrorCode.NONE]


async def test_an_answer_that_is_final_without_success_is_no_success() -> None:
    async def ask() -> ErrorCode:
        return ErrorCode.LOG_DIR_NOT_FOUND

    assert not await retrying().order(ask, (ErrorCode.NONE, ErrorCode.LOG_DIR_NOT_FOUND))
