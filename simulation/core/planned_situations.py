"""Tells which situations a plan is made for, by its steps and their times. It runs nothing.

Whether a run came to them is another question (``met_situations``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from protocol.configs.names import THROTTLED_RATES, THROTTLED_REPLICAS, UNCLEAN_ELECTION
from protocol.faults.model import (
    CONTROLLER_NODE,
    DiskFault,
    DiskMode,
    NetworkFault,
    NetworkMode,
)
from protocol.faults.requests import RequestFault
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from simulation.core.actions import (
    Action,
    AddPartitions,
    AlterConfigs,
    Clear,
    CreateTopic,
    DeleteRecords,
    EditJournal,
    ElectLeaders,
    Fault,
    Kill,
    MoveReplica,
    Pause,
    PowerCut,
    Reassign,
    ReplaceLogDir,
    RestartLogDir,
    Resume,
    Start,
    Step,
    Stop,
    When,
)
from simulation.core.draw_deletions import DELETING
from simulation.core.draw_examined import AUTHORIZER
from simulation.core.draw_interrupted import MOVING
from simulation.core.draw_late import LATE_MS_MIN
from simulation.core.draw_situations import FATAL, WITHIN_MS
from simulation.core.features import Situation
from simulation.core.plan import Plan

_SOON_MS: Final = 1_000
"""A check interval that a story of five seconds sees several times."""
MANY_MOVES: Final = 4
"""So many moves within ``WITHIN_MS`` are a rebalance."""
_ENDS: Final = (Kill, PowerCut, Stop)
_NEVER_MS: Final = 2**63


class TimedStep(NamedTuple):
    """One action of a plan, when it may begin, and which sequence it stands in."""

    at_ms: int
    lane: int
    action: Action


def timed_actions(plan: Plan) -> list[TimedStep]:
    """Return all actions of a plan, those of each lane in order of time; lane 0 is the top."""
    found = list(_timed(plan.steps, 0, 0))
    for lane, step in enumerate(plan.steps, 1):
        if isinstance(step.action, When):
            found += _timed(step.action.steps, step.at_ms or 0, lane)
    return found


def planned_situations(plan: Plan) -> list[Situation]:
    """Return the situations that ``plan`` is made for, in their order."""
    timed = timed_actions(plan)
    return [situation for situation in Situation if _PLANNED[situation](plan, timed)]


def _timed(steps: Sequence[Step], at_ms: int, lane: int) -> Iterator[TimedStep]:
    for step in steps:
        at_ms = step.at_ms or at_ms
        if not isinstance(step.action, When):
            yield TimedStep(at_ms, lane, step.action)


def _has_keyed_records(plan: Plan, _timed: list[TimedStep]) -> bool:
    compacted = [
        topic.name
        for topic in plan.cluster.topics
        if "compact" in topic.configs.get("cleanup.policy", "")
    ]
    return any(one.keys and one.topic in compacted for one in plan.workloads)


def _has_compression(plan: Plan, _timed: list[TimedStep]) -> bool:
    by_topic = any("compression.type" in topic.configs for topic in plan.cluster.topics)
    return by_topic or any(one.compression != "none" for one in plan.workloads)


def _has_stamped_records(plan: Plan, _timed: list[TimedStep]) -> bool:
    return any("message.timestamp.type" in topic.configs for topic in plan.cluster.topics)


def _has_old_clients(plan: Plan, _timed: list[TimedStep]) -> bool:
    return any(one.message_format in {0, 1} for one in plan.workloads)


def _has_short_retention(plan: Plan, _timed: list[TimedStep]) -> bool:
    configs = plan.cluster.configs
    interval_ms = int(configs.get("log.retention.check.interval.ms", "300000"))
    delay_ms = int(configs.get("log.initial.task.delay.ms", "30000"))
    bounds = {"retention.bytes", "retention.ms"}
    is_short = any(bounds.intersection(topic.configs) for topic in plan.cluster.topics)
    return is_short and max(interval_ms, delay_ms) <= _SOON_MS


def _has_unclean_election(plan: Plan, timed: list[TimedStep]) -> bool:
    is_asked = any(
        isinstance(each.action, ElectLeaders) and each.action.kind == "unclean" for each in timed
    )
    is_allowed = any(topic.configs.get(UNCLEAN_ELECTION) == "true" for topic in plan.cluster.topics)
    return bool(timed) and (is_asked or is_allowed)


def _has_throttled_replicas(_plan: Plan, timed: list[TimedStep]) -> bool:
    return all(
        any(isinstance(each.action, AlterConfigs) and each.action.set.get(name) for each in timed)
        for name in (THROTTLED_REPLICAS[0], THROTTLED_RATES[0])
    )


def _has_rebalance(_plan: Plan, timed: list[TimedStep]) -> bool:
    moves = (MoveReplica, Reassign)
    moves_ms = sorted(each.at_ms for each in timed if isinstance(each.action, moves))
    return any(
        last_ms - first_ms <= WITHIN_MS
        for first_ms, last_ms in zip(moves_ms, moves_ms[MANY_MOVES - 1 :], strict=False)
    )


def _has_controller_disk(_plan: Plan, timed: list[TimedStep]) -> bool:
    return any(rule.node == CONTROLLER_NODE for _, rule in _disk_faults(timed))


def _has_orders_at_once(_plan: Plan, timed: list[TimedStep]) -> bool:
    orders = sorted((each.at_ms, each.lane) for each in timed if _is_order(each.action))
    return any(
        after.lane != before.lane and after.at_ms - before.at_ms <= WITHIN_MS
        for before, after in pairwise(TimedStep(*each, Clear("*")) for each in orders)
    )


def _has_failing_move(plan: Plan, timed: list[TimedStep]) -> bool:
    return any(
        isinstance(each.action, MoveReplica) and _fails(plan, each.at_ms, each.action, timed)
        for each in timed
    )


def _fails(plan: Plan, at_ms: int, move: MoveReplica, timed: list[TimedStep]) -> bool:
    """Tell whether both log dirs of a move break after it was ordered, close to each other."""
    topic = move.of.rpartition("-")[0]
    sources = [each.log_dir for each in plan.cluster.topics if each.name == topic]
    broken_ms = {
        rule.log_dir: begin_ms
        for begin_ms, rule in _disk_faults(timed)
        if rule.node == move.broker and rule.mode in FATAL and begin_ms >= at_ms
    }
    found = [broken_ms[name] for name in (*sources, move.to) if name in broken_ms]
    return len(found) > 1 and max(found) - min(found) <= WITHIN_MS


def _has_controller_ends(_plan: Plan, timed: list[TimedStep]) -> bool:
    orders_ms = [each.at_ms for each in timed if _is_order(each.action)]
    ends_ms = [
        each.at_ms
        for each in timed
        if isinstance(each.action, _ENDS) and each.action.node == CONTROLLER_NODE
    ]
    dead = [
        (begin_ms, _cleared_ms(rule, timed))
        for begin_ms, rule in _disk_faults(timed)
        if rule.mode in FATAL and rule.node != CONTROLLER_NODE
    ]
    return any(
        order_ms <= end_ms <= order_ms + WITHIN_MS
        and any(begin_ms <= order_ms and end_ms <= cleared_ms for begin_ms, cleared_ms in dead)
        for end_ms in ends_ms
        for order_ms in orders_ms
    )


def _has_journal_edits(_plan: Plan, timed: list[TimedStep]) -> bool:
    return any(isinstance(each.action, EditJournal) for each in timed)


def _has_groups(plan: Plan, timed: list[TimedStep]) -> bool:
    is_committing = any(one.group is not None for one in plan.workloads)
    return is_committing and _breaks_leader_of(CONSUMER_OFFSETS, timed)


def _has_transactions(plan: Plan, timed: list[TimedStep]) -> bool:
    is_writing = any(one.transactional for one in plan.workloads)
    return is_writing and _breaks_leader_of(TRANSACTION_STATE, timed)


def _breaks_leader_of(topic: str, timed: list[TimedStep]) -> bool:
    return any(rule.node == f"leader of {topic}-0" for _, rule in _disk_faults(timed))


def _has_request_faults(_plan: Plan, timed: list[TimedStep]) -> bool:
    return any(
        isinstance(each.action, Fault) and isinstance(each.action.rule, RequestFault)
        for each in timed
    )


def late_links(timed: Iterable[Action]) -> list[tuple[str, NetworkFault]]:
    """Return name and rule of the faults that make one way of a link late, another world late."""
    return [
        (action.name, action.rule)
        for action in timed
        if isinstance(action, Fault)
        and isinstance(action.rule, NetworkFault)
        and action.rule.mode is NetworkMode.LATENCY
        and not action.rule.both_ways
        and action.rule.latency_ms >= LATE_MS_MIN
    ]


def _has_late_failure(_plan: Plan, timed: list[TimedStep]) -> bool:
    late = [
        rule.source
        for _, rule in late_links(each.action for each in timed)
        if rule.target == CONTROLLER_NODE
    ]
    return any(rule.node in late and rule.mode in FATAL for _, rule in _disk_faults(timed))


def _has_late_requests(_plan: Plan, timed: list[TimedStep]) -> bool:
    links = late_links(each.action for each in timed)
    is_late = any(rule.source == CONTROLLER_NODE for _, rule in links)
    return is_late and any(_is_order(each.action) for each in timed)


def _has_interrupted_move(_plan: Plan, timed: list[TimedStep]) -> bool:
    """Tell whether a broker ends between an order to move and the end of what makes it slow."""
    moves = [(each.at_ms, each.action) for each in timed if isinstance(each.action, MoveReplica)]
    ends = [(each.at_ms, each.action.node) for each in timed if isinstance(each.action, _ENDS)]
    return any(
        move.broker == node == rule.node and begin_ms <= move_ms <= end_ms
        for begin_ms, rule in _disk_faults(timed)
        if rule.mode is DiskMode.SLOW and rule.operations in MOVING
        for end_ms, node in ends
        if end_ms <= _cleared_ms(rule, timed)
        for move_ms, move in moves
    )


def _has_examiner(plan: Plan, _timed: list[TimedStep]) -> bool:
    return any(one.kind == "examine" for one in plan.workloads)


def _has_authorizer(plan: Plan, _timed: list[TimedStep]) -> bool:
    return AUTHORIZER in plan.cluster.configs


def _has_lasting_deletion(_plan: Plan, timed: list[TimedStep]) -> bool:
    """Tell whether two orders to delete records come while what they wait for is slow."""
    deletions_ms = [each.at_ms for each in timed if isinstance(each.action, DeleteRecords)]
    return any(
        sum(begin_ms <= at_ms <= _cleared_ms(rule, timed) for at_ms in deletions_ms) > 1
        for begin_ms, rule in _disk_faults(timed)
        if rule.mode is DiskMode.SLOW and rule.operations in DELETING
    )


def _has_contenders(plan: Plan, _timed: list[TimedStep]) -> bool:
    return any(one.kind == "contend" for one in plan.workloads)


def _has_isr_changes(_plan: Plan, timed: list[TimedStep]) -> bool:
    """Tell whether a broker or its log dir ends while words are late, or nobody decides."""
    ends_ms = [
        *(
            each.at_ms
            for each in timed
            if isinstance(each.action, (*_ENDS, Pause)) and each.action.node != CONTROLLER_NODE
        ),
        *(
            begin_ms
            for begin_ms, rule in _disk_faults(timed)
            if rule.mode in FATAL and rule.node != CONTROLLER_NODE
        ),
    ]
    spans = [*_without_controller(timed), *_late_spans(timed)]
    return any(begin_ms <= at_ms <= end_ms for begin_ms, end_ms in spans for at_ms in ends_ms)


def _has_returning_log_dirs(_plan: Plan, timed: list[TimedStep]) -> bool:
    """Tell whether a log dir comes back, or is replaced, soon after somebody has logs made."""
    made_ms = [
        each.at_ms
        for each in timed
        if isinstance(each.action, CreateTopic | AddPartitions | Reassign)
    ]
    return any(
        at_ms <= each.at_ms <= at_ms + WITHIN_MS
        for each in timed
        if isinstance(each.action, RestartLogDir | ReplaceLogDir)
        for at_ms in made_ms
    )


def _without_controller(timed: list[TimedStep]) -> Iterator[tuple[int, int]]:
    for each in timed:
        if isinstance(each.action, (*_ENDS, Pause)) and each.action.node == CONTROLLER_NODE:
            backs_ms = [
                other.at_ms
                for other in timed
                if isinstance(other.action, Start | Resume)
                and other.action.node == CONTROLLER_NODE
                and other.at_ms >= each.at_ms
            ]
            yield each.at_ms, min(backs_ms, default=_NEVER_MS)


def _late_spans(timed: list[TimedStep]) -> Iterator[tuple[int, int]]:
    late = [name for name, _ in late_links(each.action for each in timed)]
    begun_ms: dict[str, int] = {}
    for each in timed:
        if isinstance(each.action, Fault) and each.action.name in late:
            begun_ms[each.action.name] = each.at_ms
        elif isinstance(each.action, Clear) and each.action.fault in begun_ms:
            yield begun_ms.pop(each.action.fault), each.at_ms


_PLANNED: Final[Mapping[Situation, Callable[[Plan, list[TimedStep]], bool]]] = {
    Situation.KEYED_RECORDS: _has_keyed_records,
    Situation.COMPRESSION: _has_compression,
    Situation.STAMPED_RECORDS: _has_stamped_records,
    Situation.OLD_CLIENTS: _has_old_clients,
    Situation.SHORT_RETENTION: _has_short_retention,
    Situation.UNCLEAN_ELECTION: _has_unclean_election,
    Situation.THROTTLED_REPLICAS: _has_throttled_replicas,
    Situation.REBALANCE: _has_rebalance,
    Situation.CONTROLLER_DISK: _has_controller_disk,
    Situation.ORDERS_AT_ONCE: _has_orders_at_once,
    Situation.FAILING_MOVE: _has_failing_move,
    Situation.CONTROLLER_ENDS: _has_controller_ends,
    Situation.JOURNAL_EDITS: _has_journal_edits,
    Situation.GROUPS: _has_groups,
    Situation.TRANSACTIONS: _has_transactions,
    Situation.REQUEST_FAULTS: _has_request_faults,
    Situation.LATE_FAILURE: _has_late_failure,
    Situation.LATE_REQUESTS: _has_late_requests,
    Situation.INTERRUPTED_MOVE: _has_interrupted_move,
    Situation.EXAMINED: _has_examiner,
    Situation.AUTHORIZER: _has_authorizer,
    Situation.LASTING_DELETION: _has_lasting_deletion,
    Situation.CONTENDERS: _has_contenders,
    Situation.ISR_CHANGES: _has_isr_changes,
    Situation.RETURNING_LOG_DIRS: _has_returning_log_dirs,
}


def _is_order(action: Action) -> bool:
    return hasattr(action, "answers")


def _disk_faults(timed: list[TimedStep]) -> list[tuple[int, DiskFault]]:
    return [
        (each.at_ms, each.action.rule)
        for each in timed
        if isinstance(each.action, Fault) and isinstance(each.action.rule, DiskFault)
    ]


def _cleared_ms(rule: DiskFault, timed: list[TimedStep]) -> int:
    """Return when a fault is taken off at the soonest."""
    names = [
        each.action.name
        for each in timed
        if isinstance(each.action, Fault) and each.action.rule is rule
    ]
    ends_ms = [
        each.at_ms
        for each in timed
        if isinstance(each.action, Clear) and each.action.fault in names
    ]
    return min(ends_ms, default=_NEVER_MS)
