"""A latency row says all that its histogram saw."""

from __future__ import annotations

from protocol.metrics.histogram import Histogram
from protocol.metrics.latency import Timed, latency_row
from protocol.metrics.rows import LatencyScope, Operation


def test_a_row_holds_the_filled_buckets_only() -> None:
    histogram = Histogram()
    for value in (3, 3, 1000):
        histogram.observe(value)
    timed = Timed(1, LatencyScope.LOG_DIR, "/d1", Operation.SYNC)
    row = latency_row(timed, histogram, at_ms=5, interval_ms=2)
    assert (row.bucket_us, row.bucket_counts) == ((3, 1023), (2, 1))
    assert (row.sample_count, row.sum_us, row.max_us) == (3, 1006, 1000)
    assert (row.scope, row.name, row.operation) == ("log_dir", "/d1", "sync")
