"""A plan as a person reads it: bars per log dir, now and then, and what it costs.

It plans nothing; ``content`` is the same as JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console, Group
from rich.table import Column, Table

from analytics.sizes import size_text
from jbodlab.rebalance.core.cluster_model import ClusterModel, Slot
from jbodlab.rebalance.core.plan import RebalancePlan, least_seconds
from jbodlab.rebalance.core.plan_file import wanted_by
from jbodlab.rebalance.core.plan_request import Goal, PlanRequest
from jbodlab.rebalance.core.situation import LogDir, LogDirId

_BAR_WIDTHS: Final = (14, 9, 5)
_WIDE: Final = 200
_NAMED: Final = 10
"""How many replicas that cannot go are named."""
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
Measured = dict[LogDirId, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    goal: Goal
    title: str
    text: Callable[[float], str]


def duration_text(seconds: float) -> str:
    """Return a duration in the unit a person would use."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def bar(value: float, most: float, width: int = _BAR_WIDTHS[0]) -> str:
    """Return a bar of block characters; ``most`` fills the width."""
    eighths = round(8 * width * value / most) if most > 0 else 0
    full, rest = divmod(eighths, 8)
    return ("█" * full + _EIGHTHS[rest].strip()).ljust(width)


_COLUMNS: Final = (
    _Column(goal=Goal.BYTES, title="used", text=size_text),
    _Column(goal=Goal.PARTITIONS, title="replicas", text=lambda value: f"{value:.0f}"),
    _Column(goal=Goal.RATE, title="written", text=lambda value: f"{size_text(value)}/s"),
)


def plan_shown(
    plan: RebalancePlan,
    throttle: int | None,
    path_text: Callable[[str], str] = str,
    width: int = _WIDE,
) -> Group:
    """Return the table and the sentences under it.

    ``path_text`` may shorten paths; bars take what ``width`` leaves, and go where that is little.
    """
    measure = Console(width=_WIDE).measure
    tables = (_table(plan, path_text, bar_width) for bar_width in _BAR_WIDTHS)
    fitting = next((table for table in tables if measure(table).maximum <= width), None)
    return Group(fitting or _table(plan, path_text, 0), *_sentences(plan, throttle, path_text))


def plan_content(plan: RebalancePlan, throttle: int | None) -> dict[str, Any]:
    """Return everything that is shown, as JSON."""
    measured = {column.goal: _now_and_then(plan, column.goal) for column in _COLUMNS}
    return {
        "goal": plan.request.goal.value,
        "between_brokers": plan.request.between_brokers,
        "log_dirs": [
            {
                "broker": each.id.broker,
                "path": each.id.path,
                "state": _state(each, plan.request),
                **{
                    f"{column.title}_{when}": values[each.id]
                    for column in _COLUMNS
                    for when, values in zip(("now", "then"), measured[column.goal], strict=True)
                },
            }
            for each in plan.situation.log_dirs
        ],
        "replicas_moved": len(plan.movements),
        "moved_bytes": plan.moved_bytes,
        "network_bytes": _network_bytes(plan),
        "least_bytes": round(plan.least_bytes),
        "imbalance_now": round(plan.imbalance_before, 3),
        "imbalance_then": round(plan.imbalance_after, 3),
        "seconds_at_least": None if throttle is None else least_seconds(plan, throttle),
        "left_behind": [
            {"topic": each.tp.topic, "partition": each.tp.partition, "reason": each.reason}
            for each in plan.left_behind
        ],
        "partitions": [
            {
                "topic": each.tp.topic,
                "partition": each.tp.partition,
                "replicas": list(each.brokers),
                "log_dirs": list(each.log_dirs),
            }
            for each in wanted_by(plan)
        ],
    }


def _table(plan: RebalancePlan, path_text: Callable[[str], str], bar_width: int) -> Table:
    """Return the table with bars of that many characters, 0 for none."""
    columns = [
        column
        for column in _COLUMNS
        if column.goal is not Goal.RATE
        or any(each.write_rate for each in plan.situation.partitions)
    ]
    titles = [f"{column.title} {when}" for column in columns for when in ("now", "then")]
    table = Table("broker", Column("log dir", no_wrap=True), "state", *titles)
    cells = [cells for column in columns for cells in _column_cells(plan, column, bar_width)]
    for each, *shown in zip(plan.situation.log_dirs, *cells, strict=True):
        path = path_text(each.id.path)
        table.add_row(str(each.id.broker), path, _state(each, plan.request), *shown)
    return table


def _column_cells(
    plan: RebalancePlan, column: _Column, bar_width: int
) -> tuple[list[str], list[str]]:
    """Return what a column shows of every log dir, now and then, its numbers below each other."""
    now, then = _now_and_then(plan, column.goal)
    most = max((*now.values(), *then.values()), default=0.0)
    ids = [each.id for each in plan.situation.log_dirs]
    text_width = max(
        (len(column.text(each[id_])) for each in (now, then) for id_ in ids), default=0
    )

    def cell(value: float) -> str:
        shown_bar = f"{bar(value, most, bar_width)} " if bar_width else ""
        return f"{shown_bar}{column.text(value):>{text_width}}"

    return [cell(now[id_]) for id_ in ids], [cell(then[id_]) for id_ in ids]


def _now_and_then(plan: RebalancePlan, goal: Goal) -> tuple[Measured, Measured]:
    model = ClusterModel(plan.situation, PlanRequest(goal=goal))
    now = dict(model.loads)
    for number, places in enumerate(plan.places):
        for index, place in enumerate(places):
            if model.place(Slot(number, index)) != place:
                model.move(Slot(number, index), place)
    return now, model.loads


def _state(log_dir: LogDir, request: PlanRequest) -> str:
    words = ["online" if log_dir.is_online else "offline"]
    words += ["cordoned"] * log_dir.is_cordoned + ["drained"] * request.drains(log_dir.id)
    return ", ".join(words)


def _network_bytes(plan: RebalancePlan) -> int:
    return sum(each.size_bytes for each in plan.movements if each.is_between_brokers)


def _sentences(
    plan: RebalancePlan, throttle: int | None, path_text: Callable[[str], str]
) -> list[str]:
    scope = "all log dirs" if plan.request.between_brokers else "the log dirs of its broker"
    share = (
        f"by {plan.request.goal.value}, the fullest log dir carries "
        f"{plan.imbalance_before:.2f} times its fair share among {scope} now, "
        f"{plan.imbalance_after:.2f} times then"
    )
    cost = (
        f"{_counted(len(plan.movements))}, {size_text(plan.moved_bytes)} "
        f"({size_text(_network_bytes(plan))} between brokers); no plan that relieves the same "
        f"log dirs as much moves less than {size_text(plan.least_bytes)}"
    )
    lines = [share, cost]
    if throttle is not None:
        took = duration_text(least_seconds(plan, throttle))
        lines.append(f"at {size_text(throttle)}/s per broker that takes {took} at least")
    changing = sum(each.is_changing for each in plan.situation.partitions)
    if changing:
        lines.append(
            f"on their way already, so left alone and shown where they will be: {changing}"
        )
    return [*lines, *_left_behind(plan, path_text), *_open_drains(plan, path_text)]


def _left_behind(plan: RebalancePlan, path_text: Callable[[str], str]) -> list[str]:
    """Name some of what cannot go; after them only how many more there are."""
    lines = [
        f"{each.tp} stays in {_place_text(each.at, path_text)}: {each.reason}"
        for each in plan.left_behind[:_NAMED]
    ]
    if len(plan.left_behind) > _NAMED:
        lines.append(f"and {len(plan.left_behind) - _NAMED} more; --json names them all")
    return lines


def _place_text(at: LogDirId, path_text: Callable[[str], str]) -> str:
    path = path_text(at.path) if at.path else "a log dir that nobody tells of"
    return f"{path} of broker {at.broker}"


def _counted(count: int) -> str:
    return "1 replica moves" if count == 1 else f"{count} replicas move"


def _open_drains(plan: RebalancePlan, path_text: Callable[[str], str]) -> list[str]:
    paths = [
        path_text(each.id.path)
        for each in plan.situation.log_dirs
        if plan.request.drains(each.id) and each.accepts
    ]
    if not paths:
        return []
    return [
        f"{', '.join(paths)}: not cordoned, so new replicas may come meanwhile; "
        "cordoned.log.dirs keeps them away"
    ]
