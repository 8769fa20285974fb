"""Rates and latencies of what brokers wrote last."""

from __future__ import annotations

from jbodlab.http_api.core.requests import newest_requests
from protocol.metrics.rows import RequestRow


def row(broker_id: int, api: str, at_ms: int, count: int) -> RequestRow:
    return RequestRow(
        at_ms=at_ms,
        interval_ms=500,
        broker_id=broker_id,
        api=api,
        request_count=count,
        error_count=1,
        p50_us=100,
        p99_us=900,
        max_us=1000,
        received_bytes=1,
        sent_bytes=1,
    )


def test_each_brokers_last_interval_counts() -> None:
    rows = [row(1, "Produce", 1000, 5), row(1, "Fetch", 1500, 10), row(2, "Produce", 1100, 20)]
    left, told = newest_requests(rows)
    assert left == rows[1:]
    assert [(each.broker, each.api, each.per_second) for each in told] == [
        (1, "Fetch", 20),
        (2, "Produce", 40),
    ]


def test_a_broker_that_writes_no_more_has_no_rate() -> None:
    _, told = newest_requests([row(1, "Produce", 1000, 5), row(2, "Produce", 2600, 5)])
    assert [each.broker for each in told] == [2]


def test_nothing_is_told_of_nothing() -> None:
    assert newest_requests([]) == ([], [])
