"""Samples a broker at an interval of loop time and hands the rows to the dump's writer.

What it cannot write it drops: a full dump folder must not stop a broker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Final, Protocol

from broker.metrics import Metrics
from protocol.metric_rows import LogDirRow, MetricRow, ReplicaRow
from protocol.ports import WallClock

CLOSE_TIMEOUT_MS: Final = 1_000
logger = logging.getLogger(__name__)


class RowSource(Protocol):
    """What can be sampled."""

    def log_dir_rows(self, at_ms: int) -> list[LogDirRow]:
        """Return one row per configured log dir."""
        ...

    def replica_rows(self, at_ms: int) -> list[ReplicaRow]:
        """Return one row per hosted log."""
        ...


class RowWriter(Protocol):
    """Where rows go: ``protocol.metric_writer``."""

    async def write(self, rows: Iterable[MetricRow]) -> None:
        """Append ``rows``; may raise OSError."""
        ...

    async def close(self) -> None:
        """Close the files."""
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
    ) -> None:
        self._writer = writer
        self._source = source
        self._metrics = metrics
        self._clock = clock
        self._interval_ms = interval_ms
        self._last_ms = clock.now_ms()
        self._is_failing = False

    async def run(self) -> None:
        """Write the rows of each interval until cancelled."""
        while True:
            await asyncio.sleep(self._interval_ms / 1000)
            await self.write_interval()

    async def write_interval(self) -> None:
        """Write what happened since the last call."""
        at_ms = self._clock.now_ms()
        interval_ms = max(at_ms - self._last_ms, 0)
        self._last_ms = at_ms
        rows: list[MetricRow] = [
            *self._metrics.drain_rows(),
            *self._metrics.request_rows(at_ms=at_ms, interval_ms=interval_ms),
            *self._source.log_dir_rows(at_ms),
            *self._source.replica_rows(at_ms),
        ]
        try:
            await self._writer.write(rows)
        except OSError as error:
            self._metrics.rows_dropped.add(len(rows))
            if not self._is_failing:
                logger.warning("metric rows are lost, the dump cannot be written: %s", error)
            self._is_failing = True
        else:
            self._is_failing = False

    async def close(self) -> None:
        """Write the last interval and close the files, within ``CLOSE_TIMEOUT_MS``."""
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_MS / 1000):
                await self.write_interval()
                await self._writer.close()
        except (OSError, TimeoutError) as error:
            logger.warning("the metric dump was not closed: %s", error)
