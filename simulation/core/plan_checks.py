"""What must fit together in a plan beyond its shape: names, numbers, order. Reads no YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from protocol.cluster_file.document import read_document
from protocol.configs.broker import KEYS_OF_THE_SPEC
from protocol.configs.parsing import config_mistakes
from protocol.configs.topic import TOPIC_KEYS
from protocol.document_shape import Path, place
from simulation.core.actions import Expect, Holds, Step, Until, When
from simulation.core.cluster_document import cluster_document, port_count
from simulation.core.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Count,
    LeaderEpoch,
    Metric,
    Not,
    Offsets,
)
from simulation.core.plan import WORLDS, Plan, Workload
from simulation.core.plan_names import KnownNames
from simulation.core.plan_shape import Name

SLUG: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_ANY_PORT: Final = 20_000
BOUNDED: Final = (Count, LeaderEpoch, Metric, Offsets)
"""Conditions that say nothing without a bound."""
_NEWEST_FORMAT: Final = 2
"""Of records; older ones are message sets, without producer ids."""
_READING: Final = (("consume", "aiokafka"), ("consume", "java"))
_TRANSFORMING: Final = (("transform", "aiokafka"), ("transform", "java"))
_FETCHING: Final = (("consume", "java"), ("transform", "java"))
_ORDERING: Final = ("move", "administer", "regroup", "contend", "examine")
_ALONE: Final = ("administer", "regroup", "contend")
"""Who has a group, and shares it with nobody."""
_IN_GROUPS: Final = (*_READING, *_TRANSFORMING, *((kind, "plain") for kind in _ALONE))
_TRANSACTIONAL: Final = (("produce", "aiokafka"), ("produce", "java"))
_NOT_BOUNDS: Final = ("workload", "what", "of", "broker", "name")


def plan_mistakes(plan: Plan, names: Sequence[Name]) -> list[str]:
    """Return every mistake; ``names`` are the names in the document, with their places."""
    known = KnownNames(plan)
    mistakes = [mistake for check in _CHECKS for mistake in check(plan)]
    mistakes += [
        f"{place(name.path)}: {text}"
        for name in names
        if (text := known.mistake(name.means, name.text)) is not None
    ]
    return mistakes


def _title_mistakes(plan: Plan) -> Iterator[str]:
    if SLUG.fullmatch(plan.name) is None:
        yield f"name: must be lower-case words joined by hyphens, is {plan.name!r}"
    if not plan.shows.endswith("."):
        yield "shows: must be one sentence, with its full stop"
    if not plan.worlds:
        yield "worlds: must not be empty"
    if plan.because is not None and not plan.because.endswith("."):
        yield "because: must be one sentence, with its full stop"
    if plan.because is not None and all(world in plan.worlds for world in WORLDS):
        yield "because: it runs in every world"


def _cluster_mistakes(plan: Plan) -> Iterator[str]:
    cluster = plan.cluster
    for word, count in (("brokers", cluster.brokers), ("log_dirs", cluster.log_dirs)):
        if count < 1:
            yield f"cluster.{word}: must be >= 1, is {count}"
    if cluster.racks and len(cluster.racks) != cluster.brokers:
        yield f"cluster.racks: must be one per broker, {cluster.brokers}, are {len(cluster.racks)}"
        return
    for broker in cluster.broker_configs:
        if broker not in cluster.broker_ids:
            yield f"cluster.broker_configs.{broker}: there is no broker {broker}"
    if cluster.brokers <= 0:
        return
    document = cluster_document(cluster, range(_ANY_PORT, _ANY_PORT + port_count(cluster)))
    _, mistakes = read_document(document, reserved=KEYS_OF_THE_SPEC)
    yield from (f"cluster.{mistake}" for mistake in mistakes)


def _topic_mistakes(plan: Plan) -> Iterator[str]:
    brokers = plan.cluster.broker_ids
    for index, topic in enumerate(plan.cluster.topics):
        at = f"cluster.topics[{index}]"
        for mistake in config_mistakes(TOPIC_KEYS, topic.configs):
            yield f"{at}.configs.{mistake.name}: {mistake.text}"
        if topic.replication_factor > len(brokers):
            most = f"{len(brokers)}, the number of brokers"
            yield f"{at}.replication_factor: must be <= {most}, is {topic.replication_factor}"
        for broker in (broker for replicas in topic.assignment for broker in replicas):
            if broker not in brokers:
                yield f"{at}.assignment: there is no broker {broker}"


def _same_name_mistakes(plan: Plan) -> Iterator[str]:
    for kind, names in (
        ("workloads", [workload.name for workload in plan.workloads]),
        ("steps", list(plan.fault_names)),
    ):
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            yield f"{kind}: the name {name} is given {names.count(name)} times"


def _workload_mistakes(plan: Plan) -> Iterator[str]:
    for index, workload in enumerate(plan.workloads):
        if not workload.topic and workload.kind != "examine":
            yield f"workloads[{index}].topic: is missing"
        if workload.client != "plain" and workload.kind in _ORDERING:
            yield f"workloads[{index}].client: {workload.client} gives no orders"
        mistakes = (*_library_mistakes(workload), *_java_mistakes(workload))
        yield from (f"workloads[{index}].{mistake}" for mistake in mistakes)
        if _shares_what_it_administers(workload, plan):
            yield f"workloads[{index}].group: {workload.group} is another client's, too"
        if workload.idempotent and workload.acks != "all":
            yield f"workloads[{index}].acks: must be all of an idempotent producer"
        yield from (f"workloads[{index}].{mistake}" for mistake in _format_mistakes(workload))


def _shares_what_it_administers(workload: Workload, plan: Plan) -> bool:
    groups = [each.group for each in plan.workloads]
    return workload.kind in _ALONE and groups.count(workload.group) > 1


def _library_mistakes(workload: Workload) -> Iterator[str]:
    """Find what only some clients do here."""
    who = (workload.kind, workload.client)
    if workload.group is not None and who not in _IN_GROUPS:
        yield "group: only of kind consume, not of client plain, or of a kind that needs one"
    if workload.kind in _ALONE and workload.group is None:
        yield f"kind: {workload.kind} needs a group"
    if workload.kind == "transform" and (who not in _TRANSFORMING or workload.group is None):
        yield "kind: transform needs client aiokafka or java, a group and into"
    if (workload.into is not None) != (workload.kind in {"transform", "regroup"}):
        yield "into: of kind transform or regroup, which must have it, and of no other"
    if workload.transactional and (who not in _TRANSACTIONAL or workload.acks != "all"):
        yield "transactional: only of kind produce, not of client plain, with acks all"
    if workload.rack is not None and who != ("consume", "plain"):
        yield "rack: only of kind consume and client plain"
    if workload.read_committed and who not in _READING:
        yield "read_committed: only of kind consume, not of client plain"


def _java_mistakes(workload: Workload) -> Iterator[str]:
    """Find what only Java's clients do, and what they do not."""
    who = (workload.kind, workload.client)
    is_reading = workload.kind == "consume" and workload.read_committed
    if workload.client == "java" and not (
        workload.group is not None or workload.transactional or is_reading
    ):
        yield "client: java is in a group, transactional or read_committed"
    may_abort = workload.transactional or who == ("transform", "java")
    if workload.aborts_every < 0 or (workload.aborts_every and not may_abort):
        yield f"aborts_every: must be >= 0, of who has transactions, is {workload.aborts_every}"
    if workload.fetch_bytes is not None and who not in _FETCHING:
        yield "fetch_bytes: only of client java, and of kind consume or transform"


def _format_mistakes(workload: Workload) -> Iterator[str]:
    is_old = workload.message_format < _NEWEST_FORMAT
    if workload.keys < 0:
        yield f"keys: must be >= 0, is {workload.keys}"
    if is_old and workload.client != "plain":
        yield f"message_format: {workload.client} speaks {_NEWEST_FORMAT} only"
    if is_old and workload.idempotent:
        yield f"message_format: must be {_NEWEST_FORMAT} of an idempotent producer"
    if is_old and workload.compression == "zstd":
        yield f"compression: zstd came with message format {_NEWEST_FORMAT}"


def _crash_mistakes(plan: Plan) -> Iterator[str]:
    for index, nodes in enumerate(plan.crashes):
        at = f"crashes[{index}]"
        if not nodes or len(dict.fromkeys(nodes)) < len(nodes):
            yield f"{at}: must be different nodes, at least one, are {list(nodes)}"
        for node in nodes:
            if node not in plan.cluster.node_names:
                yield f"{at}: must be nodes by their names, {node!r} is none"
    marked = sum(step.crashes_begin for step in plan.steps)
    if marked > 1:
        yield f"steps: crashes_begin is said of {marked} steps, crashes begin once"


def _step_mistakes(plan: Plan) -> Iterator[str]:
    yield from _sequence_mistakes(plan.steps, ("steps",))


def _sequence_mistakes(steps: Sequence[Step], path: Path) -> Iterator[str]:
    before_ms = 0
    for index, step in enumerate(steps):
        if step.at_ms is not None and step.at_ms < before_ms:
            yield f"{place((*path, index, 'at'))}: must be no earlier than the step before"
        before_ms = max(before_ms, step.at_ms or 0)
        match step.action:
            case When(condition=condition, steps=inner):
                yield from _bound_mistakes(condition, (*path, index, "when"))
                if not inner:
                    yield f"{place((*path, index, 'steps'))}: must not be empty"
                yield from _sequence_mistakes(inner, (*path, index, "steps"))
            case (
                Until(condition=condition)
                | Expect(condition=condition)
                | Holds(condition=condition)
            ):
                yield from _bound_mistakes(condition, (*path, index))
            case _:
                pass


def _bound_mistakes(condition: Condition, path: Path) -> Iterator[str]:
    match condition:
        case AllOf(conditions=parts) | AnyOf(conditions=parts):
            if not parts:
                yield f"{place(path)}: a list of conditions must not be empty"
            for part in parts:
                yield from _bound_mistakes(part, path)
        case Not(condition=part):
            yield from _bound_mistakes(part, path)
        case _ if isinstance(condition, BOUNDED):
            bounds = [name for name in type(condition).__slots__ if name not in _NOT_BOUNDS]
            if all(getattr(condition, name) is None for name in bounds):
                words = ", ".join(name.removesuffix("_") for name in bounds)
                yield f"{place(path)}: must have one of {words}"
        case _:
            pass


_CHECKS: Final[tuple[Callable[[Plan], Iterator[str]], ...]] = (
    _title_mistakes,
    _cluster_mistakes,
    _topic_mistakes,
    _same_name_mistakes,
    _workload_mistakes,
    _crash_mistakes,
    _step_mistakes,
)
