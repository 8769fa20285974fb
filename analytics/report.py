"""What a person reads of the job's results: tables for a terminal, or one JSON object.

It computes nothing; every number is a column of a Parquet table beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from rich.console import Console
from rich.table import Table

from analytics import columns as c
from analytics.sizes import size_text

RowDict: TypeAlias = Mapping[str, Any]  # Any: a cell has the type of its column
Cell: TypeAlias = Callable[[RowDict], str]
BUSIEST: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The collected results; each sequence is one result table, each row a dict by column name."""

    dump: str
    out: str
    row_counts: Mapping[str, int]
    """Good rows per metric table."""
    log_dirs: Sequence[RowDict] = ()
    failovers: Sequence[RowDict] = ()
    failover_steps: Sequence[RowDict] = ()
    moves: Sequence[RowDict] = ()
    partitions: Sequence[RowDict] = ()
    requests: Sequence[RowDict] = ()
    malformed: Sequence[RowDict] = ()


def print_report(report: Report, console: Console) -> None:
    """Print every table that has rows, and what was set aside."""
    _print_table(console, "Log dirs", _LOG_DIR_COLUMNS, report.log_dirs)
    for failover in report.failovers:
        steps = [
            step for step in report.failover_steps if step[c.FAILURE_ID] == failover[c.FAILURE_ID]
        ]
        _print_table(console, _failover_title(failover), _STEP_COLUMNS, steps)
    _print_table(console, "Moves between log dirs", _MOVE_COLUMNS, report.moves)
    busiest = report.partitions[:BUSIEST]
    _print_table(console, "Busiest partitions", _PARTITION_COLUMNS, busiest)
    _print_table(console, "Requests", _REQUEST_COLUMNS, report.requests)
    _print_table(console, "Lines set aside", _MALFORMED_COLUMNS, report.malformed)
    good = sum(report.row_counts.values())
    set_aside = sum(row[c.MALFORMED_COUNT] for row in report.malformed)
    console.print(
        f"{good} rows read from {report.dump}, {set_aside} lines set aside; tables in {report.out}",
        highlight=False,
        soft_wrap=True,
    )


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
    moved = (
        "no leader moved" if row[c.MOVED_COUNT] is None else f"{row[c.MOVED_COUNT]} leaders moved"
    )
    after = "" if row[c.ELECTED_AFTER_MS] is None else f" after {row[c.ELECTED_AFTER_MS]} ms"
    return f"{row[c.OFFLINE_COUNT]} replicas offline, {moved}{after}"


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


def _state(row: RowDict) -> str:
    return "online" if row[c.ONLINE] else "[red]offline"


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
    "since failure": lambda row: f"{row[c.SINCE_FAILURE_MS]} ms",
    "took": lambda row: (
        "-" if row[c.SINCE_PREVIOUS_MS] is None else f"{row[c.SINCE_PREVIOUS_MS]} ms"
    ),
    "partitions": _count(c.PARTITION_COUNT),
    "detail": _plain(c.DETAIL),
}
_MOVE_COLUMNS: Final[dict[str, Cell]] = {
    "broker": _plain(c.BROKER_ID),
    "replica": lambda row: f"{row[c.TOPIC]}-{row[c.PARTITION]}",
    "from": _plain(c.SOURCE_LOG_DIR),
    "to": _plain(c.TARGET_LOG_DIR),
    "state": _plain(c.STATE),
    "copied": _bytes(c.COPIED_BYTES),
    "ms": _number(c.DURATION_MS),
    "rate": _bytes(c.BYTES_PER_S, "/s"),
}
_PARTITION_COLUMNS: Final[dict[str, Cell]] = {
    "partition": lambda row: f"{row[c.TOPIC]}-{row[c.PARTITION]}",
    "written": _bytes(c.WRITE_BYTES_PER_S, "/s"),
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
_MALFORMED_COLUMNS: Final[dict[str, Cell]] = {
    "table": _plain(c.TABLE),
    "reason": _plain(c.REASON),
    "lines": _count(c.MALFORMED_COUNT),
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
        "reason",
    }
)
