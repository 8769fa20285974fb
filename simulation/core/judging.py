"""Whether a condition holds in what was seen, and in words what was seen instead. Asks nobody.

Brokers may tell different metadata for a while: a condition holds if it does in what each of them
tells that answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from protocol.ids import TopicPartition
from simulation.core.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Count,
    ErrorSeen,
    FaultHits,
    FileIn,
    FullIsr,
    FutureReplica,
    InIsr,
    Isr,
    Leader,
    LeaderEpoch,
    Led,
    LogDirIs,
    Metric,
    NodeIs,
    Not,
    OfflineReplicas,
    Offsets,
    Reassigning,
    ReplicaIn,
    Replicas,
    TopicExists,
)
from simulation.core.needs import Need, needs_of
from simulation.core.observation import LogDirSeen, Observation, PartitionSeen, WorkloadSeen
from simulation.core.references import broker_meant, log_dir_meant, node_meant, partitions_meant


class Judgement(NamedTuple):
    """Whether something holds."""

    holds: bool | None
    """None: nobody tells; then the contrary does not hold either."""
    says: str
    """What was seen, be it as wanted or not."""


class _Sight(NamedTuple):
    """What one broker tells, and what everybody sees."""

    now: Observation
    """With the metadata of one broker only."""
    since: Observation
    """As it was when the step began to look."""

    @property
    def partitions(self) -> Mapping[TopicPartition, PartitionSeen]:
        """The metadata that is judged."""
        for view in self.now.metadata.values():
            return view
        return {}


def judge(condition: Condition, now: Observation, since: Observation | None = None) -> Judgement:
    """Tell whether ``condition`` holds now; ``since`` is what the step saw when it began."""
    first = now if since is None else since
    if Need.METADATA not in needs_of(condition):
        return _judge(condition, _Sight(now, first))
    judgement = Judgement(holds=None, says="no broker answers")
    for broker, view in now.metadata.items():
        seen = replace(now, metadata={broker: view})
        judgement = _judge(condition, _Sight(seen, first))
        if not judgement.holds:
            return judgement._replace(says=f"{judgement.says}, says broker-{broker}")
    return judgement


def _judge(condition: Condition, sight: _Sight) -> Judgement:
    return _JUDGES[type(condition)](condition, sight)


def _each_partition(
    ref: str, sight: _Sight, judge_one: Callable[[TopicPartition, PartitionSeen], Judgement]
) -> Judgement:
    meant = partitions_meant(ref, sight.partitions)
    if not meant:
        return Judgement(holds=False, says=f"there is no partition of {ref}")
    judgement = Judgement(holds=False, says="")
    for partition in meant:
        seen = sight.partitions.get(partition)
        if seen is None:
            return Judgement(holds=False, says=f"there is no {partition}")
        judgement = judge_one(partition, seen)
        if not judgement.holds:
            break
    return judgement


def _led(condition: Led, sight: _Sight) -> Judgement:
    def one(partition: TopicPartition, seen: PartitionSeen) -> Judgement:
        return Judgement(seen.leader >= 0, _leader_words(partition, seen))

    return _each_partition(condition.of, sight, one)


def _leader(condition: Leader, sight: _Sight) -> Judgement:
    wanted = broker_meant(condition.is_, sight.now)

    def one(partition: TopicPartition, seen: PartitionSeen) -> Judgement:
        return Judgement(seen.leader == wanted, _leader_words(partition, seen))

    return _each_partition(condition.of, sight, one)


def _leader_words(partition: TopicPartition, seen: PartitionSeen) -> str:
    return f"{partition} is led by {f'broker-{seen.leader}' if seen.leader >= 0 else 'nobody'}"


def _leader_epoch(condition: LeaderEpoch, sight: _Sight) -> Judgement:
    def one(partition: TopicPartition, seen: PartitionSeen) -> Judgement:
        holds = _within(condition, seen.leader_epoch)
        return Judgement(holds, f"{partition} has leader epoch {seen.leader_epoch}")

    return _each_partition(condition.of, sight, one)


def _within(condition: LeaderEpoch | Count | Metric, value: float) -> bool:
    return _between(value, condition.is_, condition.at_least, condition.at_most)


def _between(value: float, exact: float | None, least: float | None, most: float | None) -> bool:
    return (
        exact in {None, value}
        and (least is None or value >= least)
        and (most is None or value <= most)
    )


def _isr(condition: Isr, sight: _Sight) -> Judgement:
    def one(partition: TopicPartition, seen: PartitionSeen) -> Judgement:
        return Judgement(_same(seen.isr, condition.are), _isr_words(partition, seen))

    return _each_partition(condition.of, sight, one)


def _full_isr(condition: FullIsr, sight: _Sight) -> Judgement:
    def one(partition: TopicPartition, seen: PartitionSeen) -> Judgement:
        if seen.leader < 0:
            return Judgement(holds=False, says=_leader_words(partition, seen))
        words = f"{_isr_words(partition, seen)} of {list(seen.replicas)}"
        return Judgement(_same(seen.isr, seen.replicas), words)

    return _each_partition(condition.of, sight, one)


def _in_isr(condition: InIsr, sight: _Sight) -> Judgement:
    broker = broker_meant(condition.broker, sight.now)

    def one(partition: TopicPartition, seen: PartitionSeen) -> Judgement:
        return Judgement(broker in seen.isr, _isr_words(partition, seen))

    return _each_partition(condition.of, sight, one)


def _isr_words(partition: TopicPartition, seen: PartitionSeen) -> str:
    return f"the Isr of {partition} is {list(seen.isr)}"


def _offline_replicas(condition: OfflineReplicas, sight: _Sight) -> Judgement:
    def one(partition: TopicPartition, seen: PartitionSeen) -> Judgement:
        words = f"the offline replicas of {partition} are {list(seen.offline_replicas)}"
        return Judgement(_same(seen.offline_replicas, condition.are), words)

    return _each_partition(condition.of, sight, one)


def _replicas(condition: Replicas, sight: _Sight) -> Judgement:
    def one(partition: TopicPartition, seen: PartitionSeen) -> Judgement:
        words = f"the replicas of {partition} are {list(seen.replicas)}"
        return Judgement(seen.replicas == condition.are, words)

    return _each_partition(condition.of, sight, one)


def _same(seen: Sequence[int], wanted: Sequence[int]) -> bool:
    return sorted(seen) == sorted(wanted)


def _topic_exists(condition: TopicExists, sight: _Sight) -> Judgement:
    holds = any(partition.topic == condition.topic for partition in sight.partitions)
    return Judgement(holds, f"there is {'a' if holds else 'no'} topic {condition.topic}")


def _reassigning(condition: Reassigning, sight: _Sight) -> Judgement:
    if sight.now.reassigning is None:
        return Judgement(holds=None, says="nobody tells of reassignments")
    meant = partitions_meant(condition.of, sight.now.reassigning)
    under_way = [str(each) for each in meant if each in sight.now.reassigning]
    if not under_way:
        return Judgement(holds=False, says=f"no reassignment of {condition.of} is under way")
    return Judgement(holds=True, says=f"reassigned are {', '.join(under_way)}")


def _log_dir(condition: LogDirIs, sight: _Sight) -> Judgement:
    name, seen = _log_dir_seen(condition.broker, condition.log_dir, sight)
    if seen is None:
        return Judgement(holds=None, says=f"nobody tells of {name}")
    states = ["online" if seen.error == "NONE" else "offline"]
    if seen.is_cordoned:
        states.append("cordoned")
    words = " and ".join(states) + (f" ({seen.error})" if seen.error != "NONE" else "")
    return Judgement(condition.state in states, f"{name} is {words}")


def _log_dir_seen(broker: str, ref: str, sight: _Sight) -> tuple[str, LogDirSeen | None]:
    owner = broker_meant(broker, sight.now)
    if owner is None:
        return f"a log dir of the {broker}", None
    name = log_dir_meant(ref, owner, sight.now)
    if name is None:
        return f"the log dir {ref} on broker-{owner}", None
    return f"{name} of broker-{owner}", sight.now.log_dirs.get((owner, name))


def _replica_in(condition: ReplicaIn, sight: _Sight) -> Judgement:
    return _replica(condition, sight, "current replica", lambda log_dir: log_dir.replicas)


def _future_replica(condition: FutureReplica, sight: _Sight) -> Judgement:
    found = _replica(condition, sight, "future replica", lambda log_dir: log_dir.futures)
    if not found.holds:
        return found
    broker = broker_meant(condition.broker, sight.now)
    meant = partitions_meant(condition.of, sight.partitions)
    lags = [
        log_dir.futures[partition].offset_lag
        for (owner, _), log_dir in sight.now.log_dirs.items()
        for partition in meant
        if owner == broker and partition in log_dir.futures
    ]
    bounds = condition.lag, condition.lag_at_least, condition.lag_at_most
    holds = all(_between(lag, *bounds) for lag in lags)
    return Judgement(holds, f"{found.says} with a lag of {', '.join(map(str, lags))}")


def _replica(
    condition: ReplicaIn | FutureReplica,
    sight: _Sight,
    kind: str,
    replicas: Callable[[LogDirSeen], Mapping[TopicPartition, Any]],
) -> Judgement:
    broker = broker_meant(condition.broker, sight.now)
    if all(owner != broker for owner, _ in sight.now.log_dirs):
        return Judgement(holds=None, says=f"nobody tells of the log dirs of {condition.broker}")
    meant = partitions_meant(condition.of, sight.partitions)
    words = f"there is no partition of {condition.of}"
    for partition in meant:
        found = [
            name
            for (owner, name), log_dir in sight.now.log_dirs.items()
            if owner == broker and partition in replicas(log_dir)
        ]
        where = f"in {', '.join(found)}" if found else "nowhere"
        words = f"the {kind} of {partition} on {condition.broker} is {where}"
        if not found or condition.log_dir not in {None, *found}:
            return Judgement(holds=False, says=words)
    return Judgement(bool(meant), words)


def _offsets(condition: Offsets, sight: _Sight) -> Judgement:
    meant = partitions_meant(condition.of, sight.partitions)
    words = f"there is no partition of {condition.of}"
    for partition in meant:
        seen = sight.now.offsets.get(partition)
        if seen is None:
            return Judgement(holds=None, says=f"nobody tells the offsets of {partition}")
        words = f"{partition} has offsets {seen.earliest} to {seen.latest}"
        if not (
            _between(seen.earliest, condition.earliest, condition.earliest_at_least, None)
            and _between(seen.latest, condition.latest, condition.latest_at_least, None)
        ):
            return Judgement(holds=False, says=words)
    return Judgement(bool(meant), words)


def _count(condition: Count, sight: _Sight) -> Judgement:
    count = _number(sight.now.workloads.get(condition.workload, _NOTHING), condition.what)
    before = _number(sight.since.workloads.get(condition.workload, _NOTHING), condition.what)
    holds = _within(condition, count) and count - before >= (condition.more or 0)
    grown = f", {count - before} more" if condition.more is not None else ""
    return Judgement(holds, f"{condition.workload} has {count} {condition.what}{grown}")


def _number(seen: WorkloadSeen, what: str) -> int:
    numbers = {"acknowledged": seen.acknowledged, "read": seen.read}
    return numbers.get(what, sum(seen.errors.values()))


def _error_seen(condition: ErrorSeen, sight: _Sight) -> Judgement:
    errors = sight.now.workloads.get(condition.workload, _NOTHING).errors
    told = ", ".join(f"{name} {count} times" for name, count in errors.items()) or "no error"
    return Judgement(condition.code in errors, f"{condition.workload} has seen {told}")


def _node(condition: NodeIs, sight: _Sight) -> Judgement:
    name = node_meant(condition.node, sight.now)
    seen = sight.now.nodes.get(name or "")
    if seen is None:
        return Judgement(holds=None, says=f"there is no {condition.node}")
    code = f", its exit code is {seen.exit_code}" if seen.exit_code is not None else ""
    holds = condition.state == seen.state and condition.exit_code in {None, seen.exit_code}
    return Judgement(holds, f"{name} is {seen.state}{code}")


def _metric(condition: Metric, sight: _Sight) -> Judgement:
    node = node_meant(condition.broker, sight.now)
    value = sight.now.metrics.get((node or "", condition.name))
    if value is None:
        return Judgement(holds=None, says=f"{condition.broker} has no metric {condition.name}")
    return Judgement(_within(condition, value), f"{condition.name} of {node} is {value:g}")


def _fault_hits(condition: FaultHits, sight: _Sight) -> Judgement:
    hits = sight.now.fault_hits.get(condition.fault, 0)
    return Judgement(hits >= condition.at_least, f"the fault {condition.fault} met {hits}")


def _file(condition: FileIn, sight: _Sight) -> Judgement:
    owner = broker_meant(condition.broker, sight.now)
    name = None if owner is None else log_dir_meant(condition.log_dir, owner, sight.now)
    place = f"{condition.log_dir} of {condition.broker}"
    files = sight.now.files.get((owner or 0, name or ""))
    if files is None:
        return Judgement(holds=None, says=f"nobody tells what is in {place}")
    found = [each for each in files if fnmatchcase(each, condition.name)]
    if not found:
        return Judgement(holds=False, says=f"{place} holds no {condition.name}")
    told = ", ".join(found)
    if condition.text is None:
        return Judgement(holds=True, says=f"{place} holds {told}")
    holds = any(condition.text in files[each] for each in found)
    reads = "reads" if holds else "does not read"
    return Judgement(holds, f"{told} in {place} {reads} {condition.text!r}")


def _all(condition: AllOf, sight: _Sight) -> Judgement:
    return _together([_judge(part, sight) for part in condition.conditions], decisive=False)


def _any(condition: AnyOf, sight: _Sight) -> Judgement:
    return _together([_judge(part, sight) for part in condition.conditions], decisive=True)


def _together(judgements: Sequence[Judgement], *, decisive: bool) -> Judgement:
    """One that is ``decisive`` decides; one that is not known leaves open what none decides."""
    for wanted in (decisive, None):
        found = [judgement for judgement in judgements if judgement.holds is wanted]
        if found:
            return Judgement(wanted, _joined(found))
    return Judgement(not decisive, _joined(judgements))


def _joined(judgements: Sequence[Judgement]) -> str:
    return "; ".join(judgement.says for judgement in judgements)


def _not(condition: Not, sight: _Sight) -> Judgement:
    judgement = _judge(condition.condition, sight)
    return judgement._replace(holds=None if judgement.holds is None else not judgement.holds)


_NOTHING: Final = WorkloadSeen()
# Any: each function takes the class of its row, beyond what a type can say.
_JUDGES: Final[dict[type, Callable[[Any, _Sight], Judgement]]] = {
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
    LogDirIs: _log_dir,
    ReplicaIn: _replica_in,
    FutureReplica: _future_replica,
    Offsets: _offsets,
    Count: _count,
    ErrorSeen: _error_seen,
    NodeIs: _node,
    Metric: _metric,
    FaultHits: _fault_hits,
    FileIn: _file,
    AllOf: _all,
    AnyOf: _any,
    Not: _not,
}
