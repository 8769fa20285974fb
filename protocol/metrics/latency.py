"""Latency rows out of histograms. It keeps nothing and reads no clock."""

from __future__ import annotations

from typing import NamedTuple

from protocol.metrics.histogram import Histogram
from protocol.metrics.rows import LatencyRow, LatencyScope, Operation


class Timed(NamedTuple):
    """Whose time it is."""

    broker_id: int
    """``NO_BROKER`` for a client."""
    scope: LatencyScope
    name: str
    operation: Operation


def latency_row(timed: Timed, histogram: Histogram, *, at_ms: int, interval_ms: int) -> LatencyRow:
    """Return the row of what ``histogram`` saw during the interval that ends at ``at_ms``."""
    bucket_us, bucket_counts = histogram.buckets()
    return LatencyRow(
        at_ms=at_ms,
        interval_ms=interval_ms,
        broker_id=timed.broker_id,
        scope=timed.scope,
        name=timed.name,
        operation=timed.operation,
        sample_count=histogram.count,
        sum_us=histogram.sum,
        max_us=histogram.max,
        bucket_us=bucket_us,
        bucket_counts=bucket_counts,
    )
