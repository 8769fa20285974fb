"""From a plan that fails to a smaller one that still fails: fewer faults and orders, less time.

Runs nothing: who calls knows how. The search itself is in ``simulation.core.reduce``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

from simulation.core.actions import Clear, CreateTopic, Fault, Step, When
from simulation.core.plan import Plan, Workload
from simulation.core.plan_document import PlanError, plan_content, read_plan
from simulation.core.reduce import Attempts, fewest_parts, smallest_number

Path: TypeAlias = tuple[int, ...]
"""Where a step stands: its index, then that among the steps of a ``when``."""
TIME_STEP_MS: Final = 100
"""Times are not made shorter by less than this."""


class Part(NamedTuple):
    """What goes as one: a workload, or steps that mean nothing without each other."""

    workload: str | None
    steps: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class _Number:
    """One number of a plan, and how to write another one there."""

    value: int
    at_least: int
    step: int
    put: Callable[[Plan, int], Plan]


def reduced(plan: Plan, still_fails: Callable[[Plan], bool], attempts_max: int) -> Plan:
    """Return a plan that still fails, with no part left that can go.

    Args:
        plan: known to fail; it is not run.
        still_fails: runs a plan. Plans that cannot be written as a file are never tried.
        attempts_max: how many plans may be run.
    """
    attempts: Attempts[Plan] = Attempts(still_fails, attempts_max)

    def fails(candidate: Plan) -> bool:
        return not attempts.is_spent and _is_sound(candidate) and attempts.fails(candidate)

    kept = fewest_parts(parts_of(plan), lambda parts: fails(with_parts(plan, parts)))
    plan = with_parts(plan, kept)
    for numbers in (_times, _sizes):
        for index in range(len(numbers(plan))):
            plan = _smaller_number(plan, numbers(plan)[index], fails)
    return plan


def parts_of(plan: Plan) -> list[Part]:
    """Return what may go: each fault with what takes it off, every other step, every workload."""
    groups: dict[str | Path, list[Path]] = {}
    for path, step in _paths(plan.steps):
        groups.setdefault(_group(path, step), []).append(path)
    steps = [Part(None, tuple(paths)) for paths in groups.values()]
    return [*steps, *(Part(workload.name, ()) for workload in plan.workloads)]


def with_parts(plan: Plan, parts: tuple[Part, ...]) -> Plan:
    """Return the plan with these parts only."""
    paths = {path: None for part in parts for path in part.steps}
    names = {part.workload: None for part in parts}
    return replace(
        plan,
        steps=tuple(_kept(plan.steps, (), paths)),
        workloads=tuple(one for one in plan.workloads if one.name in names),
    )


def _paths(steps: tuple[Step, ...]) -> Iterator[tuple[Path, Step]]:
    for index, step in enumerate(steps):
        if isinstance(step.action, When):
            for inner, inner_step in _paths(step.action.steps):
                yield (index, *inner), inner_step
        else:
            yield (index,), step


def _group(path: Path, step: Step) -> str | Path:
    match step.action:
        case Fault(name=name) | Clear(fault=name):
            return name
        case _:
            return path


def _kept(steps: tuple[Step, ...], above: Path, paths: dict[Path, None]) -> Iterator[Step]:
    for index, step in enumerate(steps):
        path = (*above, index)
        if isinstance(step.action, When):
            inner = tuple(_kept(step.action.steps, path, paths))
            if inner:
                yield replace(step, action=replace(step.action, steps=inner))
        elif path in paths:
            yield step


def _is_sound(plan: Plan) -> bool:
    try:
        return read_plan(plan_content(plan), source=plan.name) == plan
    except PlanError:
        return False


def _smaller_number(plan: Plan, number: _Number, fails: Callable[[Plan], bool]) -> Plan:
    found = smallest_number(
        number.value,
        number.at_least,
        lambda value: fails(number.put(plan, value)),
        number.step,
    )
    return plan if found == number.value else number.put(plan, found)


def _times(plan: Plan) -> list[_Number]:
    """Return the pauses before the steps at the top; after a shorter one all come earlier."""
    pauses: list[_Number] = []
    before_ms = 0
    for index, step in enumerate(plan.steps):
        if step.at_ms is not None:
            pauses.append(_Number(step.at_ms - before_ms, 0, TIME_STEP_MS, _earlier(index)))
            before_ms = step.at_ms
    return pauses


def _earlier(index: int) -> Callable[[Plan, int], Plan]:
    def put(plan: Plan, pause_ms: int) -> Plan:
        steps = plan.steps
        before_ms = max((step.at_ms or 0 for step in steps[:index]), default=0)
        gain_ms = (steps[index].at_ms or 0) - before_ms - pause_ms
        return replace(
            plan,
            steps=tuple(
                replace(step, at_ms=step.at_ms - gain_ms)
                if number >= index and step.at_ms is not None
                else step
                for number, step in enumerate(steps)
            ),
        )

    return put


def _sizes(plan: Plan) -> list[_Number]:
    """Return how many there are of everything."""
    cluster = plan.cluster
    numbers: list[_Number] = []
    for index, topic in enumerate(cluster.topics):
        numbers.append(_Number(topic.partitions, 1, 1, _topic_number(index, "partitions")))
        numbers.append(
            _Number(topic.replication_factor, 1, 1, _topic_number(index, "replication_factor"))
        )
    for index, workload in enumerate(plan.workloads):
        numbers.append(_Number(workload.batch_records, 1, 1, _batch_records(index)))
    return [
        *numbers,
        _Number(cluster.brokers, 1, 1, lambda plan, to: _with_cluster(plan, brokers=to)),
        _Number(cluster.log_dirs, 1, 1, lambda plan, to: _with_cluster(plan, log_dirs=to)),
    ]


def _with_cluster(plan: Plan, *, brokers: int | None = None, log_dirs: int | None = None) -> Plan:
    cluster = plan.cluster
    if brokers is not None:
        cluster = replace(cluster, brokers=brokers, racks=cluster.racks[:brokers])
    if log_dirs is not None:
        cluster = replace(cluster, log_dirs=log_dirs)
    return replace(plan, cluster=cluster)


def _topic_number(index: int, name: str) -> Callable[[Plan, int], Plan]:
    def put(plan: Plan, to: int) -> Plan:
        topics: list[CreateTopic] = list(plan.cluster.topics)
        topics[index] = (
            replace(topics[index], partitions=to)
            if name == "partitions"
            else replace(topics[index], replication_factor=to)
        )
        return replace(plan, cluster=replace(plan.cluster, topics=tuple(topics)))

    return put


def _batch_records(index: int) -> Callable[[Plan, int], Plan]:
    def put(plan: Plan, to: int) -> Plan:
        workloads: list[Workload] = list(plan.workloads)
        workloads[index] = replace(workloads[index], batch_records=to)
        return replace(plan, workloads=tuple(workloads))

    return put
