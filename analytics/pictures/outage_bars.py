"""Who was unavailable, when and why: a bar per time without service."""

from __future__ import annotations

from typing import Final

from analytics import columns as c
from analytics.findings import Rows, outages_finding
from analytics.pictures.picture import Picture, panel, shown, time_of

PARTITIONS_MAX: Final = 40


def outage_bars(rows: Rows) -> Picture | None:
    """Return the picture, None where everybody was served."""
    found = rows["outages"]
    if not found:
        return None
    lasting = sorted(found, key=lambda row: -row[c.DURATION_MS])
    names = list(dict.fromkeys(f"{row[c.TOPIC]}-{row[c.PARTITION]}" for row in lasting))
    chosen = names[:PARTITIONS_MAX]
    bars = [
        {
            "partition": f"{row[c.TOPIC]}-{row[c.PARTITION]}",
            "begin": row[c.BEGAN_MS],
            "end": row[c.BEGAN_MS] + row[c.DURATION_MS],
            "ms": row[c.DURATION_MS],
            "cause": row[c.CAUSE],
            "seen by": row[c.SEEN_BY],
        }
        for row in found
        if f"{row[c.TOPIC]}-{row[c.PARTITION]}" in chosen
    ]
    x = time_of("begin")
    if rows["runs"]:
        x["scale"] = {
            "type": "utc",
            "domain": [rows["runs"][0][c.FIRST_MS], rows["runs"][0][c.LAST_MS]],
        }
    mark = {"type": "bar", "height": {"band": 0.7}, "minBandSize": 3, "opacity": 0.85}
    spec = {
        "data": {"values": bars},
        "mark": {**mark, "stroke": "#888", "strokeWidth": 0.5},
        "encoding": {
            "x": x,
            "x2": {"field": "end"},
            "y": {"field": "partition", "type": "nominal", "sort": chosen, "title": None},
            "color": {
                "field": "cause",
                "type": "nominal",
                "title": None,
                "scale": {"scheme": "tableau10"},
                "legend": {"orient": "bottom", "columns": 1, "labelLimit": 600},
            },
            "tooltip": [{"field": name} for name in ("partition", "ms", "cause", "seen by")],
        },
    }
    words = f"Times without service of {len(chosen)} partitions, by cause."
    columns = (c.TOPIC, c.PARTITION, c.SEEN_BY, c.BEGAN_MS, c.DURATION_MS, c.CAUSE)
    return Picture(
        "Unavailable partitions",
        outages_finding(rows) or "",
        [panel("", words, spec, max(18 * len(chosen), 40))],
        table=shown(lasting, *columns),
    )
