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
_THREADS_COUNT: Final = 2


class Probed(NamedTuple):
    """What a probe saw."""

    unsynced_count: int
    """Small files that wait for their sync."""
    names: list[str]
    """What lies in the root."""


class DirWorkers(NamedTuple):
    """The threads of one log dir."""

    queue: DiskWorker
    """Runs what clients wait for."""
    background_queue: DiskWorker
    elapsed_us: Callable[[], int] | None = None
    """The clock of what jobs take; the loop's by default."""


class LogDir:
    """One log dir: the queue that clients wait for, and a second one, ``background_queue``.

    The first failure in either ends both.
    """

    def __init__(
        self,
        *,
        path: str,
        disk: Disk,
        workers: DirWorkers,
        deadline_ms: int,
        queue_depth_max: int,
        on_failed: Callable[[LogDirFailed], None],
    ) -> None:
        """The threads share no count of operations: each watchdog looks at its own."""
        self.path = path
        self.disk = disk
        self.on_failed = on_failed
        """Called once, on the loop, before the futures of the lost work end."""
        self.deadline_ms = deadline_ms
        self.directory_id: bytes = ZERO_UUID
        """Set when ``meta.properties`` was read."""
        self.released = asyncio.Event()
        """Set when a failed dir holds no file and no lock any more; never while its disk hangs."""
        self.queue: DiskQueue = FirstQueue(self, disk, workers.queue, queue_depth_max)
        """What clients wait for."""
        self.queue.elapsed_us = workers.elapsed_us or self.queue.elapsed_us
        self.background_queue: DiskQueue = _BackgroundQueue(
            self, disk.for_second_thread(), workers.background_queue, queue_depth_max
        )
        """What takes long and nobody waits for: future logs, and logs that were replaced."""
        self._leaving = itertools.count(1)
        self._left_count = 0
        self._probe: asyncio.Future[Probed] | None = None
        self._late_sync: asyncio.Future[int] | None = None

    @property
    def is_online(self) -> bool:
        """Whether it takes work."""
        return self.queue.failure is None

    @property
    def failure(self) -> LogDirFailed | None:
        """Why it takes no work, if it does not."""
        return self.queue.failure

    @property
    def is_closed(self) -> bool:
        """Whether it takes no work because it was closed, and did not fail before."""
        return self.queue.is_closed

    def standing_ms(self) -> int:
        """Return for how long the disk has begun no operation while one of its threads works."""
        return max(self.queue.standing_ms(), self.background_queue.standing_ms())

    def fail(self, operation: str, cause: BaseException) -> None:
        """Take the dir offline, once; later calls change nothing."""
        self.queue.fail(operation, cause)

    def probe(self) -> asyncio.Future[Probed]:
        """Check that the path still leads to this directory and that it can be written.

        Small files that wait for their sync get it behind the probe, each in a job of its own. One
        that is under way is not followed by another one.

        Run it every few seconds and after suspicion: open descriptors keep working in a dir that
        was renamed away.
        """
        if self._probe is None or self._probe.done():
            self._probe = self.queue.submit("probe", self._run_probe)
            self._probe.add_done_callback(self._on_probed)
        return self._probe

    async def close(self) -> None:
        """Wait for all queued work, then end the workers. Nothing to do after a failure."""
        await self.background_queue.close()
        await self.queue.close()

    def thread_leaves(self, files: LogDirFiles) -> None:
        """Close what one thread has open, on that thread; the last one drops the lock."""
        files.close_all()
        if next(self._leaving) == _THREADS_COUNT:
            self.disk.drop_lock()

    def thread_left(self) -> None:
        """Count a thread that holds nothing any more."""
        self._left_count += 1
        if self._left_count == _THREADS_COUNT:
            self.released.set()

    def _run_probe(self) -> Probed:
        self.disk.check_root()
        self.disk.write_atomic(PROBE_FILE, b"")
        return Probed(self.queue.files.unsynced_count, self.disk.list_dir(""))

    def _on_probed(self, probe: asyncio.Future[Probed]) -> None:
        if self.is_online and self._late_sync is None and probe.result().unsynced_count:
            self._sync_late(_SYNCS_PER_PROBE_MAX)

    def _sync_late(self, count_max: int) -> None:
        """Sync one late small file, then the next: what clients wait for goes between.

        The files are synced here, not beside: their logs may rename or remove them.
        """
        sync = partial(self.queue.files.sync_replaced, count_max=1)
        self._late_sync = self.queue.submit("sync", sync)
        self._late_sync.add_done_callback(partial(self._on_late_synced, count_max - 1))

    def _on_late_synced(self, count_max: int, synced: asyncio.Future[int]) -> None:
        self._late_sync = None
        if self.is_online and count_max and synced.result():
            self._sync_late(count_max)


class _DirQueue(DiskQueue):
    """One of the queues of a log dir."""

    def __init__(
        self, log_dir: LogDir, disk: Disk, worker: DiskWorker, queue_depth_max: int
    ) -> None:
        super().__init__(
            path=log_dir.path,
            disk=disk,
            worker=worker,
            deadline_ms=log_dir.deadline_ms,
            queue_depth_max=queue_depth_max,
            on_failed=self._on_failed,
        )
        self._log_dir = log_dir

    def _on_failed(self, failure: LogDirFailed) -> None:
        raise NotImplementedError

    def _leave(self) -> None:
        self._log_dir.thread_leaves(self.files)

    def _left(self) -> None:
        self._log_dir.thread_left()


class FirstQueue(_DirQueue):
    """The queue whose failure is the log dir's, and takes the second queue along."""

    def fail(self, operation: str, cause: BaseException) -> None:
        """Take the log dir offline, once; later calls change nothing."""
        super().fail(operation, cause)
        self._log_dir.background_queue.fail(operation, cause)

    def _on_failed(self, failure: LogDirFailed) -> None:
        self._log_dir.on_failed(failure)


class _BackgroundQueue(_DirQueue):
    """The second queue.

    Its hops are short, so that the loop has little to do at once when one ends.
    """

    jobs_per_hop_max: ClassVar = 16

    def _on_failed(self, failure: LogDirFailed) -> None:
        self._log_dir.fail(failure.operation, failure.cause)
