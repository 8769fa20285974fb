"""Every table of a report as DuckDB makes it of the same dump, with the names of its columns."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.duckdb_answers import ANSWERS
from benchmarks.duckdb_facts import FACTS
from benchmarks.duckdb_failovers import FAILOVERS
from benchmarks.duckdb_tables import QUERIES, RUN, loaded

Row: TypeAlias = dict[str, Any]

_HELPERS: Final = {
    "write_rates": ("partitions", f"{RUN}, topic, partition, rate"),
    "dirs": ("log_dirs", f"{RUN}, broker_id, log_dir, state"),
}
_PLAN: Final = "topic VARCHAR, partition BIGINT, replicas BIGINT[], log_dirs VARCHAR[]"
_POINTS: Final = 4000
"""Of Simpson's rule: enough for ten digits of a p-value that is not minute."""


def oracle_tables(dump: Path, plan: Path, bucket_s: int) -> dict[str, list[Row]]:
    """Return the rows of every table that comes from other tables.

    Args:
        dump: folder of metric rows, all of them good.
        plan: JSON of kafka-reassign-partitions.
        bucket_s: the length of a fact's bucket; 0: what a report takes by itself.
    """
    database = loaded(dump)
    for name, (table, columns) in _HELPERS.items():
        database.execute(f"CREATE VIEW {name} AS FROM ({QUERIES[table]}) AS one({columns})")
    for state in ("online", "stale"):
        database.execute(f"CREATE VIEW {state}_log_dirs AS FROM dirs WHERE state = '{state}'")
    columns = f"{{'partitions': 'STRUCT({_PLAN})[]'}}"
    database.execute(f"CREATE TABLE plan AS FROM read_json('{plan}', columns = {columns})")
    found: dict[str, list[Row]] = {}
    for name, made in (FAILOVERS | FACTS | ANSWERS).items():
        database.execute(f"CREATE TABLE {name} AS {made.query}")
        if name == "bucket" and bucket_s:
            database.execute(f"UPDATE bucket SET bucket_ms = {bucket_s * 1000}")
        if made.is_shown:
            read = database.execute(f"FROM {name}")
            names = [column[0] for column in read.description or ()]
            found[name] = [dict(zip(names, row, strict=True)) for row in read.fetchall()]
    found["comparisons"] = [_tested(row) for row in found["comparisons"]]
    return found


def _tested(row: Row) -> Row:
    """Put Welch's interval and p-value in the place of what they come from."""
    error2, freedom = row.pop("error2"), row.pop("freedom")
    if not error2 or freedom is None:
        return row | dict.fromkeys(("ci_low", "ci_high", "p_value"))
    error = math.sqrt(error2)
    half = _t_quantile(freedom) * error
    return row | {
        "ci_low": row["difference"] - half,
        "ci_high": row["difference"] + half,
        "p_value": _p_value(abs(row["difference"]) / error, freedom),
    }


def _p_value(t: float, freedom: float) -> float:
    """Integrate Student's density beyond ``t`` on both sides, as an angle of a circle."""
    whole = _power_of_cosine(0.0, freedom - 1)
    return _power_of_cosine(math.atan(t / math.sqrt(freedom)), freedom - 1) / whole


def _power_of_cosine(begin: float, power: float) -> float:
    """Integrate the cosine's power from ``begin`` to a right angle by Simpson's rule."""
    step = (math.pi / 2 - begin) / _POINTS
    heights = [max(math.cos(begin + i * step), 0.0) ** power for i in range(_POINTS + 1)]
    odd, even = sum(heights[1:-1:2]), sum(heights[2:-1:2])
    return (heights[0] + 4 * odd + 2 * even + heights[-1]) * step / 3


def _t_quantile(freedom: float) -> float:
    """Halve until the two-sided p-value is 5 %."""
    low, high = 0.0, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _p_value(middle, freedom) > 0.05 else (low, middle)
    return low
