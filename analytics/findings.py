"""What a report comes to in sentences: for the terminal, and as captions of its pictures.

Each is about one run, and None where the run has nothing of the kind. They compute nothing but
counts and the largest of what the tables say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any, Final, TypeAlias

from analytics import columns as c
from analytics.sizes import count_text, duration_text, size_text

RowDict: TypeAlias = Mapping[str, Any]  # Any: a cell has the type of its column
Rows: TypeAlias = Mapping[str, Sequence[RowDict]]
"""The rows of one run, by result table."""
SLOW_Z_MIN: Final = 3.5
"""As in ``answers.slow_log_dirs``, which needs Spark to be imported."""


def findings(rows: Rows) -> list[str]:
    """Return at most ten sentences about one run, what is worst first."""
    said = (finding(rows) for finding in _ALL)
    return [sentence for sentence in said if sentence is not None]


def latest_run(tables: Mapping[str, Sequence[RowDict]]) -> tuple[Any, ...] | None:
    """Return the key of the run that ended last, None without any."""
    for name in ("runs", "log_dirs", "failovers"):
        if tables.get(name):
            return tuple(tables[name][-1][column] for column in c.RUN)
    return None


def rows_of_run(tables: Mapping[str, Sequence[RowDict]], run: tuple[Any, ...] | None) -> Rows:
    """Return the rows of one run, by table; tables that are not there are empty."""
    found = {name: _of(rows, run) for name, rows in tables.items()}
    return _WithDefault(found)


class _WithDefault(dict[str, Sequence[RowDict]]):
    def __missing__(self, key: str) -> Sequence[RowDict]:
        return ()


def _of(rows: Sequence[RowDict], run: tuple[Any, ...] | None) -> list[RowDict]:
    return [row for row in rows if run == tuple(row.get(name) for name in c.RUN)]


def log_dirs_finding(rows: Rows) -> str | None:
    """How many log dirs there are, which are not online, and which is the fullest."""
    log_dirs = rows["log_dirs"]
    if not log_dirs:
        return None
    away = [f"{name_of(row)} {row[c.STATE]}" for row in log_dirs if row[c.STATE] != "online"]
    states = f"{len(away)} not online: {_listed(away)}" if away else "all online"
    fullest = max(log_dirs, key=lambda row: row[c.USED_BYTES])
    return (
        f"{_some(log_dirs, 'log dir')}, {states}; {name_of(fullest)} holds most "
        f"({size_text(fullest[c.USED_BYTES])}{_fill_text(fullest)})."
    )


def failovers_finding(rows: Rows) -> str | None:
    """How many log dirs failed, how long an election took, and what never ended."""
    found = rows["failovers"]
    if not found:
        return None
    elected = [row for row in found if row[c.ELECTED_AFTER_MS] is not None]
    unfinished = [row for row in found if not row[c.IS_FINISHED]]
    words = f"{_some(found, 'log dir failure')}"
    if elected:
        slowest = max(elected, key=lambda row: row[c.ELECTED_AFTER_MS])
        words += (
            f"; new leaders after {duration_text(slowest[c.ELECTED_AFTER_MS])}"
            f"{' at worst' if len(elected) > 1 else ''} ({slowest[c.NODE]}, {slowest[c.CAUSE]})"
        )
    recovered = [row[c.RECOVERED_AFTER_MS] for row in found if row[c.RECOVERED_AFTER_MS]]
    if recovered:
        words += f", clients served again after {duration_text(max(recovered))}"
    if unfinished:
        waits = unfinished[0][c.WAITING_FOR].replace("_", " ")
        words += f"; {len(unfinished)} unfinished (no {waits} seen)"
    return f"{words}."


def outages_finding(rows: Rows) -> str | None:
    """How many partitions were unavailable, the longest, and why."""
    found = rows["outages"]
    if not found:
        return None
    partitions = {(row[c.TOPIC], row[c.PARTITION]) for row in found}
    worst = max(found, key=lambda row: row[c.DURATION_MS])
    lasts = "" if worst[c.ENDED_MS] is not None else ", to the end"
    return (
        f"{_some(partitions, 'partition')} unavailable, the longest "
        f"{worst[c.TOPIC]}-{worst[c.PARTITION]} for {duration_text(worst[c.DURATION_MS])}{lasts}: "
        f"{worst[c.CAUSE]}."
    )


def slow_finding(rows: Rows) -> str | None:
    """Which log dir is slow among its siblings, and how long before it failed."""
    scored = [row for row in rows["slow_log_dirs"] if row[c.Z_SCORE_MAX] is not None]
    slow = [row for row in scored if row[c.SLOW_BUCKET_COUNT]]
    if not scored:
        return None
    if not slow:
        return f"No log dir is slow among its siblings (z-score above {SLOW_Z_MIN})."
    worst = max(slow, key=lambda row: (row[c.SLOW_BUCKET_COUNT], row[c.Z_SCORE_MAX]))
    times = worst[c.MEAN_US] / worst[c.SIBLINGS_US] if worst[c.SIBLINGS_US] else 1.0
    words = (
        f"{name_of(worst)} is slow at {worst[c.OPERATION]}: {times:.1f} times its siblings, "
        f"in {worst[c.SLOW_BUCKET_COUNT]} of {worst[c.BUCKET_COUNT]} buckets"
    )
    if worst[c.WARNING_MS] is not None:
        words += f", first seen {duration_text(worst[c.WARNING_MS])} before it failed"
    return f"{words}."


def imbalance_finding(rows: Rows) -> str | None:
    """How uneven the log dirs are now, and what it was at first."""
    told = [row for row in rows["imbalance"] if row[c.USED_GINI] is not None]
    if not told:
        return None
    first, last = told[0], told[-1]
    return (
        f"The fullest log dir ({last[c.FULLEST]}) holds "
        f"{last[c.USED_LARGEST_BY_MEAN]:.2f} times the mean; "
        f"Gini {first[c.USED_GINI]:.2f} at first, {last[c.USED_GINI]:.2f} at last."
    )


def latencies_finding(rows: Rows) -> str | None:
    """What clients, else brokers, say of produce latency."""
    produced = [
        row
        for row in rows["latencies"]
        if (row[c.SCOPE], row[c.NAME]) == ("api", "Produce") or row[c.SCOPE] == "client"
    ]
    clients = [row for row in produced if row[c.SCOPE] == "client"]
    if not produced:
        return None
    worst = max(clients or produced, key=lambda row: row[c.P99_US])
    whose = "Clients' produce" if clients else f"Produce on broker {worst[c.BROKER_ID]}"
    return (
        f"{whose} took {us_text(worst[c.P50_US])} (p50), {us_text(worst[c.P99_US])} (p99), "
        f"{us_text(worst[c.MAX_US])} at most."
    )


def moves_finding(rows: Rows) -> str | None:
    """How many replicas moved, how fast, and what their throttle cost."""
    found = rows["moves"]
    if not found:
        return None
    done = [row for row in found if row[c.STATE] == "done"]
    copied = sum(row[c.COPIED_BYTES] for row in found)
    words = f"{_some(found, 'move')} between log dirs, {len(done)} done, {size_text(copied)} copied"
    waited = [row[c.WAITED_MS] for row in rows["throttle_costs"] if row[c.WAITED_MS] is not None]
    if waited:
        words += f"; throttles cost {duration_text(sum(waited))}"
    return f"{words}{_impact_text(rows['throttle_costs'])}."


def _impact_text(moved: Sequence[RowDict]) -> str:
    """What producers felt meanwhile, at worst; "" where nobody can tell."""
    beside = [
        row
        for row in moved
        if row[c.PRODUCE_P99_US] is not None and row[c.PRODUCE_P99_BEFORE_US] is not None
    ]
    if not beside:
        return ""
    worst = max(beside, key=lambda row: row[c.PRODUCE_P99_US])
    return (
        f"; meanwhile produce p99 was {us_text(worst[c.PRODUCE_P99_US])}, "
        f"before {us_text(worst[c.PRODUCE_P99_BEFORE_US])}"
    )


def reassignments_finding(rows: Rows) -> str | None:
    """How many partitions went to other brokers, what is under way still, and what it cost."""
    found = rows["reassignments"]
    if not found:
        return None
    words = _some(found, "reassignment")
    for state in ("completed", "cancelled", "replaced"):
        count = sum(row[c.STATE] == state for row in found)
        words += f", {count} {state}" if count else ""
    under_way = [row for row in found if not row[c.IS_FINISHED]]
    if under_way:
        oldest = max(under_way, key=lambda row: row[c.DURATION_MS])
        words += (
            f", {len(under_way)} unfinished ({oldest[c.TOPIC]}-{oldest[c.PARTITION]}: adds "
            f"{brokers_text(oldest[c.ADDING])}, for {duration_text(oldest[c.DURATION_MS])})"
        )
    copied = sum(row[c.COPIED_BYTES] or 0 for row in found)
    words += f"; {size_text(copied)} copied to other brokers"
    throttles = [row[c.THROTTLE_BYTES_PER_S] for row in found if row[c.THROTTLE_BYTES_PER_S]]
    if throttles:
        words += f" (throttled to {size_text(min(throttles))}/s)"
    return f"{words}{_impact_text(found)}."


def plan_finding(rows: Rows) -> str | None:
    """What the plan would make of the imbalance."""
    found = [row for row in rows["plan_scores"] if row[c.LARGEST_BY_MEAN_NOW] is not None]
    if not found:
        return None
    told = "; ".join(
        f"{row[c.MEASURE].replace('_', ' ')} {row[c.LARGEST_BY_MEAN_NOW]:.2f} to "
        f"{row[c.LARGEST_BY_MEAN_THEN]:.2f}"
        for row in found
        if row[c.LARGEST_BY_MEAN_THEN] is not None
    )
    replicas = count_text(found[0][c.MOVED_REPLICA_COUNT], "replica")
    moved = f"{replicas}, {size_text(found[0][c.MOVED_BYTES])}"
    if not found[0][c.MOVED_REPLICA_COUNT]:
        moved = "nothing"
    return f"The plan moves {moved}; largest by mean: {told}."


def comparisons_finding(rows: Rows) -> str | None:
    """What is different from another run, beyond chance."""
    found = [row for row in rows["comparisons"] if row[c.P_VALUE] is not None]
    if not found:
        return None
    base = found[0][c.BASE_RUN_ID]
    differ = [row for row in found if row[c.CI_LOW] > 0 or row[c.CI_HIGH] < 0]
    if not differ:
        return f"Nothing differs from run {base} beyond chance (95 %)."
    words = ", ".join(f"{row[c.MEASURE]} {change_text(row)}" for row in differ[:3])
    return f"Against run {base}: {words}."


def change_text(row: RowDict) -> str:
    """Return a comparison as "+12 % (95 %: +3 to +21)"."""
    base = row[c.BASE_MEAN] or 1.0
    low, mid, high = (100 * row[name] / base for name in (c.CI_LOW, c.DIFFERENCE, c.CI_HIGH))
    return f"{mid:+.0f} % (95 %: {low:+.0f} to {high:+.0f})"


def name_of(row: RowDict) -> str:
    """Return a log dir with its broker."""
    return f"broker {row[c.BROKER_ID]} {row[c.LOG_DIR]}"


def brokers_text(broker_ids: Sequence[int]) -> str:
    """Return "1, 3", a dash for none."""
    return ", ".join(map(str, broker_ids)) or "-"


def us_text(value_us: float) -> str:
    """Return a latency with its unit."""
    return duration_text(value_us / 1000)


def shortened(tables: Mapping[str, Sequence[RowDict]]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables with the latest run's log dirs named from the folder that they share."""
    rows = rows_of_run(tables, latest_run(tables))
    names = sorted({row[c.LOG_DIR] for row in rows["log_dirs"]})
    shared = os.path.commonpath(names) if len(names) > 1 else ""
    if len(shared) <= 1:
        return {name: [dict(row) for row in each] for name, each in tables.items()}
    return {name: [_without(row, f"{shared}/") for row in each] for name, each in tables.items()}


def _without(row: RowDict, words: str) -> dict[str, Any]:
    """Return a row whose texts lack ``words``."""
    return {
        name: value.replace(words, "") if isinstance(value, str) else value
        for name, value in row.items()
    }


def left_out_text(left_out: Mapping[str, int]) -> str:
    """Return how many rows of which tables were left out; "" without any."""
    parts = [f"{count_text(count, 'row')} of {name}" for name, count in left_out.items()]
    return ", ".join(parts)


def _fill_text(row: RowDict) -> str:
    return "" if row[c.FILL] is None else f", {row[c.FILL]:.1%} full"


def _some(things: Sized, name: str) -> str:
    return count_text(len(things), name)


def _listed(names: list[str]) -> str:
    more = len(names) - 2
    return ", ".join(names[:2]) + (f" and {more} more" if more > 0 else "")


_ALL: Final[tuple[Callable[[Rows], str | None], ...]] = (
    failovers_finding,
    outages_finding,
    log_dirs_finding,
    slow_finding,
    latencies_finding,
    imbalance_finding,
    moves_finding,
    reassignments_finding,
    plan_finding,
    comparisons_finding,
)
