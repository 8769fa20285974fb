"""Shows what many seeds on Spark came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from rich.console import Console
from rich.table import Table

FACTOR_KINDS: Final = ("all", "factor", "cell")
"""What is shown of an experiment; the rest is in the tables."""
DRAWN_KINDS: Final = ("all", "cause", "shape")
OUTLIERS_SHOWN: Final = 10
_NUMBERS: Final = ("seed_count", "violation_count", "p50_ms", "p90_ms", "p99_ms", "max_ms")


# Any: a cell has the type of its column.
def show_seed_tables(
    distributions: Iterable[Mapping[str, Any]],
    outliers: Iterable[Mapping[str, Any]],
    console: Console,
    *,
    is_experiment: bool,
) -> None:
    """Print how long clients were not served, by what the seeds had, and the outliers."""
    kinds = FACTOR_KINDS if is_experiment else DRAWN_KINDS
    table = Table(title="longest time without an acknowledgement, ms", title_justify="left")
    for name in ("kind", "value"):
        table.add_column(name)
    for name in ("seeds", "violations", "p50", "p90", "p99", "max"):
        table.add_column(name, justify="right")
    rows = list(distributions)
    for kind in kinds:
        for row in rows:
            if row["kind"] == kind:
                table.add_row(kind, row["value"], *[_number(row[name]) for name in _NUMBERS])
    console.print(table)
    console.print("outliers:")
    for row in list(outliers)[:OUTLIERS_SHOWN]:
        found = "" if row["is_ok"] else f"  {row['found']}"
        console.print(
            f"  {_number(row['unavailable_ms'])} ms  {row['replay']}{found}", soft_wrap=True
        )


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:.0f}"
