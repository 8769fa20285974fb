"""The whole job: dump folder or topic in, Parquet tables and a report out. It prints nothing.

Below ``out``: ``rows/<table>`` (the good rows, by run and day), ``quarantine`` (lines set aside),
one folder per result table, ``facts/<name>`` (by run and day) and ``report.html``. Each is written
beside the last run's before any of those is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.chosen import Chosen, check_runs, chosen_run
from analytics.clean import (
    good_rows,
    is_plain,
    malformed_lines,
    native_lines,
    parsed_lines,
    plain_rows,
    unknown_columns,
)
from analytics.distinct import distinct_rows, has_copies
from analytics.facts.buckets import bucket_for
from analytics.findings import RowDict, latest_run
from analytics.folded import FOLDED, ODD, Folding, folded_text, only_new, whole
from analytics.pictures.page import page_text
from analytics.pictures.vega import DrawingMissing, vega_script
from analytics.plan_file import read_plan
from analytics.report import Report
from analytics.results import (
    ALL_FACTS,
    ANSWERS,
    BUCKET,
    PLAIN,
    RESULTS,
    SHOWN_FACTS,
    comparisons_step,
    facts_steps,
    plan_step,
)
from analytics.schema import TABLE_SCHEMAS
from analytics.session import name_call_sites, suited_to
from analytics.shown import (
    NO_RUN,
    Run,
    Shown,
    cut_shown,
    is_of_run,
    latest_of,
    rows_shown,
    with_run_last,
)
from analytics.source import opened
from analytics.steps import Step, work_off
from analytics.tables import Tables
from analytics.transforms import checks

QUARANTINE: Final = "quarantine"
REPORT_ROWS_MAX: Final = 10_000
"""Of one table: what a report shows, and what the driver has to hold."""
AT_ONCE: Final = 4
"""Tables that are written at the same time: what one of them plans, another one computes."""

PAGE: Final = "report.html"
PAGE_ROWS_MAX: Final = 30_000
"""Of one fact of the run that the pictures show."""
_EARLIER: Final = (*RESULTS, ODD, FOLDED, PAGE, *(f"facts/{name}" for name in ALL_FACTS))
"""What an earlier report may have left: of what is not written this time, nothing stays."""
_EXTREMES: Final = "extremes"
"""The step whose outcome is the longest and the latest run."""
_CHECKED: Final = (QUARANTINE, "odd", "rows/log_dir", "log_dirs", "failovers", "partitions")
"""What ``checks`` are made from."""
_STORED: Final = tuple(f"stored/{table}" for table in TABLE_SCHEMAS)
"""Steps that parse and store the rows of a metric table."""

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
    chosen: Chosen = Chosen()
    """Which run the page is about, and which one it is compared with."""
    command_config: str | None = None
    """A properties file of Kafka's clients, for a topic of a secured cluster."""


def run_job(spark: SparkSession, dump: str, out: str, wanted: Wanted = Wanted()) -> Report:  # noqa: B008 - immutable
    """Read ``dump``, replace the tables below ``out`` and return what they say.

    ``dump`` is a folder or the ``kafka://`` address of a metrics topic.

    Raises:
        EmptyDump: there is no line to read; ``out`` is untouched.
        UnreadableDump: ``dump`` cannot be read; ``out`` is untouched.
        BadPlan: the plan is none; ``out`` is untouched.
        UnknownRun: a run that is chosen is not in ``dump``; ``out`` is untouched.
    """
    opening = opened(spark, dump, wanted.command_config)
    with opening as source, suited_to(spark, source.size_bytes) as is_little:
        tables = Tables(spark, out, in_one_task=is_little)
        tables.forget_killed()
        try:
            with ThreadPoolExecutor(AT_ONCE, "report", name_call_sites, (spark,)) as executor:
                is_new = wanted.is_only_new
                folding = only_new(spark, source, dump, out) if is_new else whole(source)
                made = work_off(executor, _steps(spark, folding, tables, wanted))
                found = rows_shown(_frames(made), partial(_latest, made), PAGE_ROWS_MAX)
                if wanted.chosen.run is not None:
                    found = with_run_last(found, _latest(made))
                page = not wanted.is_plain and _write_page(tables, found)
                _remember(folding, tables)
                tables.publish(_EARLIER)
        except BaseException:
            tables.discard()
            raise
    counts: dict[str, Counts] = {table: made[f"stored/{table}"].counts for table in TABLE_SCHEMAS}
    shown = cut_shown(found, _run_of(found), REPORT_ROWS_MAX)
    return Report(
        dump=dump,
        out=out,
        row_counts={table: count.distinct for table, count in counts.items()},
        duplicate_counts=_duplicate_counts(folding, counts, found.rows["checks"]),
        page=f"{out}/{PAGE}" if page else None,
        left_out={name: count for name, count in shown.left_out.items() if name in RESULTS},
        **{name: shown.rows.get(name, []) for name in RESULTS},
    )


def _steps(
    spark: SparkSession, folding: Folding, tables: Tables, wanted: Wanted
) -> dict[str, Step]:
    """Return what makes and writes every table; each outcome is the table as it is read again."""
    store = partial(_store_rows, folding, tables)
    steps = {f"stored/{table}": Step(partial(store, table)) for table in TABLE_SCHEMAS}
    for table in TABLE_SCHEMAS:
        steps[f"rows/{table}"] = Step(attrgetter("rows"), (f"stored/{table}",))
    steps["odd"] = Step(partial(_odd_lines, spark, folding, tables), _STORED)
    results = {QUARANTINE: Step(partial(_malformed, spark), ("odd",)), **PLAIN}
    plan = None if wanted.plan is None else read_plan(spark, wanted.plan)
    results["checks"] = Step(partial(_checks, plan), _CHECKED)
    if not wanted.is_plain:
        results |= ANSWERS
        if plan is not None:
            results["plan_scores"] = plan_step(plan)
        if wanted.chosen.against is not None:
            results["comparisons"] = comparisons_step(wanted.chosen)
        steps |= _facts_steps(tables, wanted)
    return steps | {
        name: Step(partial(_write, tables, name, step), step.needs)
        for name, step in results.items()
    }


def _facts_steps(tables: Tables, wanted: Wanted) -> dict[str, Step]:
    """Return what writes facts, in buckets that are named or suit the longest run."""
    found = facts_steps(ALL_FACTS if wanted.bucket else SHOWN_FACTS)
    steps = {
        f"facts/{name}": Step(partial(_write_facts, tables, f"facts/{name}", step), step.needs)
        for name, step in found.items()
    }
    steps[_EXTREMES] = Step(partial(_extremes, wanted.chosen), ("runs",))
    steps[BUCKET] = Step(lambda: wanted.bucket) if wanted.bucket else Step(_suited, (_EXTREMES,))
    return steps


def _suited(extremes: Row) -> str:
    """Return the bucket that suits the longest run."""
    return bucket_for(extremes["longest_ms"] or 0)


def _extremes(chosen: Chosen, runs: DataFrame) -> Row:
    """Return longest_ms (of the longest run) and latest (columns.RUN); nulls without a run.

    The run that is chosen counts as the latest one.
    """
    check_runs(chosen, runs)
    longest = F.max(F.col(c.LAST_MS) - F.col(c.FIRST_MS)).alias("longest_ms")
    [found] = runs.agg(longest, chosen_run(chosen.run).alias("latest")).collect()
    return found


def _remember(folding: Folding, tables: Tables) -> None:
    """Keep what the next report of new files needs; a report of everything keeps none of it."""
    if folding.files is not None:
        tables.write_text(FOLDED, folded_text(folding.files))
    elif tables.has(ODD):
        tables.forget(ODD)


def _frames(made: Mapping[str, Any]) -> Rows:
    """Return what the report and its page show: all results, and facts of the latest run."""
    facts = [name for name in SHOWN_FACTS if f"facts/{name}" in made]
    is_latest = is_of_run(_latest(made)) if facts else F.lit(1) == 1
    return {name: made[name] for name in RESULTS if name in made} | {
        name: made[f"facts/{name}"].where(is_latest) for name in facts
    }


def _latest(made: Mapping[str, Any]) -> Run:
    if _EXTREMES not in made:
        return latest_of(made["runs"])
    latest = made[_EXTREMES]["latest"]
    return NO_RUN if latest is None else latest.asDict()


def _run_of(found: Shown) -> Run:
    run = latest_run(found.rows)
    return NO_RUN if run is None else dict(zip(c.RUN, run, strict=True))


def _write_page(tables: Tables, found: Shown) -> bool:
    try:
        script = vega_script()
    except DrawingMissing:
        return False
    tables.write_text(PAGE, page_text(found.rows, script, left_out=found.left_out))
    return True


def _write(tables: Tables, name: str, step: Step, *needed: DataFrame) -> DataFrame:
    tables.write(name, step.of(*needed))
    return tables.stored(name)


def _write_facts(tables: Tables, name: str, step: Step, *needed: DataFrame | str) -> DataFrame:
    tables.write_by_day(name, step.of(*needed), F.col(c.BUCKET))
    return tables.stored(name).drop(c.DAY)


def _store_rows(folding: Folding, tables: Tables, table: str) -> _Stored:
    """Parse the lines of one table and write its good rows, with those that are known.

    Once, as long as all lines are just as brokers write them; a table that has others is parsed a
    second time, with every column of those looked at. So is a large table with rows that are there
    twice: to find out that there are none takes less than to sort all rows by their key.
    """
    lines = tables.gathered(folding.source.lines_of(table))
    known = folding.rows.get(table)
    write = partial(_written, tables, table, lines, known)
    is_large = known is None and not tables.in_one_task
    stored = write(is_plain_only=True, is_distinct=is_large)
    is_odd = stored.counts.is_odd
    if not is_odd and not (is_large and has_copies(stored.rows, table)):
        return stored
    tables.forget(f"rows/{table}")
    return write(is_plain_only=not is_odd, is_distinct=False)


def _written(
    tables: Tables,
    table: str,
    lines: DataFrame,
    known: DataFrame | None,
    *,
    is_plain_only: bool,
    is_distinct: bool,
) -> _Stored:
    """Write rows and count them in the same Spark job; each once, unless they are distinct."""
    parsed, distinct = Observation(), Observation()
    one, plain = F.count(F.lit(1)), F.count_if(is_plain())
    seen = (native_lines if is_plain_only else parsed_lines)(lines, table)
    seen = seen.observe(parsed, one.alias("lines"), plain.alias("plain"))
    kept = (plain_rows if is_plain_only else good_rows)(seen, table)
    if known is not None:
        kept = kept.unionByName(tables.gathered(known))
    if not is_distinct:
        kept = distinct_rows(kept, table)
    rows = tables.write_rows(f"rows/{table}", kept.observe(distinct, one.alias("distinct")))
    # Nothing is told of a table that nobody wrote.
    counts = Counts(**dict.fromkeys(Counts._fields, 0) | parsed.get | distinct.get)
    # Of none at all Spark plans next to nothing: a run has seldom failovers, moves and clients.
    return _Stored(lines, rows if counts.distinct else rows.limit(0), counts)


def _odd_lines(
    spark: SparkSession, folding: Folding, tables: Tables, *all_stored: _Stored
) -> dict[str, DataFrame]:
    """Write the lines that are not plain; return those of each table that has some."""
    stored = dict(zip(TABLE_SCHEMAS, all_stored, strict=True))
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


def _checks(
    plan: DataFrame | None,
    quarantine: DataFrame,
    odd: Mapping[str, DataFrame],
    *made: DataFrame,
) -> DataFrame:
    log_dir_rows, log_dirs, failovers, partitions = made
    all_checks = [
        checks.set_aside(quarantine),
        *[
            checks.unknown(unknown_columns(parsed_lines(lines, table), table))
            for table, lines in odd.items()
        ],
        checks.sample_gaps(log_dir_rows),
        checks.stale_log_dirs(log_dirs),
        checks.unfinished_failovers(failovers),
        checks.clock_skews(failovers),
        *([] if plan is None else [checks.unknown_planned(plan, partitions)]),
    ]
    return reduce(DataFrame.unionByName, all_checks).orderBy(c.CHECK, c.TABLE, c.DETAIL)
