"""What a person reads of the job's results: tables for a terminal, or one JSON object.

It computes nothing; every number is a column of a Parquet table beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from rich.console import Console
from rich.table import Table

from analytics import columns as c
from analytics.findings import RowDict, findings, latest_run, rows_of_run, shortened
from analytics.sizes import count_text, size_text

Cell: TypeAlias = Callable[[RowDict], str]
BUSIEST: Final = 10


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
    outages: Sequence[RowDict] = ()
    plan_scores: Sequence[RowDict] = ()
    comparisons: Sequence[RowDict] = ()
    checks: Sequence[RowDict] = ()
    page: str | None = None
    """Where the pictures are; None without the package that draws them."""


def print_findings(report: Report, console: Console) -> None:
    """Print the lines that matter of the latest run, and where the rest is."""
    said = lines_of(shortened(tables_of(report)))
    checked = sum(row[c.ROW_COUNT] for row in report.checks)
    if checked:
        said.append(f"{count_text(checked, 'finding')} of data checks: see --tables and the page.")
    for line in said:
        console.print(line, markup=False, highlight=False)
    pictures = report.page or "none, for `pip install 'jbodlab[analytics]'` brings what draws them"
    for line in (_dump_text(report), f"pictures: {pictures}"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


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
    """Print every table that has rows, run by run, and what is the matter with the dump."""
    titles = {_run_of(run): _run_title(run) for run in report.runs}
    for tables in (report.log_dirs, report.failovers, report.moves, report.partitions):
        for row in tables:
            titles.setdefault(_run_of(row), f"run {row[c.RUN_ID]}, without samples of log dirs")
    for run, title in titles.items():
        if len(titles) > 1:
            console.rule(title, align="left")
        _print_run(report, console, run)
    _print_table(console, "Data checks", _CHECK_COLUMNS, report.checks)
    console.print(_dump_text(report), highlight=False, soft_wrap=True)


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

    _print_table(console, "Log dirs", _LOG_DIR_COLUMNS, of_run(report.log_dirs))
    steps = of_run(report.failover_steps)
    for failover in of_run(report.failovers):
        own = [step for step in steps if step[c.FAILURE_ID] == failover[c.FAILURE_ID]]
        _print_table(console, _failover_title(failover), _STEP_COLUMNS, own)
    _print_table(console, "Moves between log dirs", _MOVE_COLUMNS, of_run(report.moves))
    busiest = of_run(report.partitions)[:BUSIEST]
    _print_table(console, "Busiest partitions", _PARTITION_COLUMNS, busiest)
    _print_table(console, "Requests", _REQUEST_COLUMNS, of_run(report.requests))
    slow = [row for row in of_run(report.latencies) if row[c.SCOPE] != "api"]
    _print_table(console, "Latencies of log dirs and clients", _LATENCY_COLUMNS, slow)


def _run_title(run: RowDict) -> str:
    begin = datetime.fromtimestamp(run[c.FIRST_MS] / 1000, UTC).isoformat(" ", "seconds")
    seed = "" if run[c.SEED] < 0 else f", seed {run[c.SEED]}"
    return f"{run[c.CLUSTER_ID] or 'cluster'} run {run[c.RUN_ID]}{seed}, from {begin[:19]}"


def _print_table(
    console: Console, title: str, columns: Mapping[str, Cell], rows: Iterable[RowDict]
) -> None:
    table = Table(title=title, title_justify="left", title_style="bold", pad_edge=False)
    for name in columns:
        is_number = name not in _LEFT
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*[cell(row) for cell in columns.values()])
    if table.row_count:
        console.print(table)
        console.print()


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


def _plain(name: str) -> Cell:
    return lambda row: "-" if row[name] is None else str(row[name])


def _number(name: str, digits: int = 0) -> Cell:
    return lambda row: "-" if row[name] is None else f"{row[name]:,.{digits}f}"


def _count(name: str) -> Cell:
    """A count, of which -1 says that nobody counted."""
    return lambda row: "-" if row[name] is None or row[name] < 0 else f"{row[name]:,}"


def _bytes(name: str, suffix: str = "") -> Cell:
    return lambda row: "-" if row[name] is None or row[name] < 0 else size_text(row[name]) + suffix


def _percent(name: str) -> Cell:
    return lambda row: "-" if row[name] is None else f"{row[name]:.1%}"


def _ms(name: str) -> Cell:
    return lambda row: "-" if row[name] is None else f"{row[name]:,} ms"


def _state(row: RowDict) -> str:
    if row[c.STATE] == "stale":
        seen = datetime.fromtimestamp(row[c.LAST_SEEN_MS] / 1000, UTC).isoformat(" ", "seconds")
        return f"[yellow]stale[/], seen {seen[11:19]}"
    return "online" if row[c.STATE] == "online" else "[red]offline"


def _move_state(row: RowDict) -> str:
    return row[c.STATE] if row[c.IS_FINISHED] else f"{row[c.STATE]}, unfinished"


_LOG_DIR_COLUMNS: Final[dict[str, Cell]] = {
    "broker": _plain(c.BROKER_ID),
    "log dir": _plain(c.LOG_DIR),
    "state": _state,
    "used": _bytes(c.USED_BYTES),
    "total": _bytes(c.TOTAL_BYTES),
    "fill": _percent(c.FILL),
    "replicas": _count(c.REPLICA_COUNT),
    "leaders": _count(c.LEADER_COUNT),
    "future": _count(c.FUTURE_COUNT),
    "lag max": _count(c.LAG_MAX),
    "appended": _bytes(c.APPEND_BYTES_PER_S, "/s"),
}
_STEP_COLUMNS: Final[dict[str, Cell]] = {
    "step": lambda row: str(row[c.STEP]).replace("_", " "),
    "node": _plain(c.NODE),
    "since failure": lambda row: (
        "not seen" if row[c.SINCE_FAILURE_MS] is None else f"{row[c.SINCE_FAILURE_MS]} ms"
    ),
    "took": _ms(c.SINCE_PREVIOUS_MS),
    "partitions": _count(c.PARTITION_COUNT),
    "detail": _plain(c.DETAIL),
}
_MOVE_COLUMNS: Final[dict[str, Cell]] = {
    "broker": _plain(c.BROKER_ID),
    "replica": lambda row: f"{row[c.TOPIC]}-{row[c.PARTITION]}",
    "from": _plain(c.SOURCE_LOG_DIR),
    "to": _plain(c.TARGET_LOG_DIR),
    "state": _move_state,
    "copied": _bytes(c.COPIED_BYTES),
    "ms": _number(c.DURATION_MS),
    "rate": _bytes(c.BYTES_PER_S, "/s"),
    "of throttle": _percent(c.THROTTLE_SHARE),
}
_PARTITION_COLUMNS: Final[dict[str, Cell]] = {
    "partition": lambda row: f"{row[c.TOPIC]}-{row[c.PARTITION]}",
    "written": _bytes(c.WRITE_BYTES_PER_S, "/s"),
    "leader": _plain(c.LEADER),
    "isr": _plain(c.ISR_COUNT),
    "unavailable": _ms(c.UNAVAILABLE_MS),
    "under min isr": _ms(c.UNDER_MIN_ISR_MS),
}
_REQUEST_COLUMNS: Final[dict[str, Cell]] = {
    "broker": _plain(c.BROKER_ID),
    "api": _plain(c.API),
    "requests": _count(c.REQUEST_COUNT),
    "errors": _count(c.ERROR_COUNT),
    "per s": _number(c.PER_S, 1),
    "p50 mean us": _number(c.P50_MEAN_US),
    "p99 worst us": _number(c.P99_WORST_US),
    "received": _bytes(c.RECEIVED_BYTES),
    "sent": _bytes(c.SENT_BYTES),
}
_LATENCY_COLUMNS: Final[dict[str, Cell]] = {
    "of": lambda row: row[c.SCOPE].replace("_", " "),
    "broker": lambda row: "-" if row[c.BROKER_ID] < 0 else str(row[c.BROKER_ID]),
    "name": _plain(c.NAME),
    "operation": _plain(c.OPERATION),
    "samples": _count(c.SAMPLE_COUNT),
    "mean us": _number(c.MEAN_US),
    "p50 us": _number(c.P50_US),
    "p99 us": _number(c.P99_US),
    "max us": _number(c.MAX_US),
}
_CHECK_COLUMNS: Final[dict[str, Cell]] = {
    "check": _plain(c.CHECK),
    "table": _plain(c.TABLE),
    "detail": _plain(c.DETAIL),
    "count": _count(c.ROW_COUNT),
}
_LEFT: Final = frozenset(
    {
        "log dir",
        "state",
        "step",
        "node",
        "detail",
        "replica",
        "partition",
        "from",
        "to",
        "api",
        "table",
        "check",
        "name",
        "of",
        "operation",
    }
)
