"""What disks took is told by operation, once."""

from __future__ import annotations

from broker.storage.disk_latency import DiskLatency
from protocol.metrics.rows import Operation


def test_jobs_that_end_together_count_from_their_own_begin() -> None:
    latency = DiskLatency()
    latency.observe("append", [100, 105], 110)
    latency.observe("read", [90], 110)
    ((read, reads), (append, appends)) = latency.take()
    assert (read, append) == (Operation.READ, Operation.APPEND)
    assert (reads.count, reads.max) == (1, 20)
    assert (appends.count, appends.sum, appends.max) == (2, 15, 10)


def test_flushes_and_late_syncs_are_syncs() -> None:
    latency = DiskLatency()
    latency.observe("flush", [0], 3)
    latency.observe("sync", [0], 4)
    ((operation, histogram),) = latency.take()
    assert (operation, histogram.count, histogram.sum) == (Operation.SYNC, 2, 7)


def test_what_is_taken_is_forgotten_and_other_jobs_do_not_count() -> None:
    latency = DiskLatency()
    latency.observe("probe", [0], 3)
    assert latency.take() == []
    latency.observe("append", [0], 3)
    assert len(latency.take()) == 1
    assert latency.take() == []
