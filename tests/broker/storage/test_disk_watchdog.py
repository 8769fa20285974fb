"""The watchdog of a disk queue judges the disk, and never the loop that asks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from broker.core.log_dirs import LogDirFailed
from broker.storage.disk_queue import DiskQueue
from broker.storage.memory_disk import MemoryDisk
from tests.broker.engine.virtual_loop import VirtualLoop
from tests.broker.storage.builders import Failures
from tests.broker.storage.test_disk_queue import HeldWorker

DEADLINE_S = 10


class Watched:
    """A queue of a disk that answers when it is told to, on a loop that stalls when told to."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.loop = loop
        self.worker = HeldWorker()
        disk = MemoryDisk()
        self.queue = DiskQueue(
            path=disk.root,
            disk=disk,
            worker=self.worker,
            deadline_ms=DEADLINE_S * 1000,
            queue_depth_max=4,
            on_failed=Failures(),
        )

    def stall(self, seconds: float) -> None:
        """Spend time in a callback, as a loop does that is kept by something else."""
        self.loop.now_s += seconds


def on_virtual_time(story: Callable[[Watched], Awaitable[None]]) -> None:
    async def tell() -> None:
        await story(Watched())

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(tell())


def test_a_disk_that_hangs_fails_at_the_deadline() -> None:
    async def story(watched: Watched) -> None:
        hung = watched.queue.submit("append", lambda: 1)
        began_s = watched.loop.time()
        with pytest.raises(LogDirFailed, match="no answer from the disk for 10000 ms"):
            await hung
        assert watched.loop.time() - began_s == DEADLINE_S

    on_virtual_time(story)


@pytest.mark.parametrize("stalled_s", [DEADLINE_S, 10 * DEADLINE_S])
def test_a_loop_that_stood_still_is_no_disk_that_hangs(stalled_s: int) -> None:
    async def story(watched: Watched) -> None:
        job = watched.queue.submit("append", lambda: 1)
        await asyncio.sleep(0.1)
        watched.stall(stalled_s)
        await asyncio.sleep(0.1)
        assert watched.queue.is_online
        assert watched.queue.standing_ms() < 5_000
        watched.worker.finish()
        assert await job == 1

    on_virtual_time(story)


def test_an_answer_that_waits_behind_the_watchdog_is_heard_first() -> None:
    async def story(watched: Watched) -> None:
        job = watched.queue.submit("append", lambda: 1)
        await asyncio.sleep(DEADLINE_S - 0.1)
        watched.stall(0.2)
        watched.loop.call_later(0, watched.worker.finish)
        assert await job == 1
        assert watched.queue.is_online

    on_virtual_time(story)


def test_a_new_job_that_begins_behind_the_watchdog_has_its_own_deadline() -> None:
    async def story(watched: Watched) -> None:
        first = watched.queue.submit("append", lambda: 1)
        await asyncio.sleep(DEADLINE_S - 0.1)
        hung = watched.queue.submit("append", lambda: 2)
        watched.stall(0.2)
        watched.loop.call_later(0, watched.worker.finish)
        assert await first == 1
        began_s = watched.loop.time()
        with pytest.raises(LogDirFailed):
            await hung
        assert watched.loop.time() - began_s >= DEADLINE_S

    on_virtual_time(story)


def test_a_disk_that_hangs_under_a_loop_that_stalls_again_and_again_fails_too() -> None:
    async def story(watched: Watched) -> None:
        hung = watched.queue.submit("append", lambda: 1)
        for _ in range(20):
            await asyncio.sleep(0.1)
            watched.stall(DEADLINE_S)
        assert not watched.queue.is_online
        with pytest.raises(LogDirFailed):
            await hung

    on_virtual_time(story)
