"""The page of many simulated clusters: how long clients waited, by what the clusters had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from analytics import columns as c
from analytics.findings import RowDict
from analytics.pictures.page import Page, Section, drawn
from analytics.pictures.picture import BAD, GOOD, SOFT, WARM, Panel, Picture, panel, shown
from analytics.sizes import count_text, duration_text

_OF: Final = {
    "cell": "Every combination of factors",
    "cause": "What was broken",
    "policy": "Configurations",
    "shape": "Brokers x log dirs",
    "feature": "What was on",
}
"""Kinds of distributions with a picture of one panel."""
_VALUES_MAX: Final = 80
_MARKS: Final = {c.P50_MS: GOOD, c.P90_MS: SOFT, c.P99_MS: WARM, c.MAX_MS: BAD}
_WORDS: Final = (
    "Longest silence of a producer: blue its median, light blue p90, orange p99, red max."
)


def seeds_page_text(tables: Mapping[str, Sequence[RowDict]], script: str) -> str:
    """Return the page.

    Args:
        tables: rows of ``distributions`` and ``outliers``.
        script: as ``vega.vega_script``.
    """
    found = tables["distributions"]
    [everything] = [row for row in found if row["kind"] == "all"] or [None]
    seeds = 0 if everything is None else everything["seed_count"]
    page = Page(
        "Simulated clusters",
        count_text(seeds, "seed"),
        [] if everything is None else _findings(everything, found),
        [*_factors(found), *_kinds(found)],
        Section("Outliers", "Each with the command that runs it again.", tables["outliers"]),
    )
    return drawn(page, script)


def _findings(everything: RowDict, found: Sequence[RowDict]) -> list[str]:
    seeds = count_text(everything["seed_count"], "seed")
    median, longest = everything[c.P50_MS], everything[c.MAX_MS]
    said = [f"{seeds}, {count_text(everything['violation_count'], 'violation')}."]
    if longest is not None:
        said.append(
            f"A producer got no acknowledgement for {duration_text(median)} at most in half of "
            f"them, for {duration_text(longest)} in the worst."
        )
    return said + [_of_factor(name, rows) for name, rows in _by_factor(found).items()]


def _of_factor(factor: str, rows: Sequence[RowDict]) -> str:
    lowest = min(rows, key=lambda row: row[c.P50_MS])
    highest = max(rows, key=lambda row: row[c.P50_MS])
    low, high = duration_text(lowest[c.P50_MS]), duration_text(highest[c.P50_MS])
    if low == high:
        return f"{factor}: median {low} with each of its values."
    return f"{factor}: median {low} with {_value(lowest)}, {high} with {_value(highest)}."


def _factors(found: Sequence[RowDict]) -> list[Picture]:
    panels = [_ranges(name, rows) for name, rows in _by_factor(found).items()]
    rows = [row for row in found if row["kind"] == "factor"]
    return [_picture("Factors", panels, rows, is_small=True)] if panels else []


def _kinds(found: Sequence[RowDict]) -> list[Picture]:
    pictures: list[Picture] = []
    for kind, title in _OF.items():
        rows = [row for row in found if row["kind"] == kind and row[c.MAX_MS] is not None]
        rows.sort(key=lambda row: (-row[c.P50_MS], -row[c.MAX_MS], row["value"]))
        if rows:
            pictures.append(_picture(title, [_ranges("", rows[:_VALUES_MAX])], rows))
    return pictures


def _picture(
    title: str, panels: Sequence[Panel], rows: Sequence[RowDict], *, is_small: bool = False
) -> Picture:
    columns = ("value", "seed_count", "violation_count", *_MARKS)
    return Picture(title, _WORDS, panels, is_small, shown(rows, *columns))


def _ranges(title: str, rows: Sequence[RowDict]) -> Panel:
    """Draw a line per value, from the median to the longest, with marks on it."""
    names = [row["value"] for row in rows]
    values = [{"of": row["value"], **{name: row[name] for name in _MARKS}} for row in rows]
    y = {"field": "of", "type": "nominal", "sort": names, "title": None}
    axis = {"title": "ms", "format": "~s"}
    x = {"type": "quantitative", "axis": axis}
    tip = [{"field": name} for name in ("of", *_MARKS)]
    rule = {"y": y, "x": {**x, "field": c.P50_MS}, "x2": {"field": c.MAX_MS}, "tooltip": tip}
    layers: list[dict[str, Any]] = [{"mark": {"type": "rule"}, "encoding": rule}]
    for name, color in _MARKS.items():
        mark = {"type": "tick", "color": color, "thickness": 3}
        layers.append({"mark": mark, "encoding": {"y": y, "x": {**x, "field": name}}})
    words = f"Longest silence by value, {len(names)} of them{title and ' of ' + title}."
    spec = {"data": {"values": values}, "layer": layers}
    return panel(title, words, spec, 18 * len(names) + 20)


def _by_factor(found: Sequence[RowDict]) -> dict[str, list[RowDict]]:
    """Return the rows of each factor, by their values."""
    factors: dict[str, list[RowDict]] = {}
    for row in found:
        if row["kind"] == "factor" and row[c.MAX_MS] is not None:
            factors.setdefault(row["value"].partition("=")[0], []).append(row)
    for rows in factors.values():
        rows.sort(key=lambda row: (len(_value(row)), _value(row)))
    return factors


def _value(row: RowDict) -> str:
    return row["value"].partition("=")[2]
