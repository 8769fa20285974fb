"""The whole job: dump folder in, Parquet tables and a report out. It prints nothing.

Below ``out``: ``rows/<table>`` (the good rows, by run and day), ``quarantine`` (lines set aside),
one folder per result table, and ``facts/<name>`` (by run and day) where they are asked for. Every
table is written beside the last run's before any of those is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from typing import Final, NamedTuple, TypeAlias

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.clean import (
    good_rows,
    is_plain,
    malformed_lines,
    parsed_lines,
    plain_rows,
    unknown_columns,
)
from analytics.distinct import distinct_rows
from analytics.facts.all_facts import FACTS
from analytics.facts.buckets import with_event_time
from analytics.read import check_dump, read_lines
from analytics.report import Report
from analytics.schema import TABLE_SCHEMAS
from analytics.session import suited_to
from analytics.tables import Tables
from analytics.transforms import checks
from analytics.transforms.failovers import failover_durations, failover_steps, failovers
from analytics.transforms.latencies import latencies
from analytics.transforms.log_dirs import log_dirs
from analytics.transforms.moves import moves
from analytics.transforms.partitions import partitions
from analytics.transforms.recoveries import client_recoveries
from analytics.transforms.requests import requests
from analytics.transforms.runs import runs

QUARANTINE: Final = "quarantine"
REPORT_ROWS_MAX: Final = 10_000
"""Of one table: what a report shows, and what the driver has to hold."""
RESULTS: Final = (
    "runs",
    "log_dirs",
    "failovers",
    "failover_steps",
    "failover_durations",
    "moves",
    "partitions",
    "requests",
    "latencies",
    "checks",
)
"""What a report shows."""
AT_ONCE: Final = 4
"""Tables that are written at the same time: what one of them plans, another one computes."""

Rows: TypeAlias = dict[str, DataFrame]
"""Good rows, by metric table."""


class Counts(NamedTuple):
    """What the one pass over a metric table's lines counted."""

    lines: int
    plain: int
    """Lines that are just as brokers write them."""
    good: int
    distinct: int

    @property
    def is_odd(self) -> bool:
        """Whether some lines may be malformed or have unknown columns."""
        return self.plain < self.lines


class _Stored(NamedTuple):
    """One metric table."""

    lines: DataFrame
    rows: DataFrame
    counts: Counts


def run_job(spark: SparkSession, dump: str, out: str, bucket: str | None = None) -> Report:
    """Read ``dump``, replace the tables below ``out`` and return what they say.

    With ``bucket``, such as "10 seconds", the facts of every such bucket of time are tables, too.

    Raises:
        EmptyDump: there is no line to read; ``out`` is untouched.
        UnreadableDump: ``dump`` cannot be read; ``out`` is untouched.
    """
    size_bytes = check_dump(spark, dump)
    tables = Tables(spark, out)
    try:
        with suited_to(spark, size_bytes):
            return _run(spark, dump, out, tables, bucket)
    except BaseException:
        tables.discard()
        raise


def _run(spark: SparkSession, dump: str, out: str, tables: Tables, bucket: str | None) -> Report:
    with ThreadPoolExecutor(AT_ONCE) as executor:
        store = partial(_store_rows, spark, dump, tables)
        stored = dict(zip(TABLE_SCHEMAS, executor.map(store, TABLE_SCHEMAS), strict=True))
        rows = {table: each.rows for table, each in stored.items()}
        odd = {table: each.lines for table, each in stored.items() if each.counts.is_odd}
        tables.write(QUARANTINE, _malformed(spark, odd))
        _write_all(executor, tables, results(rows))
        _write_all(executor, tables, _summaries(tables, rows, odd))
        if bucket is not None:
            list(executor.map(partial(_write_fact, tables, rows, bucket), FACTS))
    found = tables.first_rows(RESULTS, REPORT_ROWS_MAX)
    tables.publish()
    counts = {table: each.counts for table, each in stored.items()}
    return Report(
        dump=dump,
        out=out,
        row_counts={table: count.distinct for table, count in counts.items()},
        duplicate_counts={table: count.good - count.distinct for table, count in counts.items()},
        **found,
    )


def _write_fact(tables: Tables, rows: Rows, bucket: str, name: str) -> None:
    fact = FACTS[name]
    facts = fact.of(with_event_time(rows[fact.source]), bucket)
    tables.write_by_day(f"facts/{name}", facts, F.col(c.BUCKET))


def _write_all(
    executor: ThreadPoolExecutor, tables: Tables, results: Mapping[str, DataFrame]
) -> None:
    """Write results at the same time; the first error is raised when all are over."""
    list(executor.map(tables.write, results, results.values()))


def _store_rows(spark: SparkSession, dump: str, tables: Tables, table: str) -> _Stored:
    """Parse the lines of one table and write its good rows.

    Once, as long as all lines are just as brokers write them; a table that has others is parsed a
    second time, with every column of those looked at.
    """
    lines = read_lines(spark, dump, table)
    stored = _written(tables, table, lines, plain_rows)
    if not stored.counts.is_odd:
        return stored
    tables.forget(f"rows/{table}")
    return _written(tables, table, lines, good_rows)


def _written(
    tables: Tables, table: str, lines: DataFrame, rows_of: Callable[[DataFrame, str], DataFrame]
) -> _Stored:
    """Write rows and count them in the same Spark job."""
    parsed, good, distinct = Observation(), Observation(), Observation()
    one, plain = F.count(F.lit(1)), F.count_if(is_plain())
    seen = parsed_lines(lines, table).observe(parsed, one.alias("lines"), plain.alias("plain"))
    fitting = rows_of(seen, table).observe(good, one.alias("good"))
    kept = distinct_rows(fitting, table).observe(distinct, one.alias("distinct"))
    rows = tables.write_rows(f"rows/{table}", kept)
    counts = {"lines": 0, "plain": 0, "good": 0, "distinct": 0}
    for each in (parsed, good, distinct):
        counts |= each.get
    return _Stored(lines, rows, Counts(**counts))


def _malformed(spark: SparkSession, odd: Mapping[str, DataFrame]) -> DataFrame:
    """Return the lines to be set aside, of those tables that may have some."""
    names = (c.TABLE, c.FILE, c.LINE, c.REASON)
    none = spark.range(0).select(*[F.lit("").alias(name) for name in names])
    frames = [malformed_lines(parsed_lines(lines, table), table) for table, lines in odd.items()]
    return reduce(DataFrame.unionByName, frames, none)


def results(rows: Rows) -> Rows:
    """Return the results that come from rows alone, by their name."""
    recovered = client_recoveries(rows["failover_event"], rows["replica"], rows["client"])
    return {
        "runs": runs(rows["log_dir"]),
        "log_dirs": log_dirs(rows["log_dir"], rows["replica"]),
        "failover_steps": failover_steps(rows["failover_event"].unionByName(recovered)),
        "moves": moves(rows["move_progress"]),
        "partitions": partitions(rows["replica"]),
        "requests": requests(rows["request"]),
        "latencies": latencies(rows["latency"]),
    }


def _summaries(tables: Tables, rows: Rows, odd: Mapping[str, DataFrame]) -> Rows:
    """Return the results that come from other results, by their name."""
    found = failovers(tables.stored("failover_steps"))
    all_checks = [
        checks.set_aside(tables.stored(QUARANTINE)),
        *[
            checks.unknown(unknown_columns(parsed_lines(lines, table), table))
            for table, lines in odd.items()
        ],
        checks.sample_gaps(rows["log_dir"]),
        checks.stale_log_dirs(tables.stored("log_dirs")),
        checks.unfinished_failovers(found),
        checks.clock_skews(found),
    ]
    return {
        "failovers": found,
        "failover_durations": failover_durations(found),
        "checks": reduce(DataFrame.unionByName, all_checks).orderBy(c.CHECK, c.TABLE, c.DETAIL),
    }
