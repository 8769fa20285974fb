"""Keeps a background loop alive: a defect in one loop is logged and must not end the broker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

logger = logging.getLogger(__name__)

RESTART_S: Final = 1.0


async def supervised(name: str, run: Callable[[], Awaitable[None]]) -> None:
    """Run a loop that ends only by cancellation; begin it anew a second after an exception."""
    while True:
        try:
            await run()
        except Exception:
            logger.exception("%s failed; it begins again in %.0f s", name, RESTART_S)
        await asyncio.sleep(RESTART_S)
