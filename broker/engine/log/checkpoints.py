"""The checkpoints of each log dir: HighWatermarks, RecoveryPoints, LogStartOffsets.

Also the regular looks at each disk: whether the path still leads there, how much space is left.
Nothing is decided about logs here. Source: LogManager.scala, ReplicaManager.scala
checkpointHighWatermarks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial

from broker.core.log_dirs import LogDirFailed
from broker.core.log_positions import LogPositions
from broker.engine.hosted_log import HostedLog
from broker.engine.state import EngineState
from broker.storage.disk_queue import DiskQueue
from broker.storage.log_dir import LogDir
from broker.storage.partition_log import PartitionLog
from broker.storage.shutdown import (
    close_log_dir,
    write_checkpoints,
    write_high_watermarks,
    write_log_start_offsets,
    write_recovery_points,
)
from protocol.ids import TopicPartition
from protocol.ports import DiskUsage


class Checkpoints:
    """Writes them, for log dirs that are online."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._changed: dict[str, None] = {}
        self._gone: dict[str, dict[TopicPartition, asyncio.Future[None] | None]] = {}
        self._written: dict[str, dict[TopicPartition, int]] = {}
        self._looking: dict[str, asyncio.Future[None]] = {}
        """The last look at each root, by path."""

    # What lives where.

    def logs_of(self, log_dir: LogDir) -> dict[TopicPartition, PartitionLog]:
        """Return every log of a log dir: current, future, and those that nobody named yet."""
        return {tp: log.files for tp, log in self.hosted_logs_of(log_dir).items()}

    def hosted_logs_of(self, log_dir: LogDir) -> dict[TopicPartition, HostedLog[LogPositions]]:
        """Return the same with what the engine knows of them."""
        return dict(self._owned(log_dir))

    def _due(
        self, log_dir: LogDir, is_due: Callable[[PartitionLog], bool]
    ) -> Iterator[tuple[PartitionLog, DiskQueue]]:
        """Go through logs that are to be flushed; a swap that is under way does it by itself."""
        for _, log in self._owned(log_dir):
            if not log.is_promoting and is_due(log.files):
                yield log.files, log.queue

    def _owned(self, log_dir: LogDir) -> Iterator[tuple[TopicPartition, HostedLog[LogPositions]]]:
        for tp, log, _ in self._state.iterate_logs():
            if log.dir is log_dir:
                yield tp, log

    def high_watermarks_of(self, log_dir: LogDir) -> dict[TopicPartition, int]:
        """Return the HighWatermark of every log of a log dir (KAFKA-6604: idle ones too).

        Lost ones stay in it with 0 until they are made anew: the next start must know of them.
        """
        known = dict.fromkeys(self._state.hosted.awaited(log_dir.path), 0)
        known.update((tp, log.positions.high_watermark) for tp, log in self._owned(log_dir))
        return known

    def written_high_watermarks(self, path: str) -> Mapping[TopicPartition, int] | None:
        """Return what was given to a log dir to write last; another object each time."""
        return self._written.get(path)

    # Jobs.

    def write_at_once(self, log_dir: LogDir) -> None:
        """Write all checkpoints of a log dir: a log was cut below its recovery point.

        Queued at once, before what is appended next. Once for all that end together.
        """
        if log_dir.path in self._changed:
            return
        self._changed[log_dir.path] = None
        self._state.loop.call_soon(self._changed.pop, log_dir.path, None)
        known = self._written[log_dir.path] = self.high_watermarks_of(log_dir)
        job = partial(write_checkpoints, log_dir.disk, self.logs_of(log_dir), known)
        try:
            written = log_dir.queue.submit("write checkpoints", job)
        except LogDirFailed:
            return
        gone = self._gone.get(log_dir.path, {})
        self._gone[log_dir.path] = dict.fromkeys(gone, written)
        written.add_done_callback(partial(self._on_forgotten, log_dir.path))

    def _on_forgotten(self, path: str, written: asyncio.Future[None]) -> None:
        gone = self._gone.get(path, {})
        self._gone[path] = {tp: by for tp, by in gone.items() if by is not written}

    def log_gone(self, path: str, tp: TopicPartition) -> None:
        """Note that a log has left a log dir: the next checkpoints forget it.

        They are written within seconds, and before another log of the partition is made there: what
        was true of the old one must not be taken for true of that. A start forgets such logs, too.
        """
        self._gone.setdefault(path, {})[tp] = None

    def before_new_log(self, log_dir: LogDir, tp: TopicPartition) -> bool:
        """Have the checkpoints forget an older log of a partition; tell whether there was one.

        The next job of the log dir's own queue is behind that write.
        """
        is_known = tp in self._gone.get(log_dir.path, {})
        if is_known:
            self._changed.pop(log_dir.path, None)  # What was queued in this turn may name it still.
            self.write_at_once(log_dir)
        return is_known

    def write_offsets(self) -> None:
        """Write the RecoveryPoints of all log dirs, after syncing full segments."""
        for log_dir in self._online():
            for log, queue in self._due(log_dir, lambda log: log.has_sealed_to_sync):
                queue.submit_quietly("flush", log.flush_sealed)
            job = partial(write_recovery_points, log_dir.disk, self.logs_of(log_dir))
            log_dir.queue.submit_quietly("write recovery points", job)

    async def make_durable(self, log_dir: LogDir, log: PartitionLog) -> None:
        """Sync the full segments of one log and write the RecoveryPoints, at once.

        Raises:
            LogDirFailed: the log dir is offline.
        """
        await log_dir.queue.submit("flush", log.flush_sealed)
        job = partial(write_recovery_points, log_dir.disk, self.logs_of(log_dir))
        await log_dir.queue.submit("write recovery points", job)

    def write_log_starts(self) -> None:
        """Write the LogStartOffsets of all log dirs."""
        for log_dir in self._online():
            job = partial(write_log_start_offsets, log_dir.disk, self.logs_of(log_dir))
            log_dir.queue.submit_quietly("write log starts", job)

    def flush_due(self) -> None:
        """Flush every log that was not flushed for its `flush.ms`."""
        now_ms = self._state.wall_ms()
        for log_dir in self._online():
            for log, queue in self._due(log_dir, partial(_is_flush_due, now_ms)):
                queue.submit_quietly("flush", partial(log.flush_if_due, now_ms))

    def write_high_watermarks(self) -> None:
        """Write the HighWatermarks where they changed, and look at each disk's space."""
        for log_dir in self._online():
            known = self.high_watermarks_of(log_dir)
            if None in self._gone.get(log_dir.path, {}).values():
                self.write_at_once(log_dir)
            elif known != self._written.get(log_dir.path):
                self._written[log_dir.path] = known
                job = partial(write_high_watermarks, log_dir.disk, known)
                log_dir.queue.submit_quietly("write high watermarks", job)
            self.look_at_usage(log_dir)

    def forget(self, path: str) -> None:
        """Write everything anew in a log dir that came back, perhaps with another disk.

        That a log has left it was noted when it came back, and stays known.
        """
        self._written.pop(path, None)
        self._looking.pop(path, None)

    def watch_roots(self) -> None:
        """Look whether each log dir is still where it was.

        Appends go through open descriptors, which keep working in a directory renamed away.
        A look that takes long is not followed by another one.
        """
        for log_dir in self._online():
            looking = self._looking.get(log_dir.path)
            if looking is None or looking.done():
                self._look_at_root(log_dir)

    def _look_at_root(self, log_dir: LogDir) -> None:
        with suppress(LogDirFailed):
            looking = log_dir.queue.submit("look at root", log_dir.disk.check_root)
            self._looking[log_dir.path] = looking

    def look_at_usage(self, log_dir: LogDir) -> asyncio.Future[DiskUsage] | None:
        """Ask a disk for its space; None when it is offline."""
        try:
            looked = log_dir.queue.submit("look at usage", log_dir.disk.usage)
        except LogDirFailed:
            return None

        def seen(future: asyncio.Future[DiskUsage]) -> None:
            if future.exception() is None:
                self._state.usage[log_dir.path] = future.result()

        looked.add_done_callback(seen)
        return looked

    async def close(self) -> None:
        """Close every good log dir cleanly, each by itself."""
        async with asyncio.TaskGroup() as closing:
            for log_dir in self._online():
                closing.create_task(self._close(log_dir))

    async def _close(self, log_dir: LogDir) -> None:
        """Close one log dir: no job of the thread beside is left when its logs are closed."""
        try:
            await log_dir.background_queue.submit("settle", _nothing)
            job = partial(
                close_log_dir,
                log_dir.queue.files,
                self.logs_of(log_dir),
                self.high_watermarks_of(log_dir),
                broker_epoch=self._state.ports.broker_epoch(),
            )
            await log_dir.queue.submit("close logs", job, bounded=False)
            await log_dir.close()
        except LogDirFailed:
            return  # It gets no clean marker; the others do.

    def _online(self) -> list[LogDir]:
        return [log_dir for log_dir in self._state.log_dirs.values() if log_dir.is_online]


def _is_flush_due(now_ms: int, log: PartitionLog) -> bool:
    return log.needs_sync and now_ms - log.flushed_ms >= log.config.flush_ms


def _nothing() -> None:
    return None
