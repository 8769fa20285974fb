"""News of ACLs."""

from __future__ import annotations

import asyncio

from broker.zookeeper.folder_changes import FolderChanges
from protocol.zookeeper.paths import ACL_CHANGES
from tests.protocol.zookeeper_client.fake_zookeeper import FakeZookeeper


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_changes_are_told_from_the_first_look_on_and_after_a_lost_connection() -> None:
    zookeeper, told = FakeZookeeper(), list[str]()
    changes = FolderChanges(zookeeper, "ACLs", ACL_CHANGES)
    changes.told = lambda: told.append("told")
    literal, extended = ACL_CHANGES
    zookeeper.start()
    zookeeper.server.put(literal, b"")
    zookeeper.put_sequential(f"{literal}/acl_changes_", b"Topic:before")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(changes.run())
        changes.look()
        await settle()
        assert told == []
        zookeeper.put_sequential(f"{literal}/acl_changes_", b"Topic:t")
        await settle()
        assert len(told) == 1
        zookeeper.server.put(extended, b"")
        await settle()
        zookeeper.put_sequential(f"{extended}/acl_changes_", b"{}")
        await settle()
        assert len(told) == 2
        zookeeper.lose()
        zookeeper.put_sequential(f"{literal}/acl_changes_", b"Topic:u")
        changes.look()
        await settle()
        assert len(told) == 2
        zookeeper.connect(is_expired=False)
        changes.look()
        await settle()
        assert len(told) == 3
        running.cancel()
