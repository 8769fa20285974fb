"""What a person reads of the job's results: tables for a terminal, or one JSON object.

It computes nothing; every number is a column of a Parquet table beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from analytics import columns as c
from analytics.findings import (
    RowDict,
    findings,
    latest_run,
    left_out_text,
    rows_of_run,
    shortened,
)
from analytics.report_columns import (
    CHECK_COLUMNS,
    COMPARISON_COLUMNS,
    DURATION_COLUMNS,
    IMBALANCE_COLUMNS,
    LATENCY_COLUMNS,
    LEFT,
    LOG_DIR_COLUMNS,
    MOVE_COLUMNS,
    OUTAGE_COLUMNS,
    PARTITION_COLUMNS,
    PLAN_COLUMNS,
    REASSIGNMENT_COLUMNS,
    REQUEST_COLUMNS,
    RUN_COLUMNS,
    SLOW_COLUMNS,
    STEP_COLUMNS,
    THROTTLE_COLUMNS,
    Cell,
)
from analytics.sizes import count_text

BUSIEST: Final = 10
PRINTED_MAX: Final = 40
"""Lines of a table; how many more rows there are is said below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The collected results; each sequence is one result table, each row a dict by column name."""

    dump: str
    out: str
    row_counts: Mapping[str, int]
    """Good rows per metric table, each once."""
    duplicate_counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """Rows that were there more than once, per metric table."""
    runs: Sequence[RowDict] = ()
    log_dirs: Sequence[RowDict] = ()
    failovers: Sequence[RowDict] = ()
    failover_steps: Sequence[RowDict] = ()
    failover_durations: Sequence[RowDict] = ()
    moves: Sequence[RowDict] = ()
    partitions: Sequence[RowDict] = ()
    requests: Sequence[RowDict] = ()
    latencies: Sequence[RowDict] = ()
    imbalance: Sequence[RowDict] = ()
    slow_log_dirs: Sequence[RowDict] = ()
    throttle_costs: Sequence[RowDict] = ()
    reassignments: Sequence[RowDict] = ()
    outages: Sequence[RowDict] = ()
    plan_scores: Sequence[RowDict] = ()
    comparisons: Sequence[RowDict] = ()
    checks: Sequence[RowDict] = ()
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """Rows of other runs, then of the latest one, that are not here but in the tables, by table."""
    page: str | None = None
    """Where the pictures are; None without the package that draws them."""


def print_findings(report: Report, console: Console) -> None:
    """Print the lines that matter of the latest run, and where the rest is."""
    said = lines_of(shortened(tables_of(report)))
    said += [_unknown_planned_text(row) for row in report.checks if _is_of_plan(row)]
    checked = sum(row[c.ROW_COUNT] for row in report.checks)
    if checked:
        said.append(f"{count_text(checked, 'finding')} of data checks: see --tables and the page.")
    for line in said:
        console.print(line, markup=False, highlight=False)
    pictures = report.page or "none, for `pip install 'jbodlab[analytics]'` brings what draws them"
    for line in (*_left_out_lines(report), _dump_text(report), f"pictures: {pictures}"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _is_of_plan(row: RowDict) -> bool:
    return row[c.CHECK] == c.UNKNOWN_PLANNED


def _unknown_planned_text(row: RowDict) -> str:
    names = row[c.DETAIL].split(", ")
    more = row[c.ROW_COUNT] - len(names)
    also = f" and {more} more" if more else ""
    return f"No run knows these partitions of the plan: {', '.join(names)}{also}."


def lines_of(tables: Mapping[str, Sequence[RowDict]]) -> list[str]:
    """Return the latest run's name and its findings, a line each."""
    run = latest_run(tables)
    titles = [_run_title(row) for row in tables.get("runs", ()) if _run_of(row) == run]
    others = len(tables.get("runs", ())) - 1
    also = f" ({others} more in this dump)" if others > 0 else ""
    said = [f"- {sentence}" for sentence in findings(rows_of_run(tables, run))]
    return [f"{title}{also}" for title in titles] + said


def tables_of(report: Report) -> dict[str, Sequence[RowDict]]:
    """Return the result tables of a report, by name."""
    found = {each.name: getattr(report, each.name) for each in fields(report)}
    return {name: rows for name, rows in found.items() if isinstance(rows, list | tuple)}


def print_report(report: Report, console: Console) -> None:
    """Print every table that has rows, run by run, and what is the matter with the dump.

    Latencies of APIs are left out, which the requests tell of, too.
    """
    titles = {_run_of(run): _run_title(run) for run in report.runs}
    for rows in tables_of(report).values():
        for row in (row for row in rows if c.RUN_ID in row):
            titles.setdefault(_run_of(row), f"run {row[c.RUN_ID]}, without samples of log dirs")
    _print_table(console, "Runs", RUN_COLUMNS, report.runs)
    for run, title in titles.items():
        if len(titles) > 1:
            console.rule(title, align="left")
        _print_run(report, console, run)
    _print_table(console, "Data checks", CHECK_COLUMNS, report.checks)
    for line in (*_left_out_lines(report), _dump_text(report)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _left_out_lines(report: Report) -> list[str]:
    said = left_out_text(report.left_out)
    return [f"too long for a report: {said} left out, all are in {report.out}"] if said else []


def _dump_text(report: Report) -> str:
    good = sum(report.row_counts.values())
    twice = sum(report.duplicate_counts.values())
    also = f", {twice} more of them there twice" if twice else ""
    set_aside = sum(row[c.ROW_COUNT] for row in report.checks if row[c.CHECK] == c.SET_ASIDE)
    return (
        f"{count_text(good, 'row')} read from {report.dump}{also}, "
        f"{count_text(set_aside, 'line')} set aside; "
        f"tables in {report.out}"
    )


def _run_of(row: RowDict) -> tuple[Any, ...]:
    return tuple(row[name] for name in c.RUN)


def _print_run(report: Report, console: Console, run: tuple[Any, ...]) -> None:
    def of_run(rows: Sequence[RowDict]) -> list[RowDict]:
        return [row for row in rows if _run_of(row) == run]

    _print_table(console, "Log dirs", LOG_DIR_COLUMNS, of_run(report.log_dirs))
    steps, failovers = of_run(report.failover_steps), of_run(report.failovers)
    for failover in failovers[:PRINTED_MAX]:
        own = [step for step in steps if step[c.FAILURE_ID] == failover[c.FAILURE_ID]]
        _print_table(console, _failover_title(failover), STEP_COLUMNS, own)
    _print_more(console, len(failovers) - PRINTED_MAX, "failover")
    partitions = of_run(report.partitions)
    _print_table(console, "Busiest partitions", PARTITION_COLUMNS, partitions, BUSIEST)
    for title, columns, rows in _others(report):
        _print_table(console, title, columns, of_run(rows))


def _others(report: Report) -> list[tuple[str, Mapping[str, Cell], Sequence[RowDict]]]:
    """Return title, columns and rows of the tables that are printed row by row."""
    slow = [row for row in report.latencies if row[c.SCOPE] != "api"]
    return [
        ("Failovers by cause, to the election", DURATION_COLUMNS, report.failover_durations),
        ("Unavailable partitions", OUTAGE_COLUMNS, report.outages),
        ("Moves between log dirs", MOVE_COLUMNS, report.moves),
        ("What throttles cost", THROTTLE_COLUMNS, report.throttle_costs),
        ("Reassignments between brokers", REASSIGNMENT_COLUMNS, report.reassignments),
        ("Requests", REQUEST_COLUMNS, report.requests),
        ("Latencies of log dirs and clients", LATENCY_COLUMNS, slow),
        ("Log dirs among their siblings", SLOW_COLUMNS, report.slow_log_dirs),
        ("Imbalance of log dirs", IMBALANCE_COLUMNS, report.imbalance),
        ("The plan", PLAN_COLUMNS, report.plan_scores),
        ("Against another run", COMPARISON_COLUMNS, report.comparisons),
    ]


def _run_title(run: RowDict) -> str:
    begin = datetime.fromtimestamp(run[c.FIRST_MS] / 1000, UTC).isoformat(" ", "seconds")
    seed = "" if run[c.SEED] < 0 else f", seed {run[c.SEED]}"
    return f"{run[c.CLUSTER_ID] or 'cluster'} run {run[c.RUN_ID]}{seed}, from {begin[:19]}"


def _print_table(
    console: Console,
    title: str,
    columns: Mapping[str, Cell],
    rows: Sequence[RowDict],
    rows_max: int = PRINTED_MAX,
) -> None:
    table = Table(title=title, title_justify="left", title_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in LEFT else "right", overflow="fold")
    for row in rows[:rows_max]:
        table.add_row(*[cell(row) for cell in columns.values()])
    if not table.row_count:
        return
    console.print(table)
    _print_more(console, len(rows) - rows_max, "row")
    console.print()


def _print_more(console: Console, more: int, name: str) -> None:
    if more > 0:
        words = f"and {count_text(more, name)} more: see the folder of tables"
        console.print(words, markup=False, highlight=False)


def _failover_title(row: RowDict) -> str:
    at = datetime.fromtimestamp(row[c.FAILED_AT_MS] / 1000, UTC).isoformat(" ", "milliseconds")
    parts = [f"Failover of {row[c.NODE]} at {at}", row[c.DETAIL], _offline_text(row)]
    return " · ".join(filter(None, parts))


def _offline_text(row: RowDict) -> str:
    moved = "no election seen"
    if row[c.MOVED_COUNT] is not None:
        moved = f"{count_text(row[c.MOVED_COUNT], 'leader')} moved"
    after = "" if row[c.ELECTED_AFTER_MS] is None else f" after {row[c.ELECTED_AFTER_MS]} ms"
    said = f"{count_text(row[c.OFFLINE_COUNT], 'replica')} offline, {moved}{after}"
    if not row[c.IS_FINISHED]:
        said += f" · UNFINISHED: no {row[c.WAITING_FOR].replace('_', ' ')} was seen"
    if row[c.CLOCK_SKEW_MS] > 0:
        said += f" · clocks disagree by {row[c.CLOCK_SKEW_MS]} ms at least"
    return said
