"""Whether a condition holds in what was seen, and in words what was seen instead. Asks nobody.

Brokers may tell different metadata for a while: a condition holds if it does in what each of them
tells that answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from protocol.ids import TopicPartition
from simulation.core.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Count,
    ErrorSeen,
    FaultHits,
    FullIsr,
    InIsr,
    Isr,
    Leader,
    LeaderEpoch,
    Led,
    Metric,
    NodeIs,
    Not,
    OfflineReplicas,
    Offsets,
    Reassigning,
    Replicas,
    TopicExists,
)
from simulation.core.judgement import Judgement, ObservationPair, is_between
from simulation.core.judging_log_dirs import LOG_DIR_JUDGES
from simulation.core.needs import Need, needs_of
from simulation.core.observation import Observation, ObservedPartition, ObservedWorkload
from simulation.core.references import broker_meant, node_meant, partitions_meant


def judge(condition: Condition, now: Observation, since: Observation | None = None) -> Judgement:
    """Tell whether ``condition`` holds now; ``since`` is what the step saw when it began."""
    first = now if since is None else since
    if Need.METADATA not in needs_of(condition):
        return _judge(condition, ObservationPair(now, first))
    judgement = Judgement(holds=None, says="no broker answers")
    for broker, view in now.metadata.items():
        seen = replace(now, metadata={broker: view})
        judgement = _judge(condition, ObservationPair(seen, first))
        if not judgement.holds:
            return judgement._replace(says=f"{judgement.says}, says broker-{broker}")
    return judgement


def _judge(condition: Condition, pair: ObservationPair) -> Judgement:
    return _JUDGES[type(condition)](condition, pair)


def _each_partition(
    ref: str,
    pair: ObservationPair,
    judge_one: Callable[[TopicPartition, ObservedPartition], Judgement],
) -> Judgement:
    meant = partitions_meant(ref, pair.partitions)
    if not meant:
        return Judgement(holds=False, says=f"there is no partition of {ref}")
    judgement = Judgement(holds=False, says="")
    for partition in meant:
        seen = pair.partitions.get(partition)
        if seen is None:
            return Judgement(holds=False, says=f"there is no {partition}")
        judgement = judge_one(partition, seen)
        if not judgement.holds:
            break
    return judgement


def _led(condition: Led, pair: ObservationPair) -> Judgement:
    def one(partition: TopicPartition, seen: ObservedPartition) -> Judgement:
        return Judgement(seen.leader >= 0, _leader_words(partition, seen))

    return _each_partition(condition.of, pair, one)


def _leader(condition: Leader, pair: ObservationPair) -> Judgement:
    wanted = broker_meant(condition.is_, pair.now)

    def one(partition: TopicPartition, seen: ObservedPartition) -> Judgement:
        return Judgement(seen.leader == wanted, _leader_words(partition, seen))

    return _each_partition(condition.of, pair, one)


def _leader_words(partition: TopicPartition, seen: ObservedPartition) -> str:
    return f"{partition} is led by {f'broker-{seen.leader}' if seen.leader >= 0 else 'nobody'}"


def _leader_epoch(condition: LeaderEpoch, pair: ObservationPair) -> Judgement:
    def one(partition: TopicPartition, seen: ObservedPartition) -> Judgement:
        holds = _within(condition, seen.leader_epoch)
        return Judgement(holds, f"{partition} has leader epoch {seen.leader_epoch}")

    return _each_partition(condition.of, pair, one)


def _within(condition: LeaderEpoch | Count | Metric, value: float) -> bool:
    return is_between(value, condition.is_, condition.at_least, condition.at_most)


def _isr(condition: Isr, pair: ObservationPair) -> Judgement:
    def one(partition: TopicPartition, seen: ObservedPartition) -> Judgement:
        return Judgement(_same(seen.isr, condition.are), _isr_words(partition, seen))

    return _each_partition(condition.of, pair, one)


def _full_isr(condition: FullIsr, pair: ObservationPair) -> Judgement:
    def one(partition: TopicPartition, seen: ObservedPartition) -> Judgement:
        if seen.leader < 0:
            return Judgement(holds=False, says=_leader_words(partition, seen))
        words = f"{_isr_words(partition, seen)} of {list(seen.replicas)}"
        return Judgement(_same(seen.isr, seen.replicas), words)

    return _each_partition(condition.of, pair, one)


def _in_isr(condition: InIsr, pair: ObservationPair) -> Judgement:
    broker = broker_meant(condition.broker, pair.now)

    def one(partition: TopicPartition, seen: ObservedPartition) -> Judgement:
        return Judgement(broker in seen.isr, _isr_words(partition, seen))

    return _each_partition(condition.of, pair, one)


def _isr_words(partition: TopicPartition, seen: ObservedPartition) -> str:
    return f"the Isr of {partition} is {list(seen.isr)}"


def _offline_replicas(condition: OfflineReplicas, pair: ObservationPair) -> Judgement:
    def one(partition: TopicPartition, seen: ObservedPartition) -> Judgement:
        words = f"the offline replicas of {partition} are {list(seen.offline_replicas)}"
        return Judgement(_same(seen.offline_replicas, condition.are), words)

    return _each_partition(condition.of, pair, one)


def _replicas(condition: Replicas, pair: ObservationPair) -> Judgement:
    def one(partition: TopicPartition, seen: ObservedPartition) -> Judgement:
        words = f"the replicas of {partition} are {list(seen.replicas)}"
        return Judgement(seen.replicas == condition.are, words)

    return _each_partition(condition.of, pair, one)


def _same(seen: Sequence[int], wanted: Sequence[int]) -> bool:
    return sorted(seen) == sorted(wanted)


def _topic_exists(condition: TopicExists, pair: ObservationPair) -> Judgement:
    holds = any(partition.topic == condition.topic for partition in pair.partitions)
    return Judgement(holds, f"there is {'a' if holds else 'no'} topic {condition.topic}")


def _reassigning(condition: Reassigning, pair: ObservationPair) -> Judgement:
    if pair.now.reassigning is None:
        return Judgement(holds=None, says="nobody tells of reassignments")
    meant = partitions_meant(condition.of, pair.now.reassigning)
    under_way = [str(each) for each in meant if each in pair.now.reassigning]
    if not under_way:
        return Judgement(holds=False, says=f"no reassignment of {condition.of} is under way")
    return Judgement(holds=True, says=f"reassigned are {', '.join(under_way)}")


def _offsets(condition: Offsets, pair: ObservationPair) -> Judgement:
    meant = partitions_meant(condition.of, pair.partitions)
    words = f"there is no partition of {condition.of}"
    for partition in meant:
        seen = pair.now.offsets.get(partition)
        if seen is None:
            return Judgement(holds=None, says=f"nobody tells the offsets of {partition}")
        words = f"{partition} has offsets {seen.earliest} to {seen.latest}"
        if not (
            is_between(seen.earliest, condition.earliest, condition.earliest_at_least, None)
            and is_between(seen.latest, condition.latest, condition.latest_at_least, None)
        ):
            return Judgement(holds=False, says=words)
    return Judgement(bool(meant), words)


def _count(condition: Count, pair: ObservationPair) -> Judgement:
    count = _number(pair.now.workloads.get(condition.workload, _NOTHING), condition.what)
    before = _number(pair.since.workloads.get(condition.workload, _NOTHING), condition.what)
    holds = _within(condition, count) and count - before >= (condition.more or 0)
    grown = f", {count - before} more" if condition.more is not None else ""
    return Judgement(holds, f"{condition.workload} has {count} {condition.what}{grown}")


def _number(seen: ObservedWorkload, what: str) -> int:
    numbers = {"acknowledged": seen.acknowledged, "read": seen.read}
    return numbers.get(what, sum(seen.errors.values()))


def _error_seen(condition: ErrorSeen, pair: ObservationPair) -> Judgement:
    errors = pair.now.workloads.get(condition.workload, _NOTHING).errors
    told = ", ".join(f"{name} {count} times" for name, count in errors.items()) or "no error"
    return Judgement(condition.code in errors, f"{condition.workload} has seen {told}")


def _node(condition: NodeIs, pair: ObservationPair) -> Judgement:
    name = node_meant(condition.node, pair.now)
    seen = pair.now.nodes.get(name or "")
    if seen is None:
        return Judgement(holds=None, says=f"there is no {condition.node}")
    code = f", its exit code is {seen.exit_code}" if seen.exit_code is not None else ""
    holds = condition.state == seen.state and condition.exit_code in {None, seen.exit_code}
    return Judgement(holds, f"{name} is {seen.state}{code}")


def _metric(condition: Metric, pair: ObservationPair) -> Judgement:
    node = node_meant(condition.broker, pair.now)
    value = pair.now.metrics.get((node or "", condition.name))
    if value is None:
        return Judgement(holds=None, says=f"{condition.broker} has no metric {condition.name}")
    return Judgement(_within(condition, value), f"{condition.name} of {node} is {value:g}")


def _fault_hits(condition: FaultHits, pair: ObservationPair) -> Judgement:
    hits = pair.now.fault_hits.get(condition.fault, 0)
    return Judgement(hits >= condition.at_least, f"the fault {condition.fault} met {hits}")


def _all(condition: AllOf, pair: ObservationPair) -> Judgement:
    return _together([_judge(part, pair) for part in condition.conditions], decisive=False)


def _any(condition: AnyOf, pair: ObservationPair) -> Judgement:
    return _together([_judge(part, pair) for part in condition.conditions], decisive=True)


def _together(judgements: Sequence[Judgement], *, decisive: bool) -> Judgement:
    """One that is ``decisive`` decides; one that is not known leaves open what none decides."""
    for wanted in (decisive, None):
        found = [judgement for judgement in judgements if judgement.holds is wanted]
        if found:
            return Judgement(wanted, _joined(found))
    return Judgement(not decisive, _joined(judgements))


def _joined(judgements: Sequence[Judgement]) -> str:
    return "; ".join(judgement.says for judgement in judgements)


def _not(condition: Not, pair: ObservationPair) -> Judgement:
    judgement = _judge(condition.condition, pair)
    return judgement._replace(holds=None if judgement.holds is None else not judgement.holds)


_NOTHING: Final = ObservedWorkload()
# Any: each function takes the class of its row, beyond what a type can say.
_JUDGES: Final[dict[type, Callable[[Any, ObservationPair], Judgement]]] = {
    **LOG_DIR_JUDGES,
    Led: _led,
    Leader: _leader,
    LeaderEpoch: _leader_epoch,
    Isr: _isr,
    FullIsr: _full_isr,
    InIsr: _in_isr,
    OfflineReplicas: _offline_replicas,
    Replicas: _replicas,
    TopicExists: _topic_exists,
    Reassigning: _reassigning,
    Offsets: _offsets,
    Count: _count,
    ErrorSeen: _error_seen,
    NodeIs: _node,
    Metric: _metric,
    FaultHits: _fault_hits,
    AllOf: _all,
    AnyOf: _any,
    Not: _not,
}
