"""Reassignments between brokers: their rate against their throttle, and produce latency beside."""

from __future__ import annotations

from typing import Any

from analytics import columns as c
from analytics.findings import RowDict, Rows, brokers_text, reassignments_finding
from analytics.pictures.move_bars import panels_of
from analytics.pictures.picture import Picture, shown


def reassignment_bars(rows: Rows) -> Picture | None:
    """Return the picture, None without reassignments."""
    found = rows["reassignments"]
    if not found:
        return None
    bars = [_bar(row) for row in found]
    columns = (
        *(c.TOPIC, c.PARTITION, c.ADDING, c.REMOVING, c.LEADER, c.STATE, c.COPIED_BYTES),
        *(c.THROTTLE_BYTES_PER_S, c.BYTES_PER_S, c.DURATION_MS),
        *(c.PRODUCE_P99_BEFORE_US, c.PRODUCE_P99_US),
    )
    table = [
        {**row, c.ADDING: brokers_text(row[c.ADDING]), c.REMOVING: brokers_text(row[c.REMOVING])}
        for row in shown(found, *columns)
    ]
    panels = panels_of(bars, rows["latency_facts"], "reassignment")
    return Picture(
        "Reassignments between brokers", reassignments_finding(rows) or "", panels, table=table
    )


def _bar(row: RowDict) -> dict[str, Any]:
    adds, removes = brokers_text(row[c.ADDING]), brokers_text(row[c.REMOVING])
    return {
        "move": f"{row[c.TOPIC]}-{row[c.PARTITION]}: adds {adds}, removes {removes}",
        "state": row[c.STATE].replace("_", " "),
        "begin": row[c.STARTED_AT_MS],
        "end": max(row[c.LAST_SEEN_MS], row[c.STARTED_AT_MS] + 1),
        "rate": row[c.BYTES_PER_S] or 0,
        "throttle": row[c.THROTTLE_BYTES_PER_S],
    }
