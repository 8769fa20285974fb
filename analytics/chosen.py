"""Which run a report is about, and which one it is compared with."""

from __future__ import annotations

from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.errors import UnknownRun

_NAMED_MAX: Final = 20


class Chosen(NamedTuple):
    """Run ids; where several runs have one, the latest of them is meant."""

    run: str | None = None
    """None: the latest one."""
    against: str | None = None
    """None: of each run the one of its cluster before it."""


def check_runs(chosen: Chosen, runs: DataFrame) -> None:
    """Input: ``runs``.

    Raises:
        UnknownRun: one that is chosen is not there.
    """
    wanted = [run for run in chosen if run is not None]
    if not wanted:
        return
    ids = runs.select(c.RUN_ID).distinct()
    known = {row[0] for row in ids.where(F.col(c.RUN_ID).isin(wanted)).collect()}
    for run in wanted:
        if run not in known:
            # Only so many are brought here: a dump may have very many runs.
            named = [row[0] for row in ids.orderBy(c.RUN_ID).limit(_NAMED_MAX + 1).collect()]
            more = ", ..." if len(named) > _NAMED_MAX else ""
            names = ", ".join(named[:_NAMED_MAX]) or "none"
            raise UnknownRun(f"there is no run {run} in the dump; there are {names}{more}")


def chosen_run(run: str | None) -> Column:
    """Aggregate ``runs`` to the struct of ``columns.RUN`` of a run id, or of the latest run."""
    is_it = F.lit(run is None) | (F.col(c.RUN_ID) == F.lit(run))
    return F.max_by(F.struct(*c.RUN), F.when(is_it, F.col(c.LAST_MS)))
