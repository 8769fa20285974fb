"""The wait between two requests of a workload, which ends early when the workload does."""

from __future__ import annotations

import asyncio


async def pause(stopping: asyncio.Event, for_ms: int) -> None:
    """Wait, but not longer than until ``stopping`` is set."""
    try:
        async with asyncio.timeout(for_ms / 1000):
            await stopping.wait()
    except TimeoutError:
        return
