"""What the engine does again and again: checkpoints, looks at disks, Isr shrinking, expiry.

One loop per period for the whole broker, none per partition. Source: jbod-broker facts, timers of
ReplicaManager and LogManager.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from broker.engine.checkpoints import TAIL_IDLE_MS, WATCH_S, Checkpoints
from broker.engine.state import EngineState
from broker.engine.supervise import supervised
from broker.replication.isr_reporter import IsrReporter

_ISR_CHECK_S_MAX: Final = 15.0


class Periodic:
    """The timers of the engine."""

    def __init__(self, state: EngineState, checkpoints: Checkpoints, reporter: IsrReporter) -> None:
        self._state = state
        self._checkpoints = checkpoints
        self._reporter = reporter
        self._tasks: list[asyncio.Task[None]] = []

    def run(self, task_group: asyncio.TaskGroup) -> None:
        """Start the loops in ``task_group``."""
        config = self._state.config
        checkpoints = self._checkpoints
        periods: list[tuple[str, float, Callable[[], None]]] = [
            ("watch-roots", WATCH_S, checkpoints.watch_roots),
            (
                "high-watermarks",
                config.replica_high_watermark_checkpoint_interval_ms / 1000,
                self._every_few_seconds,
            ),
            (
                "offset-checkpoints",
                config.log_flush_offset_checkpoint_interval_ms / 1000,
                checkpoints.write_offsets,
            ),
            (
                "shrink-isr",
                min(config.replica_lag_time_max_ms / 2000, _ISR_CHECK_S_MAX),
                self.shrink_isrs,
            ),
            (
                "expire-producers",
                config.producer_id_expiration_check_interval_ms / 1000,
                self._expire_producers,
            ),
        ]
        self._tasks = [
            task_group.create_task(supervised(name, partial(_repeat, period_s, action)))
            for name, period_s, action in periods
        ]

    def stop(self) -> None:
        """End the loops."""
        for task in self._tasks:
            task.cancel()

    def _every_few_seconds(self) -> None:
        self._checkpoints.write_high_watermarks()
        self._state.tails.drop_older_than(self._state.now_ms() - TAIL_IDLE_MS)

    def shrink_isrs(self) -> None:
        """Propose to drop followers that lag too long (KAFKA-7837: only of partitions online)."""
        now_ms, lag_ms = self._state.now_ms(), self._state.lag_time_max_ms
        for _, replica in self._state.hosted.iterate_online():
            if replica.partition.propose_shrink(now_ms=now_ms, lag_time_max_ms=lag_ms):
                self._reporter.propose(replica)

    def _expire_producers(self) -> None:
        now_ms = self._state.wall_ms()
        for _, replica in self._state.hosted.iterate_online():
            replica.partition.producers.expire(now_ms)


async def _repeat(period_s: float, action: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(period_s)
        action()
