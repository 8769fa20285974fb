"""Tells which situations a run came to, by what clients did and what was seen inside its nodes.

Whether its plan was made for them is another question (``planned_situations``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from protocol.configs.names import THROTTLED_RATES, THROTTLED_REPLICAS
from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.faults.requests import RequestFault
from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from simulation.core.actions import EditJournal, Fault
from simulation.core.checkers.evidence import Evidence
from simulation.core.draw_examined import AUTHORIZER
from simulation.core.draw_situations import WITHIN_MS
from simulation.core.features import Situation
from simulation.core.history import Commit, Function, Txn
from simulation.core.met_disks import (
    had_bad_journal_disk,
    had_failing_move,
    had_interrupted_move,
    had_lasting_deletion,
    had_returning_log_dirs,
)
from simulation.core.met_run import Run, is_done, order_of
from simulation.core.plan import Plan, Workload
from simulation.core.planned_situations import MANY_MOVES, late_links
from simulation.core.samples import LogSample, PartitionSample, Role

_WITHIN_US: Final = WITHIN_MS * 1000
_COORDINATION_US: Final = 1_000_000
_NOT_ORDERS: Final = (
    Function.SEND,
    Function.POLL,
    Function.ASSIGN,
    Function.COMMIT,
    Function.TXN,
    Function.NOTE,
)


def met_situations(
    plan: Plan, evidence: Evidence, worked: Mapping[str, int], hits: Mapping[str, int]
) -> tuple[Situation, ...]:
    """Return the situations that a run came to, in their order.

    Args:
        plan: what was run.
        evidence: what was seen.
        worked: by the name of the workload, how many records it wrote or read with success.
        hits: by the name of the fault, how much it met.
    """
    orders = tuple(span for span in evidence.spans if span.begin.function not in _NOT_ORDERS)
    run = Run(plan, evidence, worked, hits, orders)
    return tuple(situation for situation in Situation if _MET[situation](run))


def _is_compacted(run: Run) -> bool:
    """Tell whether a log has a hole that only compaction leaves."""
    compacted = {
        sample.topic
        for sample in run.evidence.samples.topics
        if "compact" in sample.configs.get("cleanup.policy", "")
    }
    logs = run.evidence.samples.logs
    return any(log.tp.topic in compacted and log.is_leader and _has_hole(log) for log in logs)


def _has_hole(log: LogSample) -> bool:
    offsets = [offset for batch in log.batches for offset, _ in batch.records]
    return any(after - before > 1 for before, after in pairwise(offsets))


def _is_compressed(run: Run) -> bool:
    recompressed = [topic.name for topic in run.plan.cluster.topics if _names_codec(topic.configs)]
    return any(one.compression != "none" or one.topic in recompressed for one in _writers(run))


def _has_stamped(run: Run) -> bool:
    stamped = [
        topic.name
        for topic in run.plan.cluster.topics
        if topic.configs.get("message.timestamp.type") == "LogAppendTime"
    ]
    return any(one.topic in stamped for one in _writers(run))


def _writers(run: Run) -> list[Workload]:
    """Return the producers that something was acknowledged to."""
    return [one for one in run.plan.workloads if one.kind == "produce" and run.worked.get(one.name)]


def _names_codec(configs: Mapping[str, str]) -> bool:
    return configs.get("compression.type", "producer") not in {"producer", "uncompressed"}


def _served_old_clients(run: Run) -> bool:
    old = [one.name for one in run.plan.workloads if one.message_format in {0, 1}]
    return any(run.worked.get(name) for name in old)


def _was_cut_by_retention(run: Run) -> bool:
    """Tell whether a log begins later than with its first record though nobody asked for it."""
    asked = {order_of(span).topic for span in run.orders if is_done(span, Function.DELETE_RECORDS)}
    remade = {order_of(span).topic for span in run.orders if is_done(span, Function.DELETE_TOPIC)}
    return any(
        log.log_start_offset > 0 and log.tp.topic not in asked | remade
        for log in run.evidence.samples.logs
        if log.is_leader
    )


def _had_unclean_election(run: Run) -> bool:
    before: dict[TopicPartition, PartitionSample] = {}
    for sample in run.evidence.samples.partitions:
        last = before.get(sample.tp)
        is_same = last is not None and last.topic_id == sample.topic_id
        isr = last.isr if last is not None and is_same else ()
        if isr and sample.leader >= 0 and sample.leader not in isr:
            return True
        before[sample.tp] = sample
    return False


def _had_throttles(run: Run) -> bool:
    set_names = {
        name
        for span in run.orders
        if is_done(span, Function.ALTER_CONFIGS)
        for name, value in order_of(span).configs
        if value is not None
    }
    return bool(
        set_names.intersection(THROTTLED_REPLICAS) and set_names.intersection(THROTTLED_RATES)
    )


def _was_rebalanced(run: Run) -> bool:
    moves_us = sorted(
        span.end.at_us
        for span in run.orders
        if is_done(span, Function.MOVE) or is_done(span, Function.REASSIGN)
    )
    return any(
        last_us - first_us <= _WITHIN_US
        for first_us, last_us in zip(moves_us, moves_us[MANY_MOVES - 1 :], strict=False)
    )


def _had_orders_at_once(run: Run) -> bool:
    """Tell whether two orders of different kinds were under way at one moment."""
    begun = sorted(run.orders, key=lambda span: span.begin.at_us)
    return any(
        after.begin.at_us < before.end.at_us and after.begin.function is not before.begin.function
        for before, after in pairwise(begun)
    )


def _controller_ended(run: Run) -> bool:
    orders_us = [span.begin.at_us for span in run.orders]
    return any(
        any(end_us - _WITHIN_US <= order_us <= end_us for order_us in orders_us)
        and _is_a_log_dir_offline(run, end_us)
        for end_us in _ends_of_controller(run)
    )


def _ends_of_controller(run: Run) -> Iterator[int]:
    nodes = [each for each in run.evidence.samples.nodes if each.node == CONTROLLER_NODE]
    for before, after in pairwise(nodes):
        if not before.is_up and after.boot != before.boot:
            yield before.at_us


def _is_a_log_dir_offline(run: Run, at_us: int) -> bool:
    online: dict[tuple[int, str], bool] = {}
    for sample in run.evidence.samples.log_dirs:
        if sample.at_us <= at_us:
            online[sample.broker, sample.path] = sample.is_online
    return not all(online.values())


def _had_journal_edits(run: Run) -> bool:
    edits = [each for each in run.plan.actions if isinstance(each, EditJournal)]
    return bool(edits) and bool(run.evidence.samples.journal_edits_us)


def _had_failing_offsets(run: Run) -> bool:
    return _was_coordinator_broken(run, CONSUMER_OFFSETS, lambda value: isinstance(value, Commit))


def _had_failing_transactions(run: Run) -> bool:
    return _was_coordinator_broken(run, TRANSACTION_STATE, lambda value: isinstance(value, Txn))


def _was_coordinator_broken(run: Run, topic: str, is_asked: Callable[[object], bool]) -> bool:
    """Tell whether a log dir with the topic's leader failed within a second of what was asked."""
    asked = [span for span in run.evidence.spans if is_asked(span.begin.value)]
    return any(
        span.begin.at_us - _COORDINATION_US <= failed_us <= span.end.at_us + _COORDINATION_US
        for failed_us in _failures_under_leaders(run, topic)
        for span in asked
    )


def _failures_under_leaders(run: Run, topic: str) -> Iterator[int]:
    samples = run.evidence.samples
    places: dict[tuple[int, str], None] = {
        (sample.broker, sample.log_dir): None
        for sample in samples.replicas
        if sample.tp.topic == topic and sample.role is Role.LEADER
    }
    for sample in samples.log_dirs:
        if not sample.is_online and (sample.broker, sample.path) in places:
            yield sample.at_us


def _had_request_faults(run: Run) -> bool:
    return any(
        isinstance(action, Fault)
        and isinstance(action.rule, RequestFault)
        and run.hits.get(action.name)
        for action in run.plan.actions
    )


def _had_late_failure(run: Run) -> bool:
    """Tell whether a log dir failed whose broker's words were late at some time."""
    late = {
        rule.source
        for name, rule in late_links(run.plan.actions)
        if rule.target == CONTROLLER_NODE and run.hits.get(name)
    }
    return any(
        not sample.is_online and broker_node(sample.broker) in late
        for sample in run.evidence.samples.log_dirs
    )


def _had_late_requests(run: Run) -> bool:
    """Tell whether the controller's words were late, in a run in which it was given orders."""
    links = late_links(run.plan.actions)
    is_late = any(rule.source == CONTROLLER_NODE and run.hits.get(name) for name, rule in links)
    return is_late and bool(run.orders)


def _was_examined(run: Run) -> bool:
    return any(run.worked.get(one.name) for one in run.plan.workloads if one.kind == "examine")


def _was_authorized(run: Run) -> bool:
    return AUTHORIZER in run.plan.cluster.configs and _was_examined(run)


def _had_contenders(run: Run) -> bool:
    return any(run.worked.get(one.name) for one in run.plan.workloads if one.kind == "contend")


def _had_isr_changes(run: Run) -> bool:
    """Tell whether an Isr changed soon after a controller began, or beside words that were late."""
    changes_us = list(_isr_changes(run))
    is_late = any(run.hits.get(name) for name, _ in late_links(run.plan.actions))
    begins_us = [
        each.at_us
        for each in run.evidence.samples.nodes
        if each.node == CONTROLLER_NODE and each.is_up and each.boot > 1
    ]
    return (is_late and bool(changes_us)) or any(
        begin_us <= at_us <= begin_us + _WITHIN_US for at_us in changes_us for begin_us in begins_us
    )


def _isr_changes(run: Run) -> Iterator[int]:
    before: dict[TopicPartition, PartitionSample] = {}
    for now in run.evidence.samples.partitions:
        last = before.get(now.tp)
        if last is not None and last.topic_id == now.topic_id and last.isr != now.isr:
            yield now.at_us
        before[now.tp] = now


_MET: Final[Mapping[Situation, Callable[[Run], bool]]] = {
    Situation.KEYED_RECORDS: _is_compacted,
    Situation.COMPRESSION: _is_compressed,
    Situation.STAMPED_RECORDS: _has_stamped,
    Situation.OLD_CLIENTS: _served_old_clients,
    Situation.SHORT_RETENTION: _was_cut_by_retention,
    Situation.UNCLEAN_ELECTION: _had_unclean_election,
    Situation.THROTTLED_REPLICAS: _had_throttles,
    Situation.REBALANCE: _was_rebalanced,
    Situation.CONTROLLER_DISK: had_bad_journal_disk,
    Situation.ORDERS_AT_ONCE: _had_orders_at_once,
    Situation.FAILING_MOVE: had_failing_move,
    Situation.CONTROLLER_ENDS: _controller_ended,
    Situation.JOURNAL_EDITS: _had_journal_edits,
    Situation.GROUPS: _had_failing_offsets,
    Situation.TRANSACTIONS: _had_failing_transactions,
    Situation.REQUEST_FAULTS: _had_request_faults,
    Situation.LATE_FAILURE: _had_late_failure,
    Situation.LATE_REQUESTS: _had_late_requests,
    Situation.INTERRUPTED_MOVE: had_interrupted_move,
    Situation.EXAMINED: _was_examined,
    Situation.AUTHORIZER: _was_authorized,
    Situation.LASTING_DELETION: had_lasting_deletion,
    Situation.CONTENDERS: _had_contenders,
    Situation.ISR_CHANGES: _had_isr_changes,
    Situation.RETURNING_LOG_DIRS: had_returning_log_dirs,
}
