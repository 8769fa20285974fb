"""A run against another one: each measure's change with its interval of 95 %."""

from __future__ import annotations

from analytics import columns as c
from analytics.findings import Rows, change_text, comparisons_finding
from analytics.pictures.picture import BAD, GOOD, Picture, panel, shown


def run_changes(rows: Rows) -> Picture | None:
    """Return the picture, None where no run is compared."""
    found = [row for row in rows["comparisons"] if row[c.P_VALUE] is not None and row[c.BASE_MEAN]]
    if not found:
        return None
    points = [
        {
            "measure": row[c.MEASURE],
            "low": row[c.CI_LOW] / row[c.BASE_MEAN],
            "mid": row[c.DIFFERENCE] / row[c.BASE_MEAN],
            "high": row[c.CI_HIGH] / row[c.BASE_MEAN],
            "kind": "beyond chance" if row[c.CI_LOW] > 0 or row[c.CI_HIGH] < 0 else "may be chance",
        }
        for row in found
    ]
    x = {"field": "low", "type": "quantitative", "axis": {"format": "+.0%"}}
    # Which run it is stands in the caption: a narrow window has no room for it here.
    x["title"] = "change, with its interval of 95 %"
    y = {"field": "measure", "type": "nominal", "title": None}
    color = {
        "field": "kind",
        "type": "nominal",
        "title": None,
        "scale": {"domain": ["beyond chance", "may be chance"], "range": [BAD, GOOD]},
        "legend": {"orient": "top", "columns": 1},
    }
    layers = [
        {"mark": {"type": "rule", "strokeDash": [3, 3]}, "encoding": {"x": {"datum": 0}}},
        {
            "mark": {"type": "rule", "strokeWidth": 3},
            "encoding": {"x": x, "x2": {"field": "high"}, "y": y, "color": color},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {"x": {**x, "field": "mid"}, "y": y, "color": color},
        },
    ]
    words = "; ".join(f"{row[c.MEASURE]} {change_text(row)}" for row in found)
    drawing = panel("", words, {"data": {"values": points}, "layer": layers}, 34 * len(points))
    columns = (
        c.MEASURE,
        c.BASE_MEAN,
        c.MEAN,
        c.CI_LOW,
        c.CI_HIGH,
        c.P_VALUE,
        c.BASE_COUNT,
        c.COUNT,
    )
    table = shown(found, *columns)
    return Picture("Against another run", comparisons_finding(rows) or "", [drawing], table=table)
