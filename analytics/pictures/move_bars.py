"""Moves between log dirs: their rate against their throttle, and produce latency beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from analytics import columns as c
from analytics.findings import RowDict, Rows, moves_finding
from analytics.pictures.picture import (
    BAD,
    BYTES_AXIS,
    GOOD,
    SECONDS_AXIS,
    SOFT,
    WARM,
    Panel,
    Picture,
    panel,
    shown,
    time_of,
)
from analytics.sizes import count_text
from analytics.times import bucket_begin_ms


def move_bars(rows: Rows) -> Picture | None:
    """Return the picture, None without moves."""
    found = rows["moves"]
    if not found:
        return None
    bars = [_bar(row) for row in found]
    columns = (
        *(c.BROKER_ID, c.TOPIC, c.PARTITION, c.TARGET_LOG_DIR, c.THROTTLE_BYTES_PER_S),
        *(c.BYTES_PER_S, c.DURATION_MS, c.WAITED_MS, c.PRODUCE_P99_BEFORE_US, c.PRODUCE_P99_US),
    )
    table = shown(rows["throttle_costs"], *columns)
    panels = panels_of(bars, rows["latency_facts"], "move")
    return Picture("Moves between log dirs", moves_finding(rows) or "", panels, table=table)


def panels_of(
    bars: list[dict[str, Any]], latency_facts: Sequence[RowDict], name: str
) -> list[Panel]:
    """Return rates beside throttles, and produce latency meanwhile where it is known.

    Args:
        bars: what copies: ``move`` (its name), ``state``, ``begin``, ``end``, ``rate``,
            ``throttle``.
        latency_facts: of any names.
        name: what a bar is, a noun whose plural ends in s.
    """
    facts = [row for row in latency_facts if row[c.NAME] == "Produce"]
    begin = min([bar["begin"] for bar in bars] + [bucket_begin_ms(row) for row in facts])
    end = max([bar["end"] for bar in bars] + [bucket_begin_ms(row) for row in facts])
    words = _words(bars, name)
    panels = [panel("Rate, and throttle (dashes)", words, _rate(bars, [begin, end]), 160)]
    if facts:
        words = f"The p99 of produce requests of each broker over time, with bands for the {name}s."
        panels.append(
            panel("Produce p99 meanwhile", words, _produce(bars, facts, [begin, end]), 120)
        )
    return panels


def _bar(row: RowDict) -> dict[str, Any]:
    return {
        "move": f"{row[c.TOPIC]}-{row[c.PARTITION]} to {row[c.TARGET_LOG_DIR]}",
        "state": row[c.STATE],
        "begin": row[c.STARTED_AT_MS],
        "end": max(row[c.LAST_SEEN_MS], row[c.STARTED_AT_MS] + 1),
        "rate": row[c.BYTES_PER_S] or 0,
        "throttle": row[c.THROTTLE_BYTES_PER_S],
    }


def _rate(bars: list[dict[str, Any]], ends: list[int]) -> dict[str, Any]:
    x = time_of("begin")
    x["scale"] = {"type": "utc", "domain": ends}
    y = {"field": "rate", "type": "quantitative", "title": "bytes/s", "axis": BYTES_AXIS}
    tip = [
        {"field": "move"},
        {"field": "state"},
        {"field": "rate", "format": ".3~s", "title": "bytes/s"},
        {"field": "throttle", "format": ".3~s", "title": "throttle, bytes/s"},
    ]
    throttled = [bar for bar in bars if bar["throttle"] is not None]
    return {
        "layer": [
            {
                "data": {"values": bars},
                "mark": {"type": "rect", "color": GOOD, "opacity": 0.6, "stroke": GOOD},
                "encoding": {
                    "x": x,
                    "x2": {"field": "end"},
                    "y": y,
                    "y2": {"datum": 0},
                    "tooltip": tip,
                },
            },
            {
                "data": {"values": throttled},
                "mark": {"type": "rule", "color": BAD, "strokeDash": [5, 3], "strokeWidth": 2},
                "encoding": {"x": x, "x2": {"field": "end"}, "y": {**y, "field": "throttle"}},
            },
        ]
    }


def _produce(bars: list[dict[str, Any]], facts: list[RowDict], ends: list[int]) -> dict[str, Any]:
    points = [
        {"at": bucket_begin_ms(row), "p99": row[c.P99_US] / 1e6, "broker": str(row[c.BROKER_ID])}
        for row in facts
        if row[c.BROKER_ID] >= 0
    ]
    x = time_of("at")
    x["scale"] = {"type": "utc", "domain": ends}
    y = {
        "field": "p99",
        "type": "quantitative",
        "title": None,
        "axis": {**SECONDS_AXIS, "tickCount": 4},
    }
    color = {
        "field": "broker",
        "type": "nominal",
        "scale": {"range": [GOOD, WARM, "#7aa974", SOFT, BAD]},
        "legend": {"orient": "top", "title": "broker"},
    }
    band = {"x": {**time_of("begin"), "scale": x["scale"]}, "x2": {"field": "end"}}
    return {
        "layer": [
            {
                "data": {"values": bars},
                "mark": {"type": "rect", "color": SOFT, "opacity": 0.25},
                "encoding": band,
            },
            {
                "data": {"values": points},
                "mark": {"type": "line", "strokeWidth": 1.5},
                "encoding": {"x": x, "y": y, "color": color},
            },
        ]
    }


def _words(bars: list[dict[str, Any]], name: str) -> str:
    states: dict[str, int] = defaultdict(int)
    for bar in bars:
        states[bar["state"]] += 1
    told = ", ".join(f"{count} {state}" for state, count in states.items())
    return f"{count_text(len(bars), name)}: {told}."
