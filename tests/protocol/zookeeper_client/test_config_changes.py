"""News of settings."""

from __future__ import annotations

import asyncio

from protocol.zookeeper.paths import CONFIG_CHANGE_PREFIX
from protocol.zookeeper_client.config_changes import ConfigChanges
from tests.protocol.zookeeper_client.fake_zookeeper import FakeZookeeper


async def test_changes_are_told_once_from_the_first_look_on_and_after_a_lost_connection() -> None:
    zookeeper, told = FakeZookeeper(), list[str]()
    changes = ConfigChanges(zookeeper)
    changes.told = told.append

    def change(entity_path: str) -> None:
        body = f'{{"version":2,"entity_path":"{entity_path}"}}'
        zookeeper.put_sequential(CONFIG_CHANGE_PREFIX, body.encode())

    zookeeper.start()
    change("topics/before")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(changes.run())
        changes.look()
        await _settle()
        change("topics/t")
        await _settle()
        zookeeper.lose()
        change("brokers/<default>")
        zookeeper.connect(is_expired=False)
        changes.look()
        await _settle()
        changes.look()
        await _settle()
        running.cancel()
    assert told == ["topics/t", "brokers/<default>"]


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)
