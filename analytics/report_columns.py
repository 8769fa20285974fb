"""The columns of each printed table: their titles, and how a row's cell is written.

What is unknown is a dash.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TypeAlias

from analytics import columns as c
from analytics.findings import RowDict, brokers_text
from analytics.sizes import size_text

Cell: TypeAlias = Callable[[RowDict], str]


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
    state = row[c.STATE].replace("_", " ")
    return state if row[c.IS_FINISHED] else f"{state}, unfinished"


def _brokers(name: str) -> Cell:
    return lambda row: brokers_text(row[name])


def _at(name: str) -> Cell:
    """Return the time of day, in UTC."""
    return lambda row: "-" if row[name] is None else _time_text(row[name])


def _time_text(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(" ", "milliseconds")[11:23]


def _partition(row: RowDict) -> str:
    return f"{row[c.TOPIC]}-{row[c.PARTITION]}"


LOG_DIR_COLUMNS: Final[dict[str, Cell]] = {
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
STEP_COLUMNS: Final[dict[str, Cell]] = {
    "step": lambda row: str(row[c.STEP]).replace("_", " "),
    "node": _plain(c.NODE),
    "since failure": lambda row: (
        "not seen" if row[c.SINCE_FAILURE_MS] is None else f"{row[c.SINCE_FAILURE_MS]} ms"
    ),
    "took": _ms(c.SINCE_PREVIOUS_MS),
    "partitions": _count(c.PARTITION_COUNT),
    "detail": _plain(c.DETAIL),
}
MOVE_COLUMNS: Final[dict[str, Cell]] = {
    "broker": _plain(c.BROKER_ID),
    "replica": _partition,
    "from": _plain(c.SOURCE_LOG_DIR),
    "to": _plain(c.TARGET_LOG_DIR),
    "state": _move_state,
    "copied": _bytes(c.COPIED_BYTES),
    "ms": _number(c.DURATION_MS),
    "rate": _bytes(c.BYTES_PER_S, "/s"),
    "of throttle": _percent(c.THROTTLE_SHARE),
}
PARTITION_COLUMNS: Final[dict[str, Cell]] = {
    "partition": _partition,
    "written": _bytes(c.WRITE_BYTES_PER_S, "/s"),
    "leader": _plain(c.LEADER),
    "isr": _plain(c.ISR_COUNT),
    "unavailable": _ms(c.UNAVAILABLE_MS),
    "under min isr": _ms(c.UNDER_MIN_ISR_MS),
}
REQUEST_COLUMNS: Final[dict[str, Cell]] = {
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
LATENCY_COLUMNS: Final[dict[str, Cell]] = {
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
CHECK_COLUMNS: Final[dict[str, Cell]] = {
    "check": _plain(c.CHECK),
    "table": _plain(c.TABLE),
    "detail": _plain(c.DETAIL),
    "count": _count(c.ROW_COUNT),
}
RUN_COLUMNS: Final[dict[str, Cell]] = {
    "cluster": _plain(c.CLUSTER_ID),
    "run": _plain(c.RUN_ID),
    "seed": _count(c.SEED),
    "ms": lambda row: f"{row[c.LAST_MS] - row[c.FIRST_MS]:,}",
    "brokers": _count(c.BROKER_COUNT),
    "samples": _count(c.ROW_COUNT),
}
DURATION_COLUMNS: Final[dict[str, Cell]] = {
    "cause": _plain(c.CAUSE),
    "replicas offline": _plain(c.SIZE_CLASS),
    "failures": _count(c.FAILURE_COUNT),
    "unfinished": _count(c.UNFINISHED_COUNT),
    "p50": _ms(c.P50_MS),
    "p90": _ms(c.P90_MS),
    "p99": _ms(c.P99_MS),
    "max": _ms(c.MAX_MS),
}
OUTAGE_COLUMNS: Final[dict[str, Cell]] = {
    "partition": _partition,
    "seen by": _plain(c.SEEN_BY),
    "began": _at(c.BEGAN_MS),
    "ended": _at(c.ENDED_MS),
    "lasted": _ms(c.DURATION_MS),
    "leader before": _plain(c.LEADER_BEFORE),
    "after": _plain(c.LEADER_AFTER),
    "cause": _plain(c.CAUSE),
}
SLOW_COLUMNS: Final[dict[str, Cell]] = {
    "broker": _plain(c.BROKER_ID),
    "log dir": _plain(c.LOG_DIR),
    "operation": _plain(c.OPERATION),
    "buckets": _count(c.BUCKET_COUNT),
    "slow": _count(c.SLOW_BUCKET_COUNT),
    "mean us": _number(c.MEAN_US),
    "siblings us": _number(c.SIBLINGS_US),
    "z-score max": _number(c.Z_SCORE_MAX, 1),
    "first slow": _at(c.FIRST_SLOW_MS),
    "failed": _at(c.FAILED_AT_MS),
    "warning": _ms(c.WARNING_MS),
}
IMBALANCE_COLUMNS: Final[dict[str, Cell]] = {
    "bucket": lambda row: str(row[c.BUCKET])[11:19],
    "log dirs": _count(c.LOG_DIR_COUNT),
    "used gini": _number(c.USED_GINI, 2),
    "largest by mean": _number(c.USED_LARGEST_BY_MEAN, 2),
    "appended gini": _number(c.APPEND_GINI, 2),
    "most by mean": _number(c.APPEND_LARGEST_BY_MEAN, 2),
    "fullest": _plain(c.FULLEST),
}
THROTTLE_COLUMNS: Final[dict[str, Cell]] = {
    "broker": _plain(c.BROKER_ID),
    "replica": _partition,
    "to": _plain(c.TARGET_LOG_DIR),
    "throttle": _bytes(c.THROTTLE_BYTES_PER_S, "/s"),
    "rate": _bytes(c.BYTES_PER_S, "/s"),
    "without": _bytes(c.UNTHROTTLED_BYTES_PER_S, "/s"),
    "waited": _ms(c.WAITED_MS),
    "p99 before us": _number(c.PRODUCE_P99_BEFORE_US),
    "p99 us": _number(c.PRODUCE_P99_US),
}
REASSIGNMENT_COLUMNS: Final[dict[str, Cell]] = {
    "partition": _partition,
    "adds": _brokers(c.ADDING),
    "removes": _brokers(c.REMOVING),
    "leader": _plain(c.LEADER),
    "state": _move_state,
    "copied": _bytes(c.COPIED_BYTES),
    "ms": _number(c.DURATION_MS),
    "rate": _bytes(c.BYTES_PER_S, "/s"),
    "of throttle": _percent(c.THROTTLE_SHARE),
    "p99 before us": _number(c.PRODUCE_P99_BEFORE_US),
    "p99 us": _number(c.PRODUCE_P99_US),
}
PLAN_COLUMNS: Final[dict[str, Cell]] = {
    "measure": _plain(c.MEASURE),
    "gini now": _number(c.GINI_NOW, 2),
    "then": _number(c.GINI_THEN, 2),
    "largest by mean now": _number(c.LARGEST_BY_MEAN_NOW, 2),
    "largest then": _number(c.LARGEST_BY_MEAN_THEN, 2),
    "replicas moved": _count(c.MOVED_REPLICA_COUNT),
    "moved": _bytes(c.MOVED_BYTES),
}
COMPARISON_COLUMNS: Final[dict[str, Cell]] = {
    "measure": _plain(c.MEASURE),
    "other run": _plain(c.BASE_RUN_ID),
    "its samples": _count(c.BASE_COUNT),
    "samples": _count(c.COUNT),
    "its mean": _number(c.BASE_MEAN, 1),
    "mean": _number(c.MEAN, 1),
    "difference": _number(c.DIFFERENCE, 1),
    "95 % from": _number(c.CI_LOW, 1),
    "95 % to": _number(c.CI_HIGH, 1),
    "p": _number(c.P_VALUE, 3),
}
LEFT: Final = frozenset(
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
        "cluster",
        "run",
        "cause",
        "seen by",
        "replicas offline",
        "fullest",
        "measure",
        "other run",
    }
)
