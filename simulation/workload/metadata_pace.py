"""Lets a client of aiokafka ask for metadata no oftener than its `retry.backoff.ms`, as others do.

While a partition has no leader the library asks again as soon as it was answered, a thousand times
a second. Source of the pace: Metadata.java timeToAllowUpdate.
"""

from __future__ import annotations

import asyncio
from typing import Any


# Any: aiokafka has no stubs.
def pace_metadata(client: Any, retry_backoff_ms: int) -> None:
    """Have an ``AIOKafkaClient`` wait between two updates, whoever wants the second one."""
    update, clock = client._metadata_update, asyncio.get_running_loop().time  # noqa: SLF001
    next_s = clock()

    async def update_later(*args: Any) -> bool:
        nonlocal next_s
        if next_s > clock():
            await asyncio.sleep(next_s - clock())
        try:
            return await update(*args)
        finally:
            next_s = clock() + retry_backoff_ms / 1000

    # The library has no setting for it.
    client._metadata_update = update_later  # noqa: SLF001
