"""The whole job: dump folder or topic in, Parquet tables and a report out. It prints nothing.

Below ``out``: ``rows/<table>`` (the good rows, by run and day), ``quarantine`` (lines set aside),
one folder per result table, ``facts/<name>`` (by run and day) and ``report.html``. Each is written
beside the last run's before any of those is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from typing import Final, NamedTuple, TypeAlias

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.answers.all_answers import answers
from analytics.answers.plan_scores import PLAN
from analytics.answers.slow_log_dirs import slowness
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
from analytics.facts.buckets import bucket_for, with_event_time
from analytics.findings import RowDict
from analytics.pictures.page import page_text
from analytics.pictures.vega import DrawingMissing, vega_script
from analytics.report import Report
from analytics.schema import TABLE_SCHEMAS
from analytics.session import suited_to
from analytics.source import Source, opened
from analytics.tables import Tables, collected
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
    "imbalance",
    "slow_log_dirs",
    "throttle_costs",
    "outages",
    "plan_scores",
    "comparisons",
    "checks",
)
"""What a report shows."""
AT_ONCE: Final = 4
"""Tables that are written at the same time: what one of them plans, another one computes."""

PAGE: Final = "report.html"
PAGE_ROWS_MAX: Final = 30_000
"""Of one fact of the run that the pictures show."""
SHOWN_FACTS: Final = ("log_dir_facts", "latency_facts")
"""Facts that answers and pictures need; the others are written for a bucket that is named."""
SLOWNESS: Final = "slowness"
"""A fact that comes from ``latency_facts``."""

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


class Wanted(NamedTuple):
    """What a user asked for."""

    bucket: str | None = None
    """Such as "10 seconds": facts of all kinds, in such buckets; else those that pictures need."""
    plan: str | None = None
    """A file of kafka-reassign-partitions to be scored."""
    is_plain: bool = False
    """Whether results are enough: no facts, answers and pictures, which cost as much again."""


def run_job(spark: SparkSession, dump: str, out: str, wanted: Wanted = Wanted()) -> Report:  # noqa: B008 - immutable
    """Read ``dump``, replace the tables below ``out`` and return what they say.

    ``dump`` is a folder or the ``kafka://`` address of a metrics topic.

    Raises:
        EmptyDump: there is no line to read; ``out`` is untouched.
        UnreadableDump: ``dump`` cannot be read; ``out`` is untouched.
    """
    tables = Tables(spark, out)
    with opened(spark, dump) as source:
        try:
            with suited_to(spark, source.size_bytes), ThreadPoolExecutor(AT_ONCE) as executor:
                counts = _write_tables(executor, spark, source, tables, wanted)
                found = collected(_shown(tables), PAGE_ROWS_MAX)
                page = not wanted.is_plain and _write_page(tables, found)
                tables.publish(RESULTS)
        except BaseException:
            tables.discard()
            raise
    return Report(
        dump=dump,
        out=out,
        row_counts={table: count.distinct for table, count in counts.items()},
        duplicate_counts={table: count.good - count.distinct for table, count in counts.items()},
        page=f"{out}/{PAGE}" if page else None,
        **{name: found.get(name, [])[:REPORT_ROWS_MAX] for name in RESULTS},
    )


def _write_tables(
    executor: ThreadPoolExecutor,
    spark: SparkSession,
    source: Source,
    tables: Tables,
    wanted: Wanted,
) -> dict[str, Counts]:
    store = partial(_store_rows, source, tables)
    stored = dict(zip(TABLE_SCHEMAS, executor.map(store, TABLE_SCHEMAS), strict=True))
    rows = {table: each.rows for table, each in stored.items()}
    odd = {table: each.lines for table, each in stored.items() if each.counts.is_odd}
    tables.write(QUARANTINE, _malformed(spark, odd))
    _write_all(executor, tables, results(rows))
    if wanted.is_plain:
        tables.write("failovers", failovers(tables.stored("failover_steps")))
        _write_all(executor, tables, _summaries(tables, rows, odd))
    else:
        _write_answers(executor, tables, rows, odd, wanted)
    return {table: each.counts for table, each in stored.items()}


def _write_answers(
    executor: ThreadPoolExecutor,
    tables: Tables,
    rows: Rows,
    odd: Mapping[str, DataFrame],
    wanted: Wanted,
) -> None:
    """Write facts, and what comes from facts and results."""
    bucket = wanted.bucket or bucket_for(_longest_ms(tables))
    names = FACTS if wanted.bucket else SHOWN_FACTS
    facts = [executor.submit(_write_fact, tables, rows, bucket, name) for name in names]
    tables.write("failovers", failovers(tables.stored("failover_steps")))
    for each in facts:
        each.result()
    scores = slowness(tables.stored("facts/latency_facts"))
    tables.write_by_day(f"facts/{SLOWNESS}", scores.drop(c.DAY), F.col(c.BUCKET))
    plan = _plan(rows["replica"].sparkSession, wanted.plan)
    _write_all(executor, tables, _summaries(tables, rows, odd) | _answers(tables, rows, plan))


def _longest_ms(tables: Tables) -> int:
    """Return how long the longest run is, 0 without any."""
    longest = F.max(F.col(c.LAST_MS) - F.col(c.FIRST_MS)).alias("longest")
    [found] = tables.stored("runs").agg(longest).collect()
    return found["longest"] or 0


def _plan(spark: SparkSession, plan: str | None) -> DataFrame | None:
    if plan is None:
        return None
    return spark.read.schema(PLAN).option("multiLine", value=True).json(plan)


def _shown(tables: Tables) -> Rows:
    """Return what the report and its page show: all results, and facts of the latest run."""
    last = F.max_by(F.struct(*c.RUN), c.LAST_MS).alias("last")
    latest = F.broadcast(tables.stored("runs").agg(last).select("last.*"))
    facts = {
        name: tables.stored(f"facts/{name}").join(latest, on=list(c.RUN), how="semi")
        for name in (*SHOWN_FACTS, SLOWNESS)
        if tables.has(f"facts/{name}")
    }
    return {name: tables.stored(name) for name in RESULTS if tables.has(name)} | facts


def _write_page(tables: Tables, found: Mapping[str, Sequence[RowDict]]) -> bool:
    try:
        script = vega_script()
    except DrawingMissing:
        return False
    tables.write_text(PAGE, page_text(found, script))
    return True


def _write_fact(tables: Tables, rows: Rows, bucket: str, name: str) -> None:
    fact = FACTS[name]
    facts = fact.of(with_event_time(rows[fact.source]), bucket)
    tables.write_by_day(f"facts/{name}", facts, F.col(c.BUCKET))


def _write_all(
    executor: ThreadPoolExecutor, tables: Tables, results: Mapping[str, DataFrame]
) -> None:
    """Write results at the same time; the first error is raised when all are over."""
    list(executor.map(tables.write, results, results.values()))


def _store_rows(source: Source, tables: Tables, table: str) -> _Stored:
    """Parse the lines of one table and write its good rows.

    Once, as long as all lines are just as brokers write them; a table that has others is parsed a
    second time, with every column of those looked at.
    """
    lines = source.lines_of(table)
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
    found = tables.stored("failovers")
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
        "failover_durations": failover_durations(found),
        "checks": reduce(DataFrame.unionByName, all_checks).orderBy(c.CHECK, c.TABLE, c.DETAIL),
    }


def _answers(tables: Tables, rows: Rows, plan: DataFrame | None) -> Rows:
    stored = {
        name: tables.stored(name)
        for name in ("runs", "log_dirs", "failovers", "moves", "partitions")
    }
    facts = {name: tables.stored(f"facts/{name}").drop(c.DAY) for name in (*SHOWN_FACTS, SLOWNESS)}
    return answers(rows, stored | facts, plan)
