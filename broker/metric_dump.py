"""Samples a broker at an interval of loop time and hands the rows to the dump's writer, and on.

What it cannot write it drops: a full dump folder must not stop a broker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from broker.metrics import Metrics
from protocol.metrics.rows import LatencyRow, LogDirRow, MetricRow, ReplicaRow
from protocol.metrics.writer import RowWriter
from protocol.ports import WallClock

CLOSE_TIMEOUT_MS: Final = 1_000
REPLICA_ROWS_PER_INTERVAL: Final = 500
"""On average: a broker with more replicas samples all of them at once, but not every time."""
logger = logging.getLogger(__name__)


class RowSource(Protocol):
    """What can be sampled."""

    def log_dir_rows(self, at_ms: int, interval_ms: int) -> list[LogDirRow]:
        """Return one row per configured log dir."""
        ...

    def latency_rows(self, at_ms: int, interval_ms: int) -> list[LatencyRow]:
        """Return what reads, appends and syncs of each log dir took since the last call."""
        ...

    def replica_rows(self, at_ms: int, interval_ms: int) -> list[ReplicaRow]:
        """Return one row per hosted log."""
        ...


class MetricDump:
    """The dump of one broker. ``run`` it once, ``close`` it last."""

    def __init__(
        self,
        writer: RowWriter,
        source: RowSource,
        metrics: Metrics,
        clock: WallClock,
        *,
        interval_ms: int,
        offer: Callable[[Sequence[MetricRow]], None] | None = None,
    ) -> None:
        """``offer`` is given all rows, too, before they are written; it may not wait."""
        self._writer = writer
        self._source = source
        self._metrics = metrics
        self._clock = clock
        self._interval_ms = interval_ms
        self._offer = offer
        self._last_ms = self._replicas_last_ms = clock.now_ms()
        self._is_failing = False
        self._replica_intervals = 0
        """How many more intervals pass without replica rows."""

    async def run(self) -> None:
        """Write the rows of each interval until cancelled."""
        while True:
            await asyncio.sleep(self._interval_ms / 1000)
            await self.write_interval()

    async def write_interval(self, *, is_last: bool = False) -> None:
        """Write what happened since the last call; the last one samples replicas in any case."""
        at_ms = self._clock.now_ms()
        interval_ms = max(at_ms - self._last_ms, 0)
        self._last_ms = at_ms
        rows: list[MetricRow] = [
            *self._metrics.drain_rows(),
            *self._metrics.request_rows(at_ms=at_ms, interval_ms=interval_ms),
            *self._source.latency_rows(at_ms, interval_ms),
            *self._source.log_dir_rows(at_ms, interval_ms),
            *self._sample_replicas(at_ms, is_due=is_last),
        ]
        if self._offer is not None:
            self._offer(rows)
        try:
            await self._writer.write(rows)
        except OSError as error:
            self._metrics.counters.rows_dropped.add(len(rows))
            if not self._is_failing:
                logger.warning("metric rows are lost, the dump cannot be written: %s", error)
            self._is_failing = True
        else:
            self._is_failing = False

    def _sample_replicas(self, at_ms: int, *, is_due: bool) -> list[ReplicaRow]:
        if self._replica_intervals > 0 and not is_due:
            self._replica_intervals -= 1
            return []
        interval_ms = max(at_ms - self._replicas_last_ms, 0)
        self._replicas_last_ms = at_ms
        rows = self._source.replica_rows(at_ms, interval_ms)
        self._replica_intervals = len(rows) // REPLICA_ROWS_PER_INTERVAL
        return rows

    async def close(self) -> None:
        """Write the last interval and close the files, within ``CLOSE_TIMEOUT_MS``."""
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_MS / 1000):
                await self.write_interval(is_last=True)
                await self._writer.close()
        except (OSError, TimeoutError) as error:
            logger.warning("the metric dump was not closed: %s", error)
