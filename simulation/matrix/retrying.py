"""Retrying: how those who give orders to a cluster that crashes wait for it, and when they give up.

It knows no order and judges nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

from protocol.errors import ErrorCode, KafkaError, Malformed
from simulation.world.loop import SimLoop

PATIENCE_S: Final = 6
"""Long enough for sessions to end and leaders to be elected; what fails for good is given up."""
_LOOK_AGAIN_S: Final = 0.05
_GIVEN_UP: Final = (
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.LOG_DIR_NOT_FOUND,
    ErrorCode.REPLICA_NOT_AVAILABLE,
)
"""Answers that are final and yet mean that nothing was done."""


class Retrying:
    """Everything is tried again and again, a moment apart, in virtual time."""

    def __init__(self, loop: SimLoop) -> None:
        self.loop = loop

    async def attempts(self) -> AsyncIterator[int]:
        """Count attempts as long as patience lasts."""
        deadline_s = self.loop.time() + PATIENCE_S
        number = 0
        while self.loop.time() < deadline_s:
            yield number
            number += 1
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def until(self, condition: Callable[[], bool]) -> bool:
        """Wait for something; tell whether it came."""
        async for _ in self.attempts():
            if condition():
                return True
        return False

    async def order(
        self,
        ask: Callable[[], Awaitable[ErrorCode]],
        codes: Sequence[ErrorCode] = (ErrorCode.NONE,),
    ) -> bool:
        """Give an order until it is answered with one of ``codes``; tell whether it is done."""
        async for _ in self.attempts():
            try:
                code = await ask()
            except (OSError, Malformed, KafkaError):
                continue
            if code in codes:
                return code not in _GIVEN_UP
        return False
