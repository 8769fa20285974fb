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

from analytics import schema as s
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
            step for step in report.failover_steps if step[s.FAILURE_ID] == failover[s.FAILURE_ID]
        ]
        _print_table(console, _failover_title(failover), _STEP_COLUMNS, steps)
    _print_table(console, "Moves between log dirs", _MOVE_COLUMNS, report.moves)
    busiest = report.partitions[:BUSIEST]
    _print_table(console, "Busiest partitions", _PARTITION_COLUMNS, busiest)
    _print_table(console, "Requests", _REQUEST_COLUMNS, report.requests)
    _print_table(console, "Lines set aside", _MALFORMED_COLUMNS, report.malformed)
    good = sum(report.row_counts.values())
    set_aside = sum(row[s.MALFORMED_COUNT] for row in report.malformed)
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
    at = datetime.fromtimestamp(row[s.FAILED_AT_MS] / 1000, UTC).isoformat(" ", "milliseconds")
    parts = [f"Failover of {row[s.NODE]} at {at}", row[s.DETAIL], _offline_text(row)]
    return " · ".join(filter(None, parts))


def _offline_text(row: RowDict) -> str:
    moved = (
        "no leader moved" if row[s.MOVED_COUNT] is None else f"{row[s.MOVED_COUNT]} leaders moved"
    )
    after = "" if row[s.ELECTED_AFTER_MS] is None else f" after {row[s.ELECTED_AFTER_MS]} ms"
    return f"{row[s.OFFLINE_COUNT]} replicas offline, {moved}{after}"


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
    return "online" if row[s.ONLINE] else "[red]offline"


_LOG_DIR_COLUMNS: Final[dict[str, Cell]] = {
    "broker": _plain(s.BROKER_ID),
    "log dir": _plain(s.LOG_DIR),
    "state": _state,
    "used": _bytes(s.USED_BYTES),
    "total": _bytes(s.TOTAL_BYTES),
    "fill": _percent(s.FILL),
    "replicas": _count(s.REPLICA_COUNT),
    "leaders": _count(s.LEADER_COUNT),
    "future": _count(s.FUTURE_COUNT),
    "lag max": _count(s.LAG_MAX),
    "appended": _bytes(s.APPEND_BYTES_PER_S, "/s"),
}
_STEP_COLUMNS: Final[dict[str, Cell]] = {
    "step": lambda row: str(row[s.STEP]).replace("_", " "),
    "node": _plain(s.NODE),
    "since failure": lambda row: f"{row[s.SINCE_FAILURE_MS]} ms",
    "took": lambda row: (
        "-" if row[s.SINCE_PREVIOUS_MS] is None else f"{row[s.SINCE_PREVIOUS_MS]} ms"
    ),
    "partitions": _count(s.PARTITION_COUNT),
    "detail": _plain(s.DETAIL),
}
_MOVE_COLUMNS: Final[dict[str, Cell]] = {
    "broker": _plain(s.BROKER_ID),
    "replica": lambda row: f"{row[s.TOPIC]}-{row[s.PARTITION]}",
    "from": _plain(s.SOURCE_LOG_DIR),
    "to": _plain(s.TARGET_LOG_DIR),
    "state": _plain(s.STATE),
    "copied": _bytes(s.COPIED_BYTES),
    "ms": _number(s.DURATION_MS),
    "rate": _bytes(s.BYTES_PER_S, "/s"),
}
_PARTITION_COLUMNS: Final[dict[str, Cell]] = {
    "partition": lambda row: f"{row[s.TOPIC]}-{row[s.PARTITION]}",
    "written": _bytes(s.WRITE_BYTES_PER_S, "/s"),
}
_REQUEST_COLUMNS: Final[dict[str, Cell]] = {
    "broker": _plain(s.BROKER_ID),
    "api": _plain(s.API),
    "requests": _count(s.REQUEST_COUNT),
    "errors": _count(s.ERROR_COUNT),
    "per s": _number(s.PER_S, 1),
    "p50 mean us": _number(s.P50_MEAN_US),
    "p99 worst us": _number(s.P99_WORST_US),
    "received": _bytes(s.RECEIVED_BYTES),
    "sent": _bytes(s.SENT_BYTES),
}
_MALFORMED_COLUMNS: Final[dict[str, Cell]] = {
    "table": _plain(s.TABLE),
    "reason": _plain(s.REASON),
    "lines": _count(s.MALFORMED_COUNT),
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
