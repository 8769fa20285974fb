"""The loop that looks when there may be news."""

from __future__ import annotations

import asyncio

from protocol.zookeeper_client.changes import Changes


class Counted(Changes):
    """Counts its looks; the first one meets no connection."""

    count = 0

    async def tell(self) -> None:
        self.count += 1
        if self.count == 1:
            raise ConnectionError("away")


async def test_it_looks_when_told_once_for_all_and_again_after_a_lost_connection() -> None:
    changes = Counted("settings")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(changes.run())
        for expected in (1, 2):
            changes.look()
            changes.look()
            for _ in range(5):
                await asyncio.sleep(0)
            assert changes.count == expected
        running.cancel()
