"""DiskQueue, the loop's side of one thread of a log dir: its jobs and their group commit.

It knows no file formats. Whether the disk stands still is told by `disk_watchdog`; what makes
threads a log dir is in `log_dir`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from broker.core.log_dirs import LogDirFailed
from broker.storage.disk_latency import DiskLatency
from broker.storage.disk_watchdog import DiskWatchdog
from broker.storage.files import LogDirFiles
from broker.storage.partition_log import PartitionLog
from protocol.ports import Buffer, Disk, DiskWorker

T = TypeVar("T")

_BYTES_PER_HOP_MAX: Final = 8 << 20
QUEUED_BYTES_MAX: Final = 64 << 20


class _Job:
    """One queued call."""

    __slots__ = ("began_us", "bounded", "future", "operation", "run", "size_bytes")

    def __init__(
        self,
        operation: str,
        run: Callable[[], Any],
        future: asyncio.Future[Any],
        size_bytes: int,
        began_us: int,
        *,
        bounded: bool,
    ) -> None:
        self.operation = operation
        self.run = run
        self.future = future
        self.size_bytes = size_bytes
        self.began_us = began_us
        self.bounded = bounded
        """Whether the disk has one deadline for each of its operations, or ten."""


class _Append:
    """One queued append; those to one log become one write."""

    __slots__ = ("began_us", "buffers", "future", "log", "now_ms", "size_bytes")

    def __init__(
        self,
        log: PartitionLog,
        buffers: Sequence[Buffer],
        now_ms: int,
        future: asyncio.Future[int],
        began_us: int,
    ) -> None:
        self.log = log
        self.buffers = buffers
        self.now_ms = now_ms
        self.future = future
        self.size_bytes = sum(map(len, buffers))
        self.began_us = began_us


_Waiting: TypeAlias = "tuple[str, list[asyncio.Future[Any]], list[int]]"
"""What a call is named, who waits for it, and when each of them began to, in us."""


class DiskQueue:
    """One thread of a log dir.

    Jobs run in order on its own worker, many per hop; the first OSError or deadline ends it for
    good.

    Loop-side and not thread-safe. Built while the loop runs. After the failure queued work ends
    with ``LogDirFailed``, new work is refused at once and the thread is abandoned: to close
    the handles is the last it does, because even that can hang.
    """

    jobs_per_hop_max: ClassVar = 256
    """Whose results come to the loop together."""

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
        self.path = path
        self.disk = disk
        self.files = LogDirFiles(disk)
        """For jobs only."""
        self.on_failed = on_failed
        """Called once, on the loop, before the futures of the lost work end."""
        self.failure: LogDirFailed | None = None
        self.is_closed = False
        """It takes no work because it was closed, and did not fail before."""
        self.deadline_ms = deadline_ms
        self.queue_depth_max = queue_depth_max
        self.queue_depth = 0
        """Jobs submitted and not yet answered."""
        self.queued_bytes = 0
        self.appended_bytes = 0
        self.appends_count = 0
        self.jobs_count = 0
        self.hops_count = 0
        self.busy_s = 0.0
        """Seconds of loop time in which a hop was under way."""
        self.last_hop_ms = 0
        """How long the last hop took that is over."""
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self.latency = DiskLatency()
        self.elapsed_us: Callable[[], int] = self._loop_us
        """The clock of latencies; the loop's own may move in steps of 1 ms."""
        self._queue: deque[_Job | _Append] = deque()
        self._running: list[_Waiting] = []
        self._running_bounded = True
        self._hop_scheduled = False
        self._hop_started_s = 0.0
        self._watchdog = DiskWatchdog(disk, deadline_ms, self._hung)
        self._room_waiters: deque[asyncio.Future[None]] = deque()

    @property
    def is_online(self) -> bool:
        """Whether it takes work."""
        return self.failure is None

    def submit(
        self, operation: str, job: Callable[[], T], size_bytes: int = 0, *, bounded: bool = True
    ) -> asyncio.Future[T]:
        """Queue ``job`` behind all earlier work; its result or its own error ends the future.

        ``size_bytes`` counts towards back-pressure. A disk that begins no operation for the
        deadline has failed; with ``bounded`` false (loading, deleting, closing) for ten of them.

        Raises:
            LogDirFailed: at once when the dir is offline; in the future when it fails before the
                job is done.
        """
        future: asyncio.Future[T] = self._loop.create_future()
        began_us = self.elapsed_us()
        self._enqueue(
            _Job(operation, job, future, size_bytes, began_us, bounded=bounded), operation
        )
        self.jobs_count += 1
        return future

    def submit_quietly(self, operation: str, job: Callable[[], object]) -> None:
        """As ``submit``, for a job that nobody waits for: an offline dir just does not take it."""
        if self.failure is None:
            self.submit(operation, job)

    def submit_append(
        self, log: PartitionLog, buffers: Sequence[Buffer], now_ms: int
    ) -> asyncio.Future[int]:
        """Queue an append of whole batches.

        Appends queued together for one log become one write (group commit).

        The buffers must not change before the future ends. It ends with a log end offset that
        includes this append.

        Raises:
            LogDirFailed: as ``submit``.
        """
        future: asyncio.Future[int] = self._loop.create_future()
        append = _Append(log, buffers, now_ms, future, self.elapsed_us())
        self._enqueue(append, "append")
        self.appends_count += 1
        self.appended_bytes += append.size_bytes
        return future

    def has_room(self) -> bool:
        """Tell whether the queue is below its bounds (jobs and bytes)."""
        return self.queue_depth < self.queue_depth_max and self.queued_bytes < QUEUED_BYTES_MAX

    def standing_ms(self) -> int:
        """Return for how long the disk has begun no operation while work is under way."""
        return self._watchdog.standing_ms()

    async def wait_for_room(self) -> None:
        """Wait until the queue has room.

        Call it before taking work for a client. ``submit`` itself never waits.

        Raises:
            LogDirFailed: the dir is offline, or fails meanwhile.
        """
        while True:
            if self.failure is not None:
                raise self.failure
            if self.has_room():
                return
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._room_waiters.append(waiter)
            await waiter

    def fail(self, operation: str, cause: BaseException) -> None:
        """Take the dir offline, once; later calls change nothing."""
        if self.failure is not None:
            return
        self.failure = LogDirFailed(self.path, operation, cause)
        self._stop(self._leave, self._left)
        self.on_failed(self.failure)
        waiting = [future for _, futures, _ in self._running for future in futures]
        waiting += [queued.future for queued in self._queue]
        self._running = []
        self._queue.clear()
        self.queue_depth = 0
        self.queued_bytes = 0
        for future in [*waiting, *self._room_waiters]:
            _end_with(future, self.failure)
        self._room_waiters.clear()

    async def close(self) -> None:
        """Wait for all queued work, then end the worker. Nothing to do after a failure."""
        if self.failure is None:
            await self.submit("close", _nothing)
            self.is_closed = True
            self.failure = LogDirFailed(self.path, "close", RuntimeError("the log dir is closed"))
            self._stop()

    def _enqueue(self, queued: _Job | _Append, operation: str) -> None:
        if self.failure is not None:
            raise LogDirFailed(self.path, operation, self.failure.cause) from self.failure
        self._queue.append(queued)
        self.queue_depth += 1
        self.queued_bytes += queued.size_bytes
        if not self._hop_scheduled and not self._running:
            self._hop_scheduled = True
            self._loop.call_soon(self._start_hop)

    def _start_hop(self) -> None:
        self._hop_scheduled = False
        if self.failure is not None or not self._queue:
            return
        taken = self._take()
        jobs, self._running = _group(taken)
        self.queued_bytes -= sum(queued.size_bytes for queued in taken)
        self.hops_count += 1
        self._hop_started_s = self._loop.time()
        self._watchdog.work_begins(bounded=self._running_bounded)
        self._worker.run(jobs, self._on_done)

    def _take(self) -> list[_Job | _Append]:
        """Take the queue's head, up to the bounds of a hop; a job without deadline goes alone."""
        first = self._queue.popleft()
        self._running_bounded = not _is_unbounded(first)
        taken = [first]
        size_bytes = first.size_bytes
        while (
            self._running_bounded
            and self._queue
            and len(taken) < self.jobs_per_hop_max
            and size_bytes < _BYTES_PER_HOP_MAX
            and not _is_unbounded(self._queue[0])
        ):
            queued = self._queue.popleft()
            size_bytes += queued.size_bytes
            taken.append(queued)
        return taken

    def _on_done(self, results: list[Any]) -> None:
        if self.failure is not None:
            return
        hop_s = self._loop.time() - self._hop_started_s
        self.busy_s += hop_s
        self.last_hop_ms = int(hop_s * 1000)
        running, self._running = self._running, []
        self._watchdog.work_ended()
        now_us = self.elapsed_us()
        for index, (waiting, result) in enumerate(zip(running, results, strict=True)):
            operation, futures, began_us = waiting
            if isinstance(result, OSError):
                self._running = running[index:]
                self.fail(operation, result)
                return
            self.queue_depth -= len(futures)
            self.latency.observe(operation, began_us, now_us)
            _settle(futures, result)
        self._wake_waiters()
        if self._queue and not self._hop_scheduled:
            self._start_hop()

    def _loop_us(self) -> int:
        return int(self._loop.time() * 1_000_000)

    def _wake_waiters(self) -> None:
        """Wake as many as there is room for.

        All of them when nothing is left that would wake the rest.
        """
        room = self.queue_depth_max - self.queue_depth
        while self._room_waiters and self.has_room() and (room > 0 or not self._queue):
            waiter = self._room_waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                room -= 1

    def _hung(self, cause: TimeoutError) -> None:
        self.fail(self._running[0][0], cause)

    def _leave(self) -> None:
        """Hold nothing any more: the last that a thread does after a failure."""
        self.files.close_all()

    def _left(self) -> None:
        """Hear on the loop that the thread holds nothing any more."""

    def _stop(
        self, last: Callable[[], None] | None = None, on_last: Callable[[], None] | None = None
    ) -> None:
        self._worker.abandon(last, on_last)
        self._watchdog.stop()


def _group(taken: Sequence[_Job | _Append]) -> tuple[list[Callable[[], Any]], list[_Waiting]]:
    """Turn queued work into calls; appends to one log between two jobs become one call."""
    calls: list[Callable[[], Any]] = []
    waiting: list[_Waiting] = []
    groups: dict[PartitionLog, list[_Append]] = {}
    for queued in taken:
        if isinstance(queued, _Append):
            groups.setdefault(queued.log, []).append(queued)
            continue
        _close_groups(groups, calls, waiting)
        calls.append(queued.run)
        waiting.append((queued.operation, [queued.future], [queued.began_us]))
    _close_groups(groups, calls, waiting)
    return calls, waiting


def _close_groups(
    groups: dict[PartitionLog, list[_Append]],
    calls: list[Callable[[], Any]],
    waiting: list[_Waiting],
) -> None:
    for log, appends in groups.items():
        calls.append(_append_call(log, appends))
        futures = [append.future for append in appends]
        waiting.append(("append", futures, [append.began_us for append in appends]))
    groups.clear()


def _append_call(log: PartitionLog, appends: Sequence[_Append]) -> Callable[[], int]:
    if len(appends) == 1:
        buffers = appends[0].buffers
    else:
        buffers = [buffer for append in appends for buffer in append.buffers]
    now_ms = appends[-1].now_ms
    return lambda: log.append(buffers, now_ms=now_ms)


def _is_unbounded(queued: _Job | _Append) -> bool:
    return isinstance(queued, _Job) and not queued.bounded


def _settle(futures: Sequence[asyncio.Future[Any]], result: Any) -> None:
    for future in futures:
        if isinstance(result, BaseException):
            _end_with(future, result)
        elif not future.done():
            future.set_result(result)


def _end_with(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # Marks it as seen: nobody has to wait for work that was lost.


def _nothing() -> None:
    return None
