"""What the engine does again and again: checkpoints, retention, looks at disks, Isr shrinking.

One loop per period for the whole broker, none per partition. Source: the timers of
ReplicaManager.scala and LogManager.scala.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from broker.core.log_positions import LogPositions
from broker.engine.hosted_log import HostedLog
from broker.engine.log.checkpoints import Checkpoints
from broker.engine.log.missing_logs import MissingLogs
from broker.engine.log.retention import Retention
from broker.engine.serve.isr_reporter import IsrReporter
from broker.engine.state import EngineState
from broker.engine.supervise import supervised

_TAIL_IDLE_MS: Final = 10_000
"""How long batches stay in memory that nobody adds to."""
_ISR_CHECK_MS_MAX: Final = 15_000
_NEVER_MS: Final = 1 << 40
"""A task with a longer period than this (30 years) does not run at all."""


class _Task(NamedTuple):
    name: str
    first_ms: int
    period_ms: int
    action: Callable[[], None]


class Periodic:
    """The timers of the engine."""

    def __init__(
        self,
        state: EngineState,
        checkpoints: Checkpoints,
        reporter: IsrReporter,
        retention: Retention,
    ) -> None:
        self._state = state
        self._checkpoints = checkpoints
        self._reporter = reporter
        self._retention = retention
        self._missing_logs = MissingLogs(state)
        self._tasks: list[asyncio.Task[None]] = []

    def run(self, task_group: asyncio.TaskGroup) -> None:
        """Start the loops in ``task_group``."""
        self._tasks = [
            task_group.create_task(
                supervised(one.name, partial(_repeat, one.first_ms, one.period_ms, one.action))
            )
            for one in [*self._tasks_of_replicas(), *self._tasks_of_logs()]
            if one.period_ms < _NEVER_MS
        ]

    def _tasks_of_replicas(self) -> list[_Task]:
        config, checkpoints = self._state.config, self._checkpoints
        watch_ms = config.jbodlab_log_dir_watch_interval_ms
        watermarks_ms = config.replica_high_watermark_checkpoint_interval_ms
        isr_check_ms = min(config.replica_lag_time_max_ms // 2, _ISR_CHECK_MS_MAX)
        expire_ms = config.producer_id_expiration_check_interval_ms
        return [
            _Task("watch-roots", watch_ms, watch_ms, checkpoints.watch_roots),
            _Task("high-watermarks", watermarks_ms, watermarks_ms, self._every_few_seconds),
            _Task("shrink-isr", isr_check_ms, isr_check_ms, self.shrink_isrs),
            _Task("expire-producers", expire_ms, expire_ms, self._expire_producers),
        ]

    def _tasks_of_logs(self) -> list[_Task]:
        """Those that wait a while after the start. Source: LogManager.scala startup."""
        config, checkpoints = self._state.config, self._checkpoints
        first_ms = config.log_initial_task_delay_ms
        points_ms = config.log_flush_offset_checkpoint_interval_ms
        starts_ms = config.log_flush_start_offset_checkpoint_interval_ms
        retain_ms = config.log_retention_check_interval_ms
        flush_ms = config.log_flush_scheduler_interval_ms
        return [
            _Task("retention", first_ms, retain_ms, self._retention.check),
            _Task("flush", first_ms, flush_ms, checkpoints.flush_due),
            _Task("recovery-points", first_ms, points_ms, checkpoints.write_offsets),
            _Task("log-starts", first_ms, starts_ms, checkpoints.write_log_starts),
        ]

    def stop(self) -> None:
        """End the loops."""
        for task in self._tasks:
            task.cancel()

    def _every_few_seconds(self) -> None:
        self._checkpoints.write_high_watermarks()
        self.look_for_logs()
        self._state.tails.drop_older_than(self._state.now_ms() - _TAIL_IDLE_MS)

    def look_for_logs(self) -> None:
        """Notice idle disks that are broken, and logs that somebody took away."""
        self._missing_logs.look()

    def shrink_isrs(self) -> None:
        """Propose to drop followers that lag too long (KAFKA-7837: only of partitions online)."""
        now_ms, lag_ms = self._state.now_ms(), self._state.lag_time_max_ms
        for _, replica in self._state.hosted.iterate_online():
            if replica.partition.propose_shrink(now_ms=now_ms, lag_time_max_ms=lag_ms):
                self._reporter.propose(replica)

    def _expire_producers(self) -> None:
        now_ms, expiration_ms = self._state.wall_ms(), self._state.config.producer_id_expiration_ms
        for _, replica in self._state.hosted.iterate_online():
            expired = replica.partition.producers.states.expire(now_ms, expiration_ms)
            if expired:
                _forget(replica.log, expired)
                if replica.future is not None and replica.future.log is not None:
                    _forget(replica.future.log, expired)


def _forget(log: HostedLog[LogPositions], producer_ids: list[int]) -> None:
    """Leave expired producers out of snapshots to come; in line with the appends around it."""
    job = partial(log.files.forget_producers, producer_ids)
    log.queue.submit_quietly("expire producers", job)


async def _repeat(first_ms: int, period_ms: int, action: Callable[[], None]) -> None:
    delay_ms = first_ms
    while True:
        await asyncio.sleep(max(delay_ms, 1) / 1000)
        action()
        delay_ms = period_ms
