"""Everybody who listens hears every event once, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from jbodlab.http_api.core.bodies import Event
from jbodlab.http_api.core.snapshot import Snapshot
from jbodlab.http_api.feed import Feed
from tests.jbodlab.http_api.snapshots import WHOLE, partition

ELECTED = replace(WHOLE, partitions=(partition(leader=2, epoch=4),))


def looks(*snapshots: Snapshot) -> Callable[[], Awaitable[Snapshot]]:
    """Show these in turn."""
    left = list(snapshots)

    async def look() -> Snapshot:
        return left.pop(0)

    return look


async def test_who_comes_back_hears_what_was_missed() -> None:
    feed = Feed(looks(WHOLE, ELECTED, WHOLE))
    for _ in range(3):
        await feed.snapshot()
    assert feed.last_id > 0
    heard = feed.events(after_id=0)
    first = await anext(heard)
    assert first is not None
    assert (first.id, first.change.kind, first.change.new) == (1, "leader_changed", 2)
    again = await anext(feed.events(after_id=0))
    assert again == first


async def test_a_listener_hears_of_every_look_even_when_nothing_happened() -> None:
    feed = Feed(looks(WHOLE, WHOLE))
    await feed.snapshot()
    async with asyncio.TaskGroup() as tasks:
        heard = tasks.create_task(next_of(feed))
        await _asleep(heard)
        await feed.snapshot()
    assert heard.result() is None


async def test_listeners_leave_when_the_server_ends() -> None:
    feed = Feed(looks())
    feed.is_closed = True
    assert [each async for each in feed.events(after_id=0)] == []


async def next_of(feed: Feed) -> Event | None:
    return await anext(feed.events(after_id=feed.last_id))


async def _asleep(task: asyncio.Task[Event | None]) -> None:
    """Let a task run until it waits."""
    for _ in range(5):
        assert not task.done()
        await asyncio.sleep(0)
