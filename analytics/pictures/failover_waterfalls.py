"""Each failover as a waterfall: which step took how long, until all clients are served."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from analytics import columns as c
from analytics.findings import RowDict, Rows, failovers_finding
from analytics.pictures.picture import BAD, GOOD, WARM, Panel, Picture, panel, shown
from analytics.times import utc_text

FAILOVERS_MAX: Final = 12
_TITLES: Final = {
    "log_dir_failed": "failed",
    "heartbeat_sent": "heartbeat sent",
    "controller_noticed": "noticed",
    "replicas_offline": "offline",
    "leaders_elected": "elected",
    "brokers_told": "told",
    "client_recovered": "last partition back",
}


def failover_waterfalls(rows: Rows) -> Picture | None:
    """Return the picture of the slowest failovers, None where nothing failed."""
    found = rows["failovers"]
    if not found:
        return None
    slowest = sorted(found, key=lambda row: -(row[c.ENDED_AFTER_MS] or 0))[:FAILOVERS_MAX]
    panels = [_waterfall(row, rows["failover_steps"]) for row in slowest]
    caption = failovers_finding(rows) or ""
    if len(found) > len(slowest):
        caption += f" The slowest {len(slowest)} of {len(found)} are shown."
    columns = (c.FAILURE_ID, c.STEP, c.NODE, c.SINCE_FAILURE_MS, c.SINCE_PREVIOUS_MS)
    return Picture(
        "Failovers by stage",
        caption,
        panels,
        is_small=len(panels) > 1,
        table=shown(rows["failover_steps"], *columns),
    )


def _waterfall(failover: RowDict, steps: Sequence[RowDict]) -> Panel:
    own = [row for row in steps if row[c.FAILURE_ID] == failover[c.FAILURE_ID]]
    own.sort(key=lambda row: row[c.STEP_ORDER])
    bars = [_bar(row) for row in own if row[c.SINCE_FAILURE_MS] is not None]
    order = [_TITLES[row[c.STEP]] for row in own]
    lost = [_TITLES[row[c.STEP]] for row in own if row[c.SINCE_FAILURE_MS] is None]
    y = {
        "field": "step",
        "type": "nominal",
        "sort": order,
        "title": None,
        "scale": {"domain": order},
    }
    x = {
        "field": "from",
        "type": "quantitative",
        "title": "ms since the failure",
        "axis": {"tickCount": 6},
        # Room for the words behind the last bar, in a narrow window, too.
        "scale": {"domainMax": 1.3 * max((bar["to"] for bar in bars), default=0) or 1},
    }
    tip = [{"field": "step"}, {"field": "node"}, {"field": "to", "title": "ms since the failure"}]
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.7}, "minBandSize": 2, "cornerRadius": 2},
        "encoding": {
            "x": x,
            "x2": {"field": "to"},
            "y": y,
            "tooltip": tip,
            "color": {
                "field": "kind",
                "type": "nominal",
                "legend": None,
                "scale": {"domain": ["step", "client", "skew"], "range": [GOOD, WARM, BAD]},
            },
        },
    }
    label = {
        "mark": {"type": "text", "align": "left", "dx": 5},
        "encoding": {
            "x": {"field": "to", "type": "quantitative"},
            "y": y,
            "text": {"field": "label"},
        },
    }
    title = f"{failover[c.NODE]}, {utc_text(failover[c.FAILED_AT_MS])[11:]}: {failover[c.CAUSE]}"
    words = "; ".join(f"{bar['step']} at {bar['to']} ms" for bar in bars)
    words += "".join(f"; {name} was not seen" for name in lost)
    return panel(title, words, {"data": {"values": bars}, "layer": [bar, label]}, 26 * len(order))


def _bar(row: RowDict) -> dict[str, Any]:
    to, took = row[c.SINCE_FAILURE_MS], row[c.SINCE_PREVIOUS_MS] or 0
    kind = "client" if row[c.STEP] == "client_recovered" else "step"
    return {
        "step": _TITLES[row[c.STEP]],
        "node": row[c.NODE],
        "from": to - took,
        "to": to,
        "label": f"+{took} ms" if took > 0 else f"{to} ms" if took == 0 else f"{took} ms: clocks",
        "kind": kind if took >= 0 else "skew",
    }
