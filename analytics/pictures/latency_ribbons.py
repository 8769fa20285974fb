"""Latencies over time as ribbons, with bands where a log dir was offline.

A ribbon of one log dir reaches from its p50 to its p99. Quantiles of several brokers cannot be put
together, so a ribbon of an API reaches from the lowest p50 that a broker had to the highest p99.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from analytics import columns as c
from analytics.findings import RowDict, Rows, latencies_finding, slow_finding
from analytics.pictures.fill_map import offline_bands
from analytics.pictures.picture import (
    BAD,
    GOOD,
    SECONDS_AXIS,
    WARM,
    Panel,
    Picture,
    panel,
    shown,
    time_of,
)
from analytics.times import bucket_begin_ms

APIS_MAX: Final = 6
LOG_DIRS_MAX: Final = 12
_POWERS: Final = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100]
_COLUMNS: Final = (c.BROKER_ID, c.NAME, c.OPERATION, c.SAMPLE_COUNT, c.P50_US, c.P99_US, c.MAX_US)


def api_ribbons(rows: Rows) -> Picture | None:
    """Return a ribbon per API of all brokers, and per topic of clients; None without any."""
    facts = [row for row in rows["latency_facts"] if row[c.SCOPE] in ("api", "client")]
    groups = _grouped(facts, _scope_and_name)
    busiest = sorted(groups, key=lambda key: -_samples(groups[key]))[:APIS_MAX]
    if not busiest:
        return None
    bands = offline_bands(rows["log_dir_facts"])
    ends = _ends(facts)
    panels = [
        _ribbon(
            f"{name} ({'clients' if scope == 'client' else 'request'})",
            groups[scope, name],
            bands,
            ends,
        )
        for scope, name in sorted(busiest)
    ]
    caption = latencies_finding(rows) or "Latencies of requests over time."
    return Picture(
        "Latency per API",
        f"{caption} Ribbons: from the lowest p50 of a broker to the highest p99 of one, clients "
        "together as one; red: a log dir offline.",
        panels,
        is_small=True,
        table=shown([row for row in rows["latencies"] if row[c.SCOPE] != "log_dir"], *_COLUMNS),
    )


def log_dir_ribbons(rows: Rows) -> Picture | None:
    """Return a panel per log dir with its read, append and sync; None without any."""
    facts = [row for row in rows["latency_facts"] if row[c.SCOPE] == "log_dir"]
    groups = _grouped(facts, _broker_and_name)
    if not groups:
        return None
    slowest = sorted(groups, key=lambda key: -max(row[c.P99_US] for row in groups[key]))
    chosen = sorted(slowest[:LOG_DIRS_MAX])
    bands = offline_bands(rows["log_dir_facts"])
    ends = _ends(facts)
    panels = [
        _operations(f"{broker}: {name}", groups[broker, name], bands, ends)
        for broker, name in chosen
    ]
    caption = slow_finding(rows) or "Latencies of log dirs over time."
    if len(groups) > len(chosen):
        caption += f" The slowest {len(chosen)} of {len(groups)} log dirs are shown."
    return Picture(
        "Latency per log dir",
        f"{caption} Ribbons: p50 to p99; red: this log dir offline.",
        panels,
        is_small=True,
        table=shown([row for row in rows["latencies"] if row[c.SCOPE] == "log_dir"], *_COLUMNS),
    )


def _scope_and_name(row: RowDict) -> tuple[str, str]:
    return row[c.SCOPE], row[c.NAME]


def _broker_and_name(row: RowDict) -> tuple[int, str]:
    return row[c.BROKER_ID], row[c.NAME]


def _operation(row: RowDict) -> str:
    return row[c.OPERATION]


def _grouped(facts: Iterable[RowDict], key: Callable[[RowDict], Any]) -> dict[Any, list[RowDict]]:
    groups: dict[Any, list[RowDict]] = defaultdict(list)
    for row in facts:
        groups[key(row)].append(row)
    return groups


def _samples(facts: Iterable[RowDict]) -> int:
    return sum(row[c.SAMPLE_COUNT] for row in facts)


def _ends(facts: Sequence[RowDict]) -> list[int]:
    """Return the first and the last time: all panels of a picture have one axis."""
    begins = [bucket_begin_ms(row) for row in facts]
    return [min(begins), max(begins) + facts[0][c.BUCKET_MS]]


def _points(facts: Iterable[RowDict]) -> list[dict[str, Any]]:
    """Return time, the lowest p50 and the highest p99 of a broker, in seconds, in order."""
    by_bucket = _grouped(facts, bucket_begin_ms)
    return [
        {
            "at": begin,
            "p50": min(row[c.P50_US] for row in own) / 1e6,
            "p99": max(row[c.P99_US] for row in own) / 1e6,
        }
        for begin, own in sorted(by_bucket.items())
    ]


def _layers(points: list[dict[str, Any]], color: Any, ends: list[int]) -> list[dict[str, Any]]:
    x = time_of("at")
    x["scale"] = {"type": "utc", "domain": ends}
    y = {
        "field": "p50",
        "type": "quantitative",
        "title": None,
        "scale": {"type": "log"},
        "axis": {**SECONDS_AXIS, "values": _POWERS},
    }
    tip = [
        {"field": "at", "type": "temporal", "format": "%H:%M:%S", "title": "at"},
        {"field": "operation"},
        {"field": "p50", "format": ".3~s", "title": "lowest p50 s"},
        {"field": "p99", "format": ".3~s", "title": "highest p99 s"},
    ]
    area = {"x": x, "y": y, "y2": {"field": "p99"}, "tooltip": tip, "color": color}
    line = {"x": x, "y": {**y, "field": "p99"}, "color": color, "tooltip": tip}
    data = {"values": points}
    return [
        {"data": data, "mark": {"type": "area", "opacity": 0.3}, "encoding": area},
        {
            "data": data,
            "mark": {"type": "line", "strokeWidth": 1.5, "point": {"size": 12}},
            "encoding": line,
        },
    ]


def _band(bands: list[dict[str, Any]]) -> dict[str, Any]:
    encoding = {"x": time_of("begin"), "x2": {"field": "end"}, "tooltip": [{"field": "of"}]}
    mark = {"type": "rect", "color": BAD, "opacity": 0.16}
    return {"data": {"values": bands}, "mark": mark, "encoding": encoding}


def _ribbon(
    title: str, facts: list[RowDict], bands: list[dict[str, Any]], ends: list[int]
) -> Panel:
    points = _points(facts)
    layers = [_band(bands), *_layers(points, {"value": GOOD}, ends)]
    return panel(title, _words(title, points), {"layer": layers}, 120)


def _operations(
    title: str, facts: list[RowDict], bands: list[dict[str, Any]], ends: list[int]
) -> Panel:
    color = {
        "field": "operation",
        "type": "nominal",
        "scale": {"domain": ["read", "append", "sync"], "range": ["#7aa974", GOOD, WARM]},
        "legend": {"orient": "top", "title": None, "offset": 2, "symbolSize": 60},
    }
    points = [
        {**point, "operation": operation}
        for operation, own in sorted(_grouped(facts, _operation).items())
        for point in _points(own)
    ]
    mine = [band for band in bands if band["of"] == title]
    layers = [_band(mine), *_layers(points, color, ends)]
    return panel(title, _words(title, points), {"layer": layers}, 120)


def _words(title: str, points: list[dict[str, Any]]) -> str:
    worst = max(points, key=lambda point: point["p99"])
    return f"{title}: p99 is {worst['p99'] * 1000:.1f} ms at worst, over {len(points)} points."
