"""Removes segments that retention lets go, on every hosted replica, leader or follower.

The rules are in `broker.core.retention`; segments are removed on their log dir's thread and their
files `file.delete.delay.ms` later. Source: LogManager.scala cleanupLogs.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import NamedTuple

from broker.core.log_dirs import LogDirFailed
from broker.core.retention import Expired, RetentionLimits, expired_segments
from broker.engine.log.deletions import Deletions
from broker.engine.log.logs import Logs
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.storage.log_segments import SetAside
from broker.storage.partition_log import PartitionLog
from protocol.configs.topic import TopicConfig

logger = logging.getLogger(__name__)


class _Retained(NamedTuple):
    """What one look at a log did."""

    expired: Expired
    aside: SetAside
    log_start_offset: int


class Retention:
    """One look at every log per `log.retention.check.interval.ms`."""

    def __init__(self, state: EngineState, logs: Logs, deletions: Deletions) -> None:
        self._state = state
        self._logs = logs
        self._deletions = deletions

    def check(self) -> None:
        """Look at every replica that is online, empty, moved and compacted ones apart."""
        for tp, replica in self._state.hosted.iterate_online():
            if replica.log.files.size_bytes > 0 and not self._state.cleaning_pauses.is_paused(tp):
                self.look(replica)

    def look(self, replica: Replica) -> asyncio.Future[_Retained | None] | None:
        """Remove what may go of one log now; None when its log dir is offline."""
        config = self._state.ports.topic_config(replica.tp.topic)
        job = partial(_retain, replica.log.files, self._limits(replica, config))
        try:
            looked = replica.log.dir.queue.submit("retain", job)
        except LogDirFailed:
            return None
        looked.add_done_callback(partial(self._on_looked, replica, config.file_delete_delay_ms))
        return looked

    def _limits(self, replica: Replica, config: TopicConfig) -> RetentionLimits:
        return RetentionLimits(
            high_watermark=replica.partition.high_watermark,
            log_start_offset=replica.partition.log_start_offset,
            retention_ms=config.retention_ms,
            retention_bytes=config.retention_bytes,
            now_ms=self._state.wall_ms(),
            deletes="delete" in config.cleanup_policy,
        )

    def _on_looked(
        self, replica: Replica, delay_ms: int, looked: asyncio.Future[_Retained | None]
    ) -> None:
        if looked.cancelled() or looked.exception() is not None:
            return
        retained = looked.result()
        if retained is None:
            return
        expired = retained.expired
        logger.info(
            "%s: log start %d -> %d: %d segments (%d bytes) removed, %d of them below the log"
            " start, %d by size, %d by age",
            replica.tp,
            replica.partition.log_start_offset,
            retained.log_start_offset,
            expired.total,
            retained.aside.size_bytes,
            expired.by_start,
            expired.by_size,
            expired.by_age,
        )
        self._deletions.schedule(replica.log.queue, retained.aside.remove, delay_ms)
        self._logs.raise_log_start(replica, retained.log_start_offset)


def _retain(log: PartitionLog, limits: RetentionLimits) -> _Retained | None:
    """On the log dir's thread: decide and remove; None when all stays."""
    expired = expired_segments(log.segments, log.log_end_offset, limits)
    if expired.total == 0:
        return None
    aside = log.remove_oldest(expired.total, now_ms=limits.now_ms)
    return _Retained(expired, aside, log.log_start_offset)
