"""LogDir: one disk, one failure, and two threads that share no open file.

What clients wait for has a queue of its own; beside it goes what takes long and what nobody waits
for: future logs, from their first file to the swap, and the removal of the logs they replace. So a
sync of what a move copied stands in nobody's way. A log belongs to one of the two threads at a
time (`PartitionLog.hand_over`); what the other reads of it, it opens for itself (`log_extents`).
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final, NamedTuple

from broker.core.log_dirs import LogDirFailed
from broker.storage.disk_queue import DiskQueue
from broker.storage.files import LogDirFiles
from protocol.ids import ZERO_UUID
from protocol.ports import Disk, DiskWorker

PROBE_FILE: Final = ".probe"
"""Written by ``LogDir.probe`` in the root; the loader ignores plain files, Kafka's as ours."""

_SYNCS_PER_PROBE_MAX: Final = 16
"""Late small files; the others wait for the next probe."""


class Probed(NamedTuple):
    """What a probe saw."""

    unsynced_count: int
    """Small files that wait for their sync."""
    names: list[str]
    """What lies in the root."""


class LogDir(DiskQueue):
    """One log dir: the queue that clients wait for, and ``beside`` it another one.

    The first failure in either ends both.
    """

    def __init__(
        self,
        *,
        path: str,
        disk: Disk,
        worker: DiskWorker,
        deadline_ms: int,
        queue_depth_max: int,
        on_failed: Callable[[LogDirFailed], None],
    ) -> None:
        """One thread does everything, unless ``work_beside`` gives it a second one."""
        super().__init__(
            path=path,
            disk=disk,
            worker=worker,
            deadline_ms=deadline_ms,
            queue_depth_max=queue_depth_max,
            on_failed=on_failed,
        )
        self.directory_id: bytes = ZERO_UUID
        """Set when ``meta.properties`` was read."""
        self.released = asyncio.Event()
        """Set when a failed dir holds no file and no lock any more; never while its disk hangs."""
        self.beside: DiskQueue = self
        """The queue of future logs, and of logs that were replaced."""
        self._threads_count = 1
        self._leaving = itertools.count(1)
        self._left_count = 0
        self._probe: asyncio.Future[Probed] | None = None
        self._late_sync: asyncio.Future[int] | None = None

    def work_beside(self, disk: Disk, worker: DiskWorker) -> None:
        """Take a second thread, before any work.

        ``disk`` is the same one with a count of operations of its own, or the watchdogs of the
        threads would take each other's for theirs.
        """
        assert self.beside is self, f"{self.path} has two threads already"
        self.beside = _BesideQueue(self, disk, worker)
        self._threads_count = 2

    def fail(self, operation: str, cause: BaseException) -> None:
        """Take the dir offline, once; later calls change nothing."""
        super().fail(operation, cause)
        if self.beside is not self:
            self.beside.fail(operation, cause)

    def probe(self) -> asyncio.Future[Probed]:
        """Check that the path still leads to this directory and that it can be written.

        Small files that wait for their sync get it behind the probe, each in a job of its own. One
        that is under way is not followed by another one.

        Run it every few seconds and after suspicion: open descriptors keep working in a dir that
        was renamed away.
        """
        if self._probe is None or self._probe.done():
            self._probe = self.submit("probe", self._run_probe)
            self._probe.add_done_callback(self._on_probed)
        return self._probe

    async def close(self) -> None:
        """Wait for all queued work, then end the workers. Nothing to do after a failure."""
        if self.beside is not self:
            await self.beside.close()
        await super().close()

    def thread_leaves(self, files: LogDirFiles) -> None:
        """Close what one thread has open, on that thread; the last one drops the lock."""
        files.close_all()
        if next(self._leaving) == self._threads_count:
            self.disk.drop_lock()

    def thread_left(self) -> None:
        """Count a thread that holds nothing any more."""
        self._left_count += 1
        if self._left_count == self._threads_count:
            self.released.set()

    def _leave(self) -> None:
        self.thread_leaves(self.files)

    def _left(self) -> None:
        self.thread_left()

    def _run_probe(self) -> Probed:
        self.disk.check_root()
        self.disk.write_atomic(PROBE_FILE, b"")
        return Probed(self.files.unsynced_count, self.disk.list_dir(""))

    def _on_probed(self, probe: asyncio.Future[Probed]) -> None:
        if self.online and self._late_sync is None and probe.result().unsynced_count:
            self._sync_late(_SYNCS_PER_PROBE_MAX)

    def _sync_late(self, count_max: int) -> None:
        """Sync one late small file, then the next: what clients wait for goes between.

        The files are synced here, not beside: their logs may rename or remove them.
        """
        self._late_sync = self.submit("sync", partial(self.files.sync_replaced, count_max=1))
        self._late_sync.add_done_callback(partial(self._on_late_synced, count_max - 1))

    def _on_late_synced(self, count_max: int, synced: asyncio.Future[int]) -> None:
        self._late_sync = None
        if self.online and count_max and synced.result():
            self._sync_late(count_max)


class _BesideQueue(DiskQueue):
    """The second queue of a log dir, which shares its failure.

    Its hops are short, so that the loop has little to do at once when one ends.
    """

    jobs_per_hop_max: ClassVar = 16

    def __init__(self, log_dir: LogDir, disk: Disk, worker: DiskWorker) -> None:
        super().__init__(
            path=log_dir.path,
            disk=disk,
            worker=worker,
            deadline_ms=log_dir.deadline_ms,
            queue_depth_max=log_dir.queue_depth_max,
            on_failed=lambda failure: log_dir.fail(failure.operation, failure.cause),
        )
        self._log_dir = log_dir

    def _leave(self) -> None:
        self._log_dir.thread_leaves(self.files)

    def _left(self) -> None:
        self._log_dir.thread_left()
