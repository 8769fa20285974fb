"""The checkpoints of each log dir: HighWatermarks, RecoveryPoints, LogStartOffsets.

Also the regular looks at each disk: whether the path still leads there, how much space is left.
Nothing is decided about logs here. Source: LogManager.scala, ReplicaManager.scala
checkpointHighWatermarks.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from broker.core.log_dirs import LogDirFailed
from broker.engine.state import EngineState
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

WATCH_MS: Final = 200
"""Time between two looks at the root of each log dir: one stat, whether there is traffic or not."""
TAIL_IDLE_MS: Final = 10_000


class Checkpoints:
    """Writes them, for log dirs that are online."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._changed: dict[str, None] = {}
        self._written: dict[str, dict[TopicPartition, int]] = {}
        self._looking: dict[str, None] = {}

    # What lives where.

    def logs_of(self, log_dir: LogDir) -> dict[TopicPartition, PartitionLog]:
        """Return every log of a log dir: current, future, and those that nobody named yet."""
        state = self._state
        logs = {tp: idle.log for tp, idle in state.hosted.iterate_idle() if idle.dir is log_dir}
        logs.update(
            (tp, loose.log) for tp, loose in state.loose_futures.items() if loose.dir is log_dir
        )
        for tp, replica in state.hosted.iterate_online():
            if replica.dir is log_dir:
                logs[tp] = replica.log
            future = replica.future
            if future is not None and future.dir is log_dir and future.log is not None:
                logs[tp] = future.log
        return logs

    def high_watermarks_of(self, log_dir: LogDir) -> dict[TopicPartition, int]:
        """Return the HighWatermark of every log of a log dir (KAFKA-6604: idle ones too)."""
        state = self._state
        known = {
            tp: idle.partition.high_watermark
            for tp, idle in state.hosted.iterate_idle()
            if idle.dir is log_dir
        }
        known.update(
            (tp, loose.high_watermark)
            for tp, loose in state.loose_futures.items()
            if loose.dir is log_dir
        )
        for tp, replica in state.hosted.iterate_online():
            if replica.dir is log_dir:
                known[tp] = replica.partition.high_watermark
            future = replica.future
            if future is not None and future.dir is log_dir and future.log is not None:
                known[tp] = future.high_watermark
        return known

    # Jobs.

    def write_at_once(self, log_dir: LogDir) -> None:
        """Write all checkpoints of a log dir: a log was cut below its recovery point, or is gone.

        Queued at once, before what is appended next and before a log of the same name is made: what
        was true of the old one must not be taken for true of that. Once for all that end together.
        """
        if log_dir.path in self._changed:
            return
        self._changed[log_dir.path] = None
        self._state.loop.call_soon(self._changed.pop, log_dir.path)
        known = self._written[log_dir.path] = self.high_watermarks_of(log_dir)
        job = partial(write_checkpoints, log_dir.disk, self.logs_of(log_dir), known)
        log_dir.submit_quietly("write checkpoints", job)

    def write_offsets(self) -> None:
        """Write the RecoveryPoints of all log dirs, after syncing full segments."""
        for log_dir in self._online():
            logs = self.logs_of(log_dir)
            for log in logs.values():
                if log.has_sealed_to_sync:
                    log_dir.submit_quietly("flush", log.flush_sealed)
            job = partial(write_recovery_points, log_dir.disk, logs)
            log_dir.submit_quietly("write recovery points", job)

    async def make_durable(self, log_dir: LogDir, log: PartitionLog) -> None:
        """Sync the full segments of one log and write the RecoveryPoints, at once.

        Raises:
            LogDirFailed: the log dir is offline.
        """
        await log_dir.submit("flush", log.flush_sealed)
        job = partial(write_recovery_points, log_dir.disk, self.logs_of(log_dir))
        await log_dir.submit("write recovery points", job)

    def write_log_starts(self) -> None:
        """Write the LogStartOffsets of all log dirs."""
        for log_dir in self._online():
            job = partial(write_log_start_offsets, log_dir.disk, self.logs_of(log_dir))
            log_dir.submit_quietly("write log starts", job)

    def flush_due(self) -> None:
        """Flush every log that was not flushed for its `flush.ms`."""
        now_ms = self._state.wall_ms()
        for log_dir in self._online():
            for log in self.logs_of(log_dir).values():
                if log.needs_sync and now_ms - log.flushed_ms >= log.config.flush_ms:
                    log_dir.submit_quietly("flush", partial(log.flush_if_due, now_ms))

    def write_high_watermarks(self) -> None:
        """Write the HighWatermarks where they changed, and look at each disk.

        This is how an idle broken disk is noticed.
        """
        for log_dir in self._online():
            known = self.high_watermarks_of(log_dir)
            if known != self._written.get(log_dir.path):
                self._written[log_dir.path] = known
                job = partial(write_high_watermarks, log_dir.disk, known)
                log_dir.submit_quietly("write high watermarks", job)
            _probe(log_dir)
            self.look_at_usage(log_dir)

    def forget(self, path: str) -> None:
        """Write everything anew in a log dir that came back, perhaps with another disk."""
        self._written.pop(path, None)
        self._looking.pop(path, None)

    def watch_roots(self) -> None:
        """Look whether each log dir is still where it was.

        Appends go through open descriptors, which keep working in a directory renamed away.
        A look that takes long is not followed by another one.
        """
        for log_dir in self._online():
            if log_dir.path not in self._looking:
                self._look_at_root(log_dir)

    def _look_at_root(self, log_dir: LogDir) -> None:
        try:
            looked = log_dir.submit("look at root", log_dir.disk.check_root)
        except LogDirFailed:
            return
        self._looking[log_dir.path] = None
        looked.add_done_callback(lambda _looked: self._looking.pop(log_dir.path, None))

    def look_at_usage(self, log_dir: LogDir) -> asyncio.Future[DiskUsage] | None:
        """Ask a disk for its space; None when it is offline."""
        try:
            looked = log_dir.submit("look at usage", log_dir.disk.usage)
        except LogDirFailed:
            return None

        def seen(future: asyncio.Future[DiskUsage]) -> None:
            if future.exception() is None:
                self._state.usage[log_dir.path] = future.result()

        looked.add_done_callback(seen)
        return looked

    async def close(self) -> None:
        """Close every good log dir cleanly, each by itself."""
        closing: list[tuple[LogDir, asyncio.Future[None]]] = []
        for log_dir in self._online():
            job = partial(
                close_log_dir,
                log_dir.files,
                self.logs_of(log_dir),
                self.high_watermarks_of(log_dir),
                broker_epoch=self._state.ports.broker_epoch(),
            )
            closing.append((log_dir, log_dir.submit("close logs", job, bounded=False)))
        for log_dir, closed in closing:
            try:
                await closed
                await log_dir.close()
            except LogDirFailed:
                continue  # It gets no clean marker; the others do.

    def _online(self) -> list[LogDir]:
        return [log_dir for log_dir in self._state.dirs.values() if log_dir.online]


def _probe(log_dir: LogDir) -> None:
    try:
        log_dir.probe()
    except LogDirFailed:
        return
