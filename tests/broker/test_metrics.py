"""Numbers of one broker: rows per interval, families in order."""

from __future__ import annotations

from broker.metrics import ROWS_MAX, Metrics
from protocol.metrics.rows import FailoverEventRow, FailoverStep, LatencyRow, RequestRow


def failover_event(detail: str = "") -> FailoverEventRow:
    return FailoverEventRow(
        at_ms=1,
        node="broker-1",
        failure_id="1-x-7",
        step=FailoverStep.LOG_DIR_FAILED,
        topic_count=-1,
        partition_count=-1,
        detail=detail,
    )


def test_request_rows_cover_only_the_interval_since_the_last_call():
    metrics = Metrics(broker_id=3)
    metrics.request("Produce").record(100, received_bytes=10, sent_bytes=20, failed=True)
    first, latency = metrics.request_rows(at_ms=1000, interval_ms=500)
    assert isinstance(first, RequestRow)
    assert (first.api, first.request_count, first.error_count, first.max_us) == (
        "Produce",
        1,
        1,
        100,
    )
    assert isinstance(latency, LatencyRow)
    assert (latency.name, latency.operation, latency.sum_us) == ("Produce", "request", 100)
    assert (latency.bucket_us, latency.bucket_counts) == ((103,), (1,))
    assert metrics.request_rows(at_ms=1500, interval_ms=500) == []
    assert metrics.request("Produce").request_count.value == 1


def test_event_rows_are_handed_out_once_in_order():
    metrics = Metrics(broker_id=1)
    metrics.record(failover_event("a"))
    metrics.record(failover_event("b"))
    assert [getattr(row, "detail", None) for row in metrics.drain_rows()] == ["a", "b"]
    assert metrics.drain_rows() == []


def test_the_oldest_event_row_is_dropped_and_counted_when_too_many_wait():
    metrics = Metrics(broker_id=1)
    for n in range(ROWS_MAX + 1):
        metrics.record(failover_event(str(n)))
    rows = metrics.drain_rows()
    assert len(rows) == ROWS_MAX
    assert rows[0] == failover_event("1")
    assert metrics.counters.rows_dropped.value == 1


def test_families_name_every_log_dir_and_every_api_once():
    metrics = Metrics(broker_id=1)
    metrics.log_dir("/d1").offline.set(1)
    metrics.log_dir("/d2").cordoned.set(1)
    metrics.log_dir("/d2").append_count.add(3)
    metrics.request("Fetch").record(5, received_bytes=1, sent_bytes=2, failed=False)
    families = {family.name: family for family in metrics.families()}
    assert len(families) == len(metrics.families())
    assert families["kafka_log_logmanager_offlinelogdirectorycount"].samples[0].value == 1
    assert families["kafka_log_logmanager_logdirectoryoffline"].samples == [
        (("/d1",), 1),
        (("/d2",), 0),
    ]
    assert families["kafka_log_logmanager_cordonedlogdirectorycount"].samples[0].value == 1
    assert families["kafka_log_logmanager_logdirectorycordoned"].samples == [
        (("/d1",), 0),
        (("/d2",), 1),
    ]
    assert families["kafka_network_requestmetrics_requests_total"].samples == [(("Fetch",), 1)]
