"""Each log dir's z-score among its siblings over time: a disk that slows before it fails."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from analytics import columns as c
from analytics.findings import SLOW_Z_MIN, Rows, slow_finding
from analytics.pictures.picture import BAD, Picture, panel, shown, time_of
from analytics.times import bucket_begin_ms

LOG_DIRS_MAX: Final = 10


def slow_disks(rows: Rows) -> Picture | None:
    """Return the picture, None with too few log dirs to tell."""
    scores = rows["slowness"]
    if not scores:
        return None
    worst: dict[str, float] = defaultdict(float)
    points: list[dict[str, Any]] = []
    for row in scores:
        name = f"{row[c.BROKER_ID]}: {row[c.LOG_DIR]}"
        worst[name] = max(worst[name], row[c.Z_SCORE])
        at = bucket_begin_ms(row)
        points.append({"at": at, "z": row[c.Z_SCORE], "of": name, "operation": row[c.OPERATION]})
    chosen = sorted(worst, key=lambda name: -worst[name])[:LOG_DIRS_MAX]
    points = [point for point in points if point["of"] in chosen]
    line = {
        "mark": {"type": "line", "point": {"size": 14}, "strokeWidth": 1.5},
        "data": {"values": sorted(points, key=lambda point: point["at"])},
        "encoding": {
            "x": time_of("at"),
            "y": {"field": "z", "type": "quantitative", "title": "z-score among siblings"},
            "color": {
                "field": "of",
                "type": "nominal",
                "title": None,
                "sort": chosen,
                "scale": {"scheme": "tableau10"},
                "legend": {"orient": "right"},
            },
            # Beside points a legend has none of the strokes: the caption tells.
            "strokeDash": {
                "field": "operation",
                "type": "nominal",
                "legend": None,
                "scale": {"domain": ["append", "sync"], "range": [[1, 0], [4, 3]]},
            },
            "tooltip": [{"field": "of"}, {"field": "operation"}, {"field": "z", "format": ".1f"}],
        },
    }
    limit = {
        "mark": {"type": "rule", "color": BAD, "strokeDash": [5, 3]},
        "encoding": {"y": {"datum": SLOW_Z_MIN}},
    }
    name = chosen[0]
    words = (
        f"Z-scores over time; {name} is highest with {worst[name]:.1f}; above 3.5 is an outlier."
    )
    drawing = panel("", words, {"layer": [line, limit]}, 220)
    columns = (
        *(c.BROKER_ID, c.LOG_DIR, c.OPERATION, c.MEAN_US, c.SIBLINGS_US, c.Z_SCORE_MAX),
        *(c.SLOW_BUCKET_COUNT, c.BUCKET_COUNT, c.WARNING_MS),
    )
    caption = " ".join(filter(None, (slow_finding(rows), "Dashes: syncs.")))
    return Picture(
        "Slow among its siblings",
        caption,
        [drawing],
        table=shown(rows["slow_log_dirs"], *columns),
    )
