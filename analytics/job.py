"""The whole job: dump folder or topic in, Parquet tables and a report out. It prints nothing.

Below ``out``: ``rows/<table>`` (the good rows, by run and day), ``quarantine`` (lines set aside),
one folder per result table, ``facts/<name>`` (by run and day) and ``report.html``. Each is written
beside the last run's before any of those is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from typing import Final, NamedTuple, TypeAlias

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.answers.all_answers import answers
from analytics.answers.plan_scores import PLAN
from analytics.answers.slow_log_dirs import slowness
from analytics.clean import (
    good_rows,
    is_plain,
    malformed_lines,
    native_lines,
    parsed_lines,
    plain_rows,
    unknown_columns,
)
from analytics.distinct import distinct_rows
from analytics.facts.all_facts import FACTS
from analytics.facts.buckets import bucket_for, with_event_time
from analytics.findings import RowDict
from analytics.folded import FOLDED, ODD, Folding, folded_text, only_new, whole
from analytics.pictures.page import page_text
from analytics.pictures.vega import DrawingMissing, vega_script
from analytics.report import Report
from analytics.schema import TABLE_SCHEMAS
from analytics.session import name_call_sites, suited_to
from analytics.source import opened
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
    """That were read now."""
    plain: int
    """Lines that are just as brokers write them."""
    distinct: int
    """Rows, those of earlier reports too."""

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
    is_only_new: bool = False
    """Whether files that the last such report has read are not read again."""
    command_config: str | None = None
    """A properties file of Kafka's clients, for a topic of a secured cluster."""


def run_job(spark: SparkSession, dump: str, out: str, wanted: Wanted = Wanted()) -> Report:  # noqa: B008 - immutable
    """Read ``dump``, replace the tables below ``out`` and return what they say.

    ``dump`` is a folder or the ``kafka://`` address of a metrics topic.

    Raises:
        EmptyDump: there is no line to read; ``out`` is untouched.
        UnreadableDump: ``dump`` cannot be read; ``out`` is untouched.
    """
    opening = opened(spark, dump, wanted.command_config)
    with opening as source, suited_to(spark, source.size_bytes) as is_little:
        tables = Tables(spark, out, in_one_task=is_little)
        try:
            with ThreadPoolExecutor(AT_ONCE, "report", name_call_sites, (spark,)) as executor:
                is_new = wanted.is_only_new
                folding = only_new(spark, source, dump, out) if is_new else whole(source)
                counts = _write_tables(executor, spark, folding, tables, wanted)
                found = collected(_shown(tables), PAGE_ROWS_MAX)
                page = not wanted.is_plain and _write_page(tables, found)
                _remember(folding, tables)
                tables.publish((*RESULTS, ODD, FOLDED))
        except BaseException:
            tables.discard()
            raise
    return Report(
        dump=dump,
        out=out,
        row_counts={table: count.distinct for table, count in counts.items()},
        duplicate_counts=_duplicate_counts(folding, counts, found["checks"]),
        page=f"{out}/{PAGE}" if page else None,
        **{name: found.get(name, [])[:REPORT_ROWS_MAX] for name in RESULTS},
    )


def _write_tables(
    executor: ThreadPoolExecutor,
    spark: SparkSession,
    folding: Folding,
    tables: Tables,
    wanted: Wanted,
) -> dict[str, Counts]:
    store = partial(_store_rows, folding, tables)
    stored = dict(zip(TABLE_SCHEMAS, executor.map(store, TABLE_SCHEMAS), strict=True))
    rows = {table: each.rows for table, each in stored.items()}
    odd = _odd_lines(spark, folding, tables, stored)
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


def _remember(folding: Folding, tables: Tables) -> None:
    """Keep what the next report of new files needs; a report of everything keeps none of it."""
    if folding.files is not None:
        tables.write_text(FOLDED, folded_text(folding.files))
    elif tables.has(ODD):
        tables.forget(ODD)


def _shown(tables: Tables) -> Rows:
    """Return what the report and its page show: all results, and facts of the latest run."""
    facts = [name for name in (*SHOWN_FACTS, SLOWNESS) if tables.has(f"facts/{name}")]
    is_latest = _is_latest(tables) if facts else F.lit(1) == 1
    return {name: tables.stored(name) for name in RESULTS if tables.has(name)} | {
        name: tables.stored(f"facts/{name}").where(is_latest) for name in facts
    }


def _is_latest(tables: Tables) -> Column:
    """Return the condition that a row is of the latest run; of none where there is none."""
    last = F.max_by(F.struct(*c.RUN), c.LAST_MS).alias("last")
    [found] = tables.stored("runs").agg(last).collect()
    latest = found["last"] or dict.fromkeys(c.RUN)
    conditions = [F.col(name) == F.lit(latest[name]) for name in c.RUN]
    return reduce(lambda one, other: one & other, conditions)


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


def _store_rows(folding: Folding, tables: Tables, table: str) -> _Stored:
    """Parse the lines of one table and write its good rows, with those that are known.

    Once, as long as all lines are just as brokers write them; a table that has others is parsed a
    second time, with every column of those looked at.
    """
    lines = tables.gathered(folding.source.lines_of(table))
    known = folding.rows.get(table)
    stored = _written(tables, table, lines, known, is_plain_only=True)
    if not stored.counts.is_odd:
        return stored
    tables.forget(f"rows/{table}")
    return _written(tables, table, lines, known, is_plain_only=False)


def _written(
    tables: Tables, table: str, lines: DataFrame, known: DataFrame | None, *, is_plain_only: bool
) -> _Stored:
    """Write rows and count them in the same Spark job."""
    parsed, distinct = Observation(), Observation()
    one, plain = F.count(F.lit(1)), F.count_if(is_plain())
    seen = (native_lines if is_plain_only else parsed_lines)(lines, table)
    seen = seen.observe(parsed, one.alias("lines"), plain.alias("plain"))
    kept = (plain_rows if is_plain_only else good_rows)(seen, table)
    if known is not None:
        kept = kept.unionByName(tables.gathered(known))
    kept = distinct_rows(kept, table).observe(distinct, one.alias("distinct"))
    rows = tables.write_rows(f"rows/{table}", kept)
    # Nothing is told of a table that nobody wrote.
    return _Stored(
        lines, rows, Counts(**dict.fromkeys(Counts._fields, 0) | parsed.get | distinct.get)
    )


def _odd_lines(
    spark: SparkSession, folding: Folding, tables: Tables, stored: Mapping[str, _Stored]
) -> dict[str, DataFrame]:
    """Write the lines that are not plain; return those of each table that has some."""
    names = [table for table, each in stored.items() if each.counts.is_odd]
    if not names and folding.files is None:
        return {}
    odd = _no_lines(spark, c.LINE, c.FILE).select("*", F.lit(0).alias(c.VERSION))
    frames = [_not_plain(stored[table].lines, table) for table in names]
    frames += [] if folding.odd is None else [folding.odd]
    tables.write(ODD, reduce(DataFrame.unionByName, frames, odd))
    found = tables.stored(ODD)
    if folding.odd is not None:
        names = [row[0] for row in found.select(c.TABLE).distinct().orderBy(c.TABLE).collect()]
    return {table: found.where(F.col(c.TABLE) == table).drop(c.TABLE) for table in names}


def _no_lines(spark: SparkSession, *names: str) -> DataFrame:
    return spark.range(0).select(*[F.lit("").alias(name) for name in (c.TABLE, *names)])


def _not_plain(lines: DataFrame, table: str) -> DataFrame:
    odd = native_lines(lines, table).where(~is_plain())
    return odd.select(F.lit(table).alias(c.TABLE), c.LINE, c.FILE, c.VERSION)


def _malformed(spark: SparkSession, odd: Mapping[str, DataFrame]) -> DataFrame:
    """Return the lines to be set aside, of those tables that may have some."""
    none = _no_lines(spark, c.FILE, c.LINE, c.REASON)
    frames = [malformed_lines(parsed_lines(lines, table), table) for table, lines in odd.items()]
    return reduce(DataFrame.unionByName, frames, none)


def _duplicate_counts(
    folding: Folding, counts: Mapping[str, Counts], found_checks: Sequence[RowDict]
) -> dict[str, int]:
    """Return how many good lines told of a row that another one had told of, by table."""
    kept = folding.kept_lines
    lines = {table: each.lines + kept.get(table, 0) for table, each in counts.items()}
    for row in found_checks:
        if row[c.CHECK] == c.SET_ASIDE:
            lines[row[c.TABLE]] -= row[c.ROW_COUNT]
    return {table: lines[table] - each.distinct for table, each in counts.items()}


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
