"""Rates and latencies of requests, as brokers wrote them down last."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from protocol.metrics.rows import RequestRow

INTERVALS_MAX = 3
"""What is so many intervals older than the newest row is of a broker that writes no more."""


class RequestsOfApi(msgspec.Struct, frozen=True, kw_only=True):
    """The requests of one API that one broker answered during its last interval, nodes' too."""

    broker: int
    api: str
    at_ms: int
    """The end of the interval: milliseconds since the Unix epoch."""
    per_second: float
    error_count: int
    """Answers with an error code at any level."""
    p50_us: int
    """From the whole request read to the answer given out; fetches that wait count whole."""
    p99_us: int
    max_us: int


def newest_requests(
    rows: Sequence[RequestRow],
) -> tuple[list[RequestRow], list[RequestsOfApi]]:
    """Return the rows that still count, those of each broker's last interval, and what they say."""
    if not rows:
        return [], []
    newest_ms = max(row.at_ms for row in rows)
    last_ms: dict[int, int] = {}
    for row in rows:
        last_ms[row.broker_id] = max(row.at_ms, last_ms.get(row.broker_id, 0))
    left = [
        row
        for row in rows
        if row.at_ms == last_ms[row.broker_id]
        and row.at_ms >= newest_ms - INTERVALS_MAX * row.interval_ms
    ]
    return left, [_told(row) for row in left]


def _told(row: RequestRow) -> RequestsOfApi:
    return RequestsOfApi(
        broker=row.broker_id,
        api=row.api,
        at_ms=row.at_ms,
        per_second=1000 * row.request_count / max(1, row.interval_ms),
        error_count=row.error_count,
        p50_us=row.p50_us,
        p99_us=row.p99_us,
        max_us=row.max_us,
    )
