"""Chooses what a report and its page show of each table: the latest run first, as much as fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final, NamedTuple, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.chosen import chosen_run
from analytics.tables import collected

Run: TypeAlias = Mapping[str, Any]
"""The columns of ``columns.RUN``; all None where there is no run."""
NO_RUN: Final[Run] = dict.fromkeys(c.RUN)


class Shown(NamedTuple):
    """Rows of tables, in their order; of those that were cut, the latest run's at the end."""

    rows: dict[str, list[dict[str, Any]]]
    left_out: dict[str, int]
    """How many rows are not there, by table; tables without any are missing."""


def rows_shown(
    frames: Mapping[str, DataFrame], latest_run: Callable[[], Run], rows_max: int
) -> Shown:
    """Return up to ``rows_max`` rows of each table.

    ``latest_run`` is only asked where a table has more.
    """
    found = collected(frames, rows_max + 1)
    too_long = {name: frames[name] for name, rows in found.items() if len(rows) > rows_max}
    if not too_long:
        return Shown(found, {})
    latest = latest_run()
    parts: dict[str, DataFrame] = {}
    for name, frame in too_long.items():
        is_own = is_of_run(latest) if set(c.RUN) <= set(frame.columns) else F.lit(1) == 1
        parts |= {f"{name} own": frame.where(is_own), f"{name} others": frame.where(~is_own)}
    first = collected(parts, rows_max)
    left_out: dict[str, int] = {}
    for name, frame in too_long.items():
        both = [*first[f"{name} others"], *first[f"{name} own"]]
        found[name] = cut(both, latest, rows_max)
        left_out[name] = frame.count() - len(found[name])
    return Shown(found, left_out)


def latest_of(runs: DataFrame) -> Run:
    """Input: ``runs``. Return the latest one."""
    [row] = runs.agg(chosen_run(None).alias("latest")).collect()
    return NO_RUN if row["latest"] is None else row["latest"].asDict()


def with_run_last(shown: Shown, run: Run) -> Shown:
    """Return what is shown with one run as the last of ``runs``: the one that a page is about."""
    runs = sorted(shown.rows.get("runs", ()), key=lambda row: _is_own(row, run))
    return Shown({**shown.rows, "runs": runs}, shown.left_out)


def cut_shown(shown: Shown, latest: Run, rows_max: int) -> Shown:
    """Return less of what is shown."""
    rows = {name: cut(each, latest, rows_max) for name, each in shown.rows.items()}
    left_out = {
        name: shown.left_out.get(name, 0) + len(shown.rows[name]) - len(each)
        for name, each in rows.items()
    }
    return Shown(rows, {name: count for name, count in left_out.items() if count})


def cut(rows: Sequence[dict[str, Any]], latest: Run, rows_max: int) -> list[dict[str, Any]]:
    """Return ``rows`` if they are not too many, else the latest run's, after what fits of others.

    Rows of no run count as the latest run's.
    """
    if len(rows) <= rows_max:
        return list(rows)
    own = [row for row in rows if _is_own(row, latest)][:rows_max]
    others = [row for row in rows if not _is_own(row, latest)]
    return [*others[: rows_max - len(own)], *own]


def is_of_run(run: Run) -> Column:
    """Return the condition that a row is of a run."""
    conditions = [F.col(name).eqNullSafe(F.lit(run[name])) for name in c.RUN]
    return reduce(lambda one, other: one & other, conditions)


def _is_own(row: Mapping[str, Any], latest: Run) -> bool:
    return all(row.get(name, latest[name]) == latest[name] for name in c.RUN)
