"""One log dir: its probe, its two threads and their one failure."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from broker.core.log_dirs import LogDirFailed
from broker.storage.disk import FileDisk
from broker.storage.faults import FaultyDisk
from broker.storage.log_dir import PROBE_FILE, DirWorkers, LogDir
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.worker import ThreadDiskWorker
from protocol.faults.model import FileClass, Operation
from protocol.ports import Disk
from tests.broker.storage.builders import (
    Config,
    Failures,
    batch,
    faulty,
    inline_log_dir,
    offsets_read,
)
from tests.deadlines import DEADLINE_S


def made_log(log_dir: LogDir) -> PartitionLog:
    return PartitionLog.create(log_dir.queue.files, "orders-0", Config(), now_ms=0)


def two_threads(root: Path, failures: Failures, deadline_ms: int = 10_000) -> LogDir:
    """A log dir on real files, each of its queues with a thread."""
    loop = asyncio.get_running_loop()
    disk = faulty(FileDisk(str(root)))
    disk.prepare()
    return LogDir(
        path=str(root),
        disk=disk,
        workers=DirWorkers(ThreadDiskWorker("first", loop), ThreadDiskWorker("beside", loop)),
        deadline_ms=deadline_ms,
        queue_depth_max=10,
        on_failed=failures,
    )


def faults_of(log_dir: LogDir) -> FaultyDisk:
    assert isinstance(log_dir.disk, FaultyDisk)
    return log_dir.disk


def disks_that_vanish(tmp_path: Path) -> list[tuple[Disk, Callable[[], None]]]:
    renamed = FileDisk(str(tmp_path / "d1"))
    replaced = FileDisk(str(tmp_path / "d2"))

    def replace() -> None:
        (tmp_path / "d2").rename(tmp_path / "gone2")
        (tmp_path / "d2").write_bytes(b"")

    memory = MemoryDisk()
    return [
        (renamed, lambda: (tmp_path / "d1").rename(tmp_path / "gone1") and None),
        (replaced, replace),
        (memory, memory.detach),
    ]


async def test_a_probe_notices_a_dir_whose_open_files_still_work(tmp_path: Path) -> None:
    for disk, vanish in disks_that_vanish(tmp_path):
        disk.prepare()
        log_dir = inline_log_dir(disk)
        log = made_log(log_dir)
        await log_dir.queue.submit_append(log, [batch(0)], 0)
        await log_dir.probe()
        assert PROBE_FILE in disk.list_dir("")
        vanish()
        assert await log_dir.queue.submit_append(log, [batch(1)], 0) == 2
        with pytest.raises(LogDirFailed, match="probe"):
            await log_dir.probe()
        assert not log_dir.is_online


async def test_a_probe_under_way_is_not_queued_twice() -> None:
    log_dir = inline_log_dir(MemoryDisk())
    probe = log_dir.probe()
    assert log_dir.probe() is probe
    assert (await probe).unsynced_count == 0
    assert log_dir.probe() is not probe


async def test_a_probe_of_an_idle_log_dir_is_one_job() -> None:
    log_dir = inline_log_dir(MemoryDisk())
    await log_dir.probe()
    await log_dir.queue.submit("look", lambda: None)
    assert log_dir.queue.jobs_count == 2


async def test_late_small_files_are_synced_behind_a_probe() -> None:
    disk = MemoryDisk()
    log_dir = inline_log_dir(disk)
    log_dir.queue.files.replace("small", b"content")
    log_dir.queue.files.replace("other", b"more")
    assert (await log_dir.probe()).unsynced_count == 2
    async with asyncio.timeout(DEADLINE_S):
        while log_dir.queue.files.unsynced_count:
            await log_dir.queue.submit("look", lambda: None)
    disk.power_cut()
    assert disk.read_file("small") == b"content"
    assert disk.read_file("other") == b"more"


async def test_appends_go_between_the_syncs_of_late_small_files() -> None:
    log_dir = inline_log_dir(MemoryDisk())
    log = made_log(log_dir)
    log_dir.queue.files.sync_replaced()
    for number in range(5):
        log_dir.queue.files.replace(f"small-{number}", b"content")
    await log_dir.probe()
    left: list[int] = []
    for number in range(4):
        await log_dir.queue.submit_append(log, [batch(number)], 0)
        left.append(log_dir.queue.files.unsynced_count)
    assert left == sorted(left, reverse=True)
    assert all(before - after <= 1 for before, after in itertools.pairwise([5, *left]))


async def test_a_probe_syncs_no_more_late_small_files_than_it_may() -> None:
    log_dir = inline_log_dir(MemoryDisk())
    for number in range(20):
        log_dir.queue.files.replace(f"small-{number}", b"content")
    await log_dir.probe()
    for _ in range(20):
        await log_dir.queue.submit("look", lambda: None)
    assert log_dir.queue.files.unsynced_count == 4


async def test_a_late_small_file_that_cannot_be_synced_fails_the_log_dir() -> None:
    disk, failures = MemoryDisk(), Failures()
    log_dir = inline_log_dir(disk, on_failed=failures)
    for name in ("small", "other"):
        log_dir.queue.files.replace(name, b"content")
    disk.remove("small")
    await log_dir.probe()
    with contextlib.suppress(LogDirFailed):
        for _ in range(2):
            await log_dir.queue.submit("look", lambda: None)
    assert [failure.operation for failure in failures.seen] == ["sync"]


async def test_the_thread_of_a_failed_dir_closes_its_files_and_drops_the_lock(
    tmp_path: Path,
) -> None:
    loop = asyncio.get_running_loop()
    disk, failures = FileDisk(str(tmp_path)), Failures()
    workers = DirWorkers(ThreadDiskWorker("d1", loop), ThreadDiskWorker("d1", loop))
    log_dir = LogDir(
        path=str(tmp_path),
        disk=disk,
        workers=workers,
        deadline_ms=10_000,
        queue_depth_max=4,
        on_failed=failures,
    )
    await log_dir.queue.submit("open", disk.prepare)
    await log_dir.queue.submit("lock", disk.lock)
    log_dir.fail("test", OSError(5, "broken"))
    async with asyncio.timeout(DEADLINE_S):
        await log_dir.released.wait()
    other = FileDisk(str(tmp_path))
    other.lock()
    other.unlock()


async def test_clients_do_not_wait_for_what_goes_on_beside(tmp_path: Path) -> None:
    log_dir = two_threads(tmp_path, Failures())
    log = await log_dir.queue.submit("create", lambda: made_log(log_dir))
    faults_of(log_dir).set_fault("hang", operations=(Operation.SYNC,))
    synced = log_dir.background_queue.submit(
        "sync", lambda: log_dir.background_queue.disk.sync_dir("")
    )
    async with asyncio.timeout(DEADLINE_S):
        for number in range(20):
            await log_dir.queue.submit_append(log, [batch(number)], 0)
    assert not synced.done()
    faults_of(log_dir).clear()
    async with asyncio.timeout(DEADLINE_S):
        await synced
        await log_dir.close()


@pytest.mark.parametrize("is_beside", [False, True], ids=["first", "beside"])
async def test_a_failure_in_either_queue_ends_both_once(tmp_path: Path, *, is_beside: bool) -> None:
    failures = Failures()
    log_dir = two_threads(tmp_path, failures)
    queues = [log_dir.queue, log_dir.background_queue]

    def broken() -> None:
        raise OSError(5, "bad sector")

    lost = [queue.submit("wait", lambda: None) for queue in queues]
    lost.append(queues[is_beside].submit("write", broken))
    lost += [queue.submit("wait", lambda: None) for queue in queues]
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(LogDirFailed, match="write"):
            await lost[2]
        await log_dir.released.wait()
    assert [failure.operation for failure in failures.seen] == ["write"]
    for queue in queues:
        with pytest.raises(LogDirFailed):
            queue.submit("more", lambda: None)


@pytest.mark.parametrize("is_beside", [False, True], ids=["first", "beside"])
async def test_a_queue_that_hangs_is_noticed_while_the_other_one_works(
    tmp_path: Path, *, is_beside: bool
) -> None:
    failures = Failures()
    log_dir = two_threads(tmp_path, failures, deadline_ms=200)
    queues = [log_dir.queue, log_dir.background_queue]
    faults_of(log_dir).set_fault("hang", files=(FileClass.SNAPSHOT,))
    hung, other = queues[is_beside], queues[not is_beside]
    hanging = hung.submit("write", lambda: hung.disk.write_file("0.snapshot", b""))
    async with asyncio.timeout(DEADLINE_S):
        while not hanging.done():
            with contextlib.suppress(LogDirFailed):
                await other.submit("write", lambda: other.disk.write_file("a", b""))
    assert isinstance(hanging.exception(), LogDirFailed)
    assert [failure.operation for failure in failures.seen] == ["write"]
    faults_of(log_dir).clear()
    async with asyncio.timeout(DEADLINE_S):
        await log_dir.released.wait()


async def test_the_lock_stays_until_both_threads_have_left(tmp_path: Path) -> None:
    log_dir = two_threads(tmp_path, Failures())
    await log_dir.queue.submit("lock", log_dir.disk.lock)
    faults_of(log_dir).set_fault("hang")
    log_dir.background_queue.submit(
        "write", lambda: log_dir.background_queue.disk.write_file("a", b"")
    )
    await asyncio.sleep(0)
    log_dir.fail("command", OSError(5, "broken"))
    await asyncio.sleep(0)
    with pytest.raises(BlockingIOError):
        FileDisk(str(tmp_path)).lock()
    assert not log_dir.released.is_set()
    faults_of(log_dir).clear()
    async with asyncio.timeout(DEADLINE_S):
        await log_dir.released.wait()
    other = FileDisk(str(tmp_path))
    other.lock()
    other.unlock()


async def test_a_log_that_was_handed_over_goes_on_in_the_other_queue(tmp_path: Path) -> None:
    log_dir = two_threads(tmp_path, Failures())
    background_queue = log_dir.background_queue
    log = await background_queue.submit(
        "create",
        lambda: PartitionLog.create(background_queue.files, "orders-0", Config(), now_ms=0),
    )
    await background_queue.submit_append(log, [batch(0)], 0)
    await background_queue.submit("hand over", lambda: log.hand_over(log_dir.queue.files))
    assert background_queue.files.open_count == 0
    assert await log_dir.queue.submit_append(log, [batch(1)], 0) == 2
    assert await log_dir.queue.submit("read", lambda: offsets_read(log, 0)) == [0, 1]
    await log_dir.close()


async def test_closing_waits_for_both_queues(tmp_path: Path) -> None:
    log_dir = two_threads(tmp_path, Failures())
    last = [queue.submit("a", lambda: 1) for queue in (log_dir.queue, log_dir.background_queue)]
    await log_dir.close()
    assert [future.result() for future in last] == [1, 1]
    with pytest.raises(LogDirFailed, match="closed"):
        log_dir.background_queue.submit("b", lambda: 2)


async def test_what_goes_on_beside_comes_back_in_small_lots(tmp_path: Path) -> None:
    log_dir = two_threads(tmp_path, Failures())
    for queue in (log_dir.queue, log_dir.background_queue):
        last = [queue.submit("a", lambda: 1) for _ in range(100)][-1]
        await last
    assert log_dir.queue.hops_count == 1
    assert log_dir.background_queue.hops_count == 7
    await log_dir.close()
