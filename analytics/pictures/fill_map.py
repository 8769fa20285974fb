"""All log dirs over time: how much they hold, and when they were not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from analytics import columns as c
from analytics.findings import RowDict, Rows, imbalance_finding, log_dirs_finding
from analytics.pictures.picture import BAD, Picture, panel, shown, time_of
from analytics.times import bucket_begin_ms

LOG_DIRS_MAX: Final = 120


def fill_map(rows: Rows) -> Picture | None:
    """Return the picture, None without samples of log dirs."""
    facts = rows["log_dir_facts"]
    if not facts:
        return None
    names = sorted({_name(row) for row in facts})[:LOG_DIRS_MAX]
    cells = [_cell(row) for row in facts if _name(row) in set(names)]
    offline = [cell for cell in cells if cell["online"] < 1]
    y = {"field": "log_dir", "type": "nominal", "sort": names, "title": None}
    color = {
        "field": "used",
        "type": "quantitative",
        "title": "used bytes",
        "scale": {"scheme": "blues", "domainMin": 0},
        "legend": {"format": "~s", "orient": "top", "gradientLength": 240},
    }
    tip = [
        {"field": "log_dir", "title": "log dir"},
        {"field": "used", "format": ".4~s", "title": "used bytes"},
        {"field": "fill", "format": ".1%"},
        {"field": "online", "format": ".0%", "title": "of its samples online"},
    ]
    x = {"x": time_of("begin"), "x2": {"field": "end"}, "y": y, "tooltip": tip}
    layers: list[dict[str, Any]] = [
        {"mark": "rect", "data": {"values": cells}, "encoding": {**x, "color": color}},
        {
            "mark": {"type": "rect", "color": BAD, "opacity": 0.85},
            "data": {"values": offline},
            "encoding": x,
        },
    ]
    caption = " ".join(filter(None, (log_dirs_finding(rows), imbalance_finding(rows))))
    words = f"Used bytes of {len(names)} log dirs over time; red where one was offline."
    drawing = panel("", words, {"layer": layers}, 22 * len(names))
    return Picture(
        "Log dirs over time",
        f"{caption} Red: offline.",
        [drawing],
        table=shown(
            rows["log_dirs"], c.BROKER_ID, c.LOG_DIR, c.STATE, c.USED_BYTES, c.TOTAL_BYTES, c.FILL
        ),
    )


def offline_bands(facts: Sequence[RowDict]) -> list[dict[str, Any]]:
    """Return when log dirs were not online all the time: begin, end (ms), broker, log dir."""
    return [
        {
            "begin": bucket_begin_ms(row),
            "end": bucket_begin_ms(row) + row[c.BUCKET_MS],
            "of": _name(row),
        }
        for row in facts
        if row[c.ONLINE_SHARE] < 1
    ]


def _name(row: RowDict) -> str:
    return f"{row[c.BROKER_ID]}: {row[c.LOG_DIR]}"


def _cell(row: RowDict) -> dict[str, Any]:
    begin = bucket_begin_ms(row)
    return {
        "log_dir": _name(row),
        "begin": begin,
        "end": begin + row[c.BUCKET_MS],
        "used": row[c.USED_BYTES],
        "fill": row[c.FILL],
        "online": row[c.ONLINE_SHARE],
    }
