"""The queue of one thread: order, group commit, back-pressure, watchdog, and the one failure."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from broker.core.log_dirs import LogDirFailed
from broker.storage.disk import FileDisk
from broker.storage.log_dir import DirWorkers, LogDir
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.worker import InlineDiskWorker, ThreadDiskWorker
from protocol.errors import KafkaError
from tests.broker.storage.builders import (
    Config,
    Failures,
    batch,
    faulty,
    inline_log_dir,
    offsets_read,
)
from tests.deadlines import DEADLINE_S


class HeldWorker:
    """A worker that runs nothing until it is told to; it shows what shares a hop."""

    def __init__(self) -> None:
        self.hops: list[tuple[Sequence[Callable[[], Any]], Callable[[list[Any]], None]]] = []
        self.abandoned = False

    def run(self, jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        self.hops.append((jobs, done))

    def abandon(
        self,
        last: Callable[[], None] | None = None,
        on_last: Callable[[], None] | None = None,
    ) -> None:
        self.abandoned = True

    def finish(self) -> int:
        jobs, done = self.hops.pop(0)
        done([job() for job in jobs])
        return len(jobs)


def held_log_dir(worker: HeldWorker, failures: Failures | None = None, **options: int) -> LogDir:
    disk = MemoryDisk()
    return LogDir(
        path=disk.root,
        disk=disk,
        workers=DirWorkers(worker, InlineDiskWorker(asyncio.get_running_loop())),
        deadline_ms=options.get("deadline_ms", 1000),
        queue_depth_max=options.get("queue_depth_max", 4),
        on_failed=failures or Failures(),
    )


async def turn() -> None:
    """Let everything that is ready run once."""
    await asyncio.sleep(0)


def broken(number: int = errno.EIO) -> None:
    raise OSError(number, "bad sector")


def made_log(log_dir: LogDir, name: str = "orders-0") -> PartitionLog:
    return PartitionLog.create(log_dir.queue.files, name, Config(), now_ms=0)


class CountingDisk(MemoryDisk):
    """Counts what reaches the files."""

    writes = 0

    def reserve(self, size_bytes: int) -> None:
        self.writes += 1
        super().reserve(size_bytes)


async def test_jobs_end_in_the_order_they_came() -> None:
    log_dir = inline_log_dir()
    seen: list[int] = []
    futures = [
        log_dir.queue.submit("note", lambda n=number: seen.append(n)) for number in range(500)
    ]
    async with asyncio.timeout(DEADLINE_S):
        await futures[-1]
    assert seen == list(range(500))
    assert log_dir.queue.queue_depth == 0
    assert log_dir.queue.jobs_count == 500
    assert 1 < log_dir.queue.hops_count < 10


async def test_jobs_of_one_turn_share_a_hop_and_later_ones_wait_for_the_next() -> None:
    worker = HeldWorker()
    log_dir = held_log_dir(worker)
    first = [log_dir.queue.submit("a", lambda: 1), log_dir.queue.submit("b", lambda: 2)]
    await turn()
    later = log_dir.queue.submit("c", lambda: 3)
    assert worker.finish() == 2
    assert [future.result() for future in first] == [1, 2]
    assert worker.finish() == 1
    assert later.result() == 3


async def test_appends_to_one_log_are_one_write_even_when_logs_take_turns() -> None:
    disk = CountingDisk()
    log_dir = inline_log_dir(disk)
    logs = [made_log(log_dir, "orders-0"), made_log(log_dir, "orders-1")]
    disk.writes = 0
    futures = [
        log_dir.queue.submit_append(log, [batch(offset)], 0) for offset in range(10) for log in logs
    ]
    async with asyncio.timeout(DEADLINE_S):
        ends = [await future for future in futures]
    assert disk.writes == 2
    assert set(ends) == {10}
    assert [offsets_read(log, 0) for log in logs] == [list(range(10))] * 2
    assert log_dir.queue.appends_count == 20
    assert log_dir.queue.appended_bytes == sum(log.size_bytes for log in logs)


async def test_an_append_never_passes_a_job_that_came_before_it() -> None:
    log_dir = inline_log_dir()
    log = made_log(log_dir)
    log_dir.queue.submit_append(log, [batch(0), batch(1)], 0)
    log_dir.queue.submit("truncate", lambda: log.truncate_to(1))
    last = log_dir.queue.submit_append(log, [batch(1, size=7)], 0)
    async with asyncio.timeout(DEADLINE_S):
        assert await last == 2
    assert offsets_read(log, 0) == [0, 1]
    assert log.size_bytes == len(batch(0)) + len(batch(1, size=7))


async def test_an_error_that_is_no_oserror_ends_its_own_job_alone() -> None:
    log_dir = inline_log_dir()
    log = made_log(log_dir)
    with pytest.raises(KafkaError):
        await log_dir.queue.submit("read", lambda: log.read(5, 100))
    assert log_dir.is_online
    assert await log_dir.queue.submit("read", lambda: log.read(0, 100).size_bytes) == 0


@pytest.mark.kafka_bug("KAFKA-6027", "KAFKA-13815")
@pytest.mark.scenario(56, 73, 74, 269)
async def test_the_first_oserror_fails_the_dir_once_and_for_good() -> None:
    failures = Failures()
    log_dir = inline_log_dir(on_failed=failures)
    before = log_dir.queue.submit("fine", lambda: "done")
    bad = log_dir.queue.submit("roll", broken)
    behind = log_dir.queue.submit("behind", lambda: "never")
    with pytest.raises(LogDirFailed) as caught:
        await bad
    assert await before == "done"
    assert (caught.value.log_dir, caught.value.operation) == (log_dir.path, "roll")
    assert isinstance(caught.value.cause, OSError)
    with pytest.raises(LogDirFailed):
        await behind
    with pytest.raises(LogDirFailed, match="append"):
        log_dir.queue.submit_append(made_log(log_dir), [batch(0)], 0)
    with pytest.raises(LogDirFailed):
        await log_dir.queue.wait_for_room()
    log_dir.fail("again", OSError())
    assert len(failures.seen) == 1
    assert not log_dir.is_online
    assert log_dir.queue.queue_depth == log_dir.queue.queued_bytes == 0
    await log_dir.close()


async def test_the_owner_hears_of_the_failure_before_the_lost_work_ends() -> None:
    worker = HeldWorker()
    order: list[str] = []
    log_dir = held_log_dir(worker)

    def hear(_: LogDirFailed) -> None:
        order.append("owner")

    log_dir.on_failed = hear
    lost = [log_dir.queue.submit("running", lambda: 1)]
    await turn()
    lost.append(log_dir.queue.submit("queued", lambda: 2))
    for future in lost:
        future.add_done_callback(lambda _: order.append("work"))
    log_dir.fail("command", OSError())
    await turn()
    assert order == ["owner", "work", "work"]
    assert worker.abandoned
    worker.finish()
    assert all(future.exception() is log_dir.failure for future in lost)


async def test_a_disk_that_does_not_answer_fails_at_the_deadline() -> None:
    failures = Failures()
    worker = HeldWorker()
    log_dir = held_log_dir(worker, failures, deadline_ms=1)
    hung = log_dir.queue.submit("append", lambda: 1)
    with pytest.raises(LogDirFailed, match="no answer from the disk for 1 ms"):
        async with asyncio.timeout(DEADLINE_S):
            await hung
    assert len(failures.seen) == 1


async def test_a_slow_disk_that_moves_is_not_taken_for_a_hanging_one() -> None:
    worker = HeldWorker()
    log_dir = held_log_dir(worker, deadline_ms=40)
    slow = log_dir.queue.submit("load", lambda: 1)
    loop = asyncio.get_running_loop()
    end_s = loop.time() + 0.1
    while loop.time() < end_s:
        log_dir.disk.exists("something")
        await turn()
    assert log_dir.is_online
    worker.finish()
    assert slow.result() == 1


async def test_a_job_without_a_bound_goes_alone_and_has_more_time() -> None:
    worker = HeldWorker()
    log_dir = held_log_dir(worker, deadline_ms=10)
    load = log_dir.queue.submit("load", lambda: "loaded", bounded=False)
    after = log_dir.queue.submit("after", lambda: 1)
    with pytest.raises(LogDirFailed, match="load: no answer from the disk for 100 ms"):
        async with asyncio.timeout(DEADLINE_S):
            await load
    assert worker.finish() == 1
    assert isinstance(after.exception(), LogDirFailed)


async def test_one_hanging_dir_leaves_the_others_alone(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    disks = [faulty(FileDisk(str(tmp_path / name))) for name in ("d1", "d2")]
    failures = Failures()
    log_dirs: list[LogDir] = []
    for disk in disks:
        disk.prepare()
        workers = DirWorkers(ThreadDiskWorker(disk.root, loop), ThreadDiskWorker(disk.root, loop))
        log_dirs.append(
            LogDir(
                path=disk.root,
                disk=disk,
                workers=workers,
                deadline_ms=200,
                queue_depth_max=10,
                on_failed=failures,
            )
        )
    disks[0].set_fault("hang")
    hung = log_dirs[0].queue.submit("append", lambda: disks[0].write_file("a", b""))
    async with asyncio.timeout(DEADLINE_S):
        for _ in range(20):
            await log_dirs[1].queue.submit("append", lambda: disks[1].write_file("a", b""))
        with pytest.raises(LogDirFailed):
            await hung
    assert [failure.log_dir for failure in failures.seen] == [disks[0].root]
    assert log_dirs[1].is_online
    disks[0].clear()
    await log_dirs[1].close()


async def test_clients_wait_for_room_while_the_queue_is_full() -> None:
    worker = HeldWorker()
    log_dir = held_log_dir(worker, queue_depth_max=2)
    for _ in range(2):
        log_dir.queue.submit("a", lambda: 1)
    await turn()
    assert not log_dir.queue.has_room()
    waiters = [asyncio.ensure_future(log_dir.queue.wait_for_room()) for _ in range(3)]  # noqa: TID251
    await turn()
    assert not any(waiter.done() for waiter in waiters)
    worker.finish()
    async with asyncio.timeout(DEADLINE_S):
        for waiter in waiters:
            await waiter


async def test_those_who_wait_for_room_hear_of_the_failure() -> None:
    worker = HeldWorker()
    log_dir = held_log_dir(worker, queue_depth_max=1)
    log_dir.queue.submit("a", lambda: 1)
    waiter = asyncio.ensure_future(log_dir.queue.wait_for_room())  # noqa: TID251
    await turn()
    log_dir.fail("command", OSError())
    with pytest.raises(LogDirFailed):
        await waiter


async def test_queued_bytes_fill_the_queue_as_jobs_do() -> None:
    log_dir = held_log_dir(HeldWorker(), queue_depth_max=1000)
    for _ in range(8):
        log_dir.queue.submit("copy", lambda: 1, size_bytes=8 << 20)
    assert not log_dir.queue.has_room()


async def test_closing_waits_for_the_queue_and_then_refuses_work() -> None:
    log_dir = inline_log_dir()
    last = log_dir.queue.submit("a", lambda: 1)
    await log_dir.close()
    assert last.result() == 1
    with pytest.raises(LogDirFailed, match="closed"):
        log_dir.queue.submit("b", lambda: 2)


async def test_a_job_that_nobody_waits_for_is_run_in_turn_and_dropped_by_an_offline_dir() -> None:
    log_dir = inline_log_dir()
    seen: list[int] = []
    log_dir.queue.submit_quietly("note", lambda: seen.append(1))
    await log_dir.queue.submit("wait", lambda: None)
    log_dir.fail("command", OSError())
    log_dir.queue.submit_quietly("note", lambda: seen.append(2))
    assert seen == [1]
    assert log_dir.queue.queue_depth == 0


async def test_a_cancelled_job_does_not_disturb_the_others() -> None:
    log_dir = inline_log_dir()
    log_dir.queue.submit("a", lambda: 1).cancel()
    assert await log_dir.queue.submit("b", lambda: 2) == 2
    log_dir.queue.submit("c", lambda: 1).cancel()
    log_dir.fail("command", OSError())
