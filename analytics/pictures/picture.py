"""What a picture is: panels in Vega-Lite, the finding as its caption, and the numbers as a table.

Vega-Lite is a grammar of JSON, so a panel is made without the library that draws it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from analytics.findings import RowDict

Spec: TypeAlias = dict[str, Any]  # Any: JSON
ROWS_SHOWN_MAX: Final = 200
"""Of the table below a picture."""

GOOD: Final = "#3b82c4"
SOFT: Final = "#8fb8de"
BAD: Final = "#d1495b"
WARM: Final = "#e09f3e"
"""Told apart by the colour-blind, and on light and dark ground."""

SECONDS_AXIS: Final = {"labelExpr": "format(datum.value, '~s') + 's'"}
BYTES_AXIS: Final = {"format": "~s"}
TIME_AXIS: Final = {
    "format": "%H:%M:%S",
    "labelOverlap": True,
    # A label that would stick out at an end is left out: it would be cut there.
    "labelBound": True,
    "title": None,
}


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing."""

    title: str
    description: str
    """Read aloud in its place."""
    spec: Spec
    """Vega-Lite, without size and colours of the ground."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One section of the page."""

    title: str
    caption: str
    """The finding, in a sentence."""
    panels: Sequence[Panel]
    is_small: bool = False
    """Whether several panels stand beside each other."""
    table: Sequence[Mapping[str, Any]] = ()
    """The numbers, for those who read no pictures; one name of columns for all rows."""


def panel(title: str, description: str, spec: Spec, height: int) -> Panel:
    """Return a panel as wide as its place."""
    whole = {"width": "container", "height": height, "description": description, **spec}
    return Panel(title, description, whole)


def shown(rows: Sequence[RowDict], *columns: str) -> list[dict[str, Any]]:
    """Return some columns of the first rows, for the table of a picture."""
    return [{name: row[name] for name in columns} for row in rows[:ROWS_SHOWN_MAX]]


def time_of(name: str, title: str | None = None) -> Spec:
    """Return the channel of a time in milliseconds since the epoch, in UTC."""
    axis = TIME_AXIS if title is None else {**TIME_AXIS, "title": title}
    return {"field": name, "type": "temporal", "scale": {"type": "utc"}, "axis": axis}
