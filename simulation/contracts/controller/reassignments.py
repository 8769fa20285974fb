"""What reassignments promise: what they make of an assignment, when they are over, what they leave.

Source: KafkaController.onPartitionReassignment, ReplicaAssignment.scala; KIP-455, KIP-860.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from controller.core import reassignment, reassignment_rules
from controller.core.alter_reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from controller.core.events import RequestArrived
from controller.core.machine import Machine
from controller.core.reassignment_rules import Assignment
from controller.core.records import LeadershipChanged
from controller.core.replica_moves import Replica
from controller.core.state import ClusterState, Partition
from controller.core.step import Step
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_LEADER, TopicPartition
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.controller.cluster_facts import live, partitions, working
from simulation.contracts.controller.decided import once_decided
from simulation.contracts.controller.told import answer_of


@of_function(reassignment_rules.reassigned)
def reassigned(partition: Partition, target: Sequence[int]) -> Generator[None, Assignment, Broken]:
    """On the way to a target all that were replicas before stay, and all targets are replicas.

    What is added was none before any reassignment; what is removed is no target.
    """
    before = [each for each in partition.replicas if each not in partition.adding_replicas]
    found = yield
    wanted = frozenset(target), frozenset(before)
    if frozenset(found.replicas) != wanted[0] | wanted[1]:
        return f"{found} from {before} to {list(target)}"
    if list(found.replicas)[: len(target)] != list(target):
        return f"{found}: the targets {list(target)} do not come first"
    parts = frozenset(found.adding), frozenset(found.removing)
    if parts != (wanted[0] - wanted[1], wanted[1] - wanted[0]):
        return f"{found} from {before} to {list(target)}"
    counts = [len(each) - len(frozenset(each)) for each in found]
    return f"{found} names a broker twice" if any(counts) else None


@of_function(reassignment_rules.reverted)
def reverted(partition: Partition) -> Generator[None, Assignment, Broken]:
    """Who takes a reassignment back has the replicas of before it, and nothing under way."""
    found = yield
    before = tuple(each for each in partition.replicas if each not in partition.adding_replicas)
    return None if found == (before, (), ()) else f"{partition} is taken back to {found}"


@of_function(reassignment_rules.is_complete)
def is_complete(state: ClusterState, tp: TopicPartition) -> Generator[None, bool, Broken]:
    """A reassignment is over when all its targets are in sync, and one of them can lead."""
    over = yield
    one = state.topics[tp.topic].partitions[tp.partition]
    if not (one.adding_replicas or one.removing_replicas):
        return None if over else f"{one} is not reassigned and not over"
    targets = frozenset(one.replicas).difference(one.removing_replicas)
    wanted = targets <= frozenset(one.isr) and bool(targets & frozenset(working(state, tp)))
    return None if over is wanted else f"{over} of {one}, online are {working(state, tp)}"


@once_decided
def what_is_complete_is_ended(machine: Machine) -> Broken:
    """No reassignment goes on whose targets are all in sync, one of them able to lead."""
    state = machine.state
    for tp, one, _ in partitions(state):
        targets = frozenset(one.replicas).difference(one.removing_replicas)
        is_moving = bool(one.adding_replicas or one.removing_replicas)
        if is_moving is not (tp in state.reassigning):
            return f"{tp} is {one}, and counts as reassigned: {not is_moving}"
        is_over = targets <= frozenset(one.isr) and targets & frozenset(working(state, tp))
        if is_moving and is_over:
            return f"{tp} goes on: {one}"
    return None


@of_function(reassignment_rules.check_target)
def check_target(
    state: ClusterState, tp: TopicPartition, target: Sequence[int], *, is_factor_free: bool
) -> Generator[None, Assignment, Broken]:
    """A target is taken if its new brokers are live and have room, and an in-sync replica stays."""
    code = _target_code(state, tp, target, is_factor_free=is_factor_free)
    try:
        yield
    except KafkaError as error:
        return None if error.code == code else f"{error.code} for {list(target)}, not {code}"
    return None if code is None else f"{tp} may go to {list(target)}, in spite of {code}"


def _target_code(
    state: ClusterState, tp: TopicPartition, target: Sequence[int], *, is_factor_free: bool
) -> ErrorCode | None:
    one = state.find(tp)
    if not target or len(frozenset(target)) < len(target) or min(target) < 0:
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if one is None or state.topics[tp.topic].is_deleting:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    origin = frozenset(one.replicas).difference(one.adding_replicas)
    for each in frozenset(target) - origin:
        if each not in live(state) or not _has_room(state, each):
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    count = len(one.replicas) - len(one.removing_replicas)
    if len(target) != count and not is_factor_free:
        return ErrorCode.INVALID_REPLICATION_FACTOR
    stays = not one.isr or frozenset(one.isr) & (origin | frozenset(target))
    return None if stays else ErrorCode.INVALID_REPLICA_ASSIGNMENT


def _has_room(state: ClusterState, broker_id: int) -> bool:
    broker = state.brokers[broker_id]
    refused = frozenset(broker.offline_log_dirs) | frozenset(broker.cordoned_log_dirs or ())
    return not broker.log_dirs or bool(frozenset(broker.log_dirs) - refused)


@of_function(reassignment_rules.check_cancel)
def check_cancel(state: ClusterState, tp: TopicPartition) -> Generator[None, Assignment, Broken]:
    """What is under way is taken back, unless no replica of before is in sync any more."""
    one = state.find(tp)
    code = None
    if one is None or state.topics[tp.topic].is_deleting:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif not one.adding_replicas and not one.removing_replicas:
        code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    elif one.isr and frozenset(one.isr) <= frozenset(one.adding_replicas):
        code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    try:
        yield
    except KafkaError as error:
        return None if error.code == code else f"{error.code}, not {code}"
    return None if code is None else f"{tp} is taken back in spite of {code}"


@of_function(reassignment.reassign)
def reassign(
    step: Step, wanted: Mapping[TopicPartition, Assignment]
) -> Generator[None, None, Broken]:
    """A reassignment that was taken is under way or over; who is no replica now is stopped."""
    before = {tp: step.state.partition(tp) for tp in wanted}
    yield
    for tp, assignment in wanted.items():
        one = step.state.find(tp)
        if one is None:
            continue
        now = Assignment(one.replicas, one.adding_replicas, one.removing_replicas)
        stay = tuple(each for each in assignment.replicas if each not in assignment.removing)
        if now not in (assignment, Assignment(stay)):
            return f"{tp}: {now} on the way to {assignment}"
        if not (now.adding or now.removing) and now.replicas != stay:
            return f"{tp} ends with {now}, not {stay}"
        gone = [each for each in before[tp].replicas if each not in now.replicas]
        for each in gone:
            if each in one.isr or each == one.leader or each in step.run.replica_phases.get(tp, {}):
                return f"{tp}: {each} is a replica no more: {one}"
        kept = [each for each in now.replicas if tp not in step.state.hosted.get(each, ())]
        if kept:
            return f"{tp}: {kept} do not host it"
        is_announced = one.leader_epoch > before[tp].leader_epoch
        if not is_announced and step.state.is_replica_online(tp, one.leader):
            return f"{tp} is announced by no new epoch: {one}"
    return None


@of_function(alter_partition_reassignments)
def altered(step: Step, event: RequestArrived) -> Generator[None, None, Broken]:
    """Each partition is answered by itself: taken, or refused and left as it is."""
    before = {tp: one for tp, one, _ in partitions(step.state)}
    yield
    response = answer_of(step, event.token)
    codes = {
        TopicPartition(topic.name, each.partition_index): each.error_code
        for topic in response.responses
        for each in topic.partitions
    }
    wishes = {
        TopicPartition(topic.name, each.partition_index): each.replicas
        for topic in event.request.topics
        for each in topic.partitions
    }
    if sorted(codes) != sorted(wishes):
        return f"answered are {sorted(codes)}, asked for {sorted(wishes)}"
    for tp, target in wishes.items():
        one = step.state.find(tp)
        if codes[tp] != ErrorCode.NONE:
            old = before.get(tp)
            if one is not None and old is not None and one.replicas != old.replicas:
                return f"{tp} is refused, and {old} becomes {one}"
            continue
        if one is None:
            continue
        end = tuple(each for each in one.replicas if each not in one.removing_replicas)
        if target is not None and list(end) != list(target):
            return f"{tp} is to go to {list(target)}, and is {one}"
        if target is None and (one.adding_replicas or one.removing_replicas):
            return f"{tp} is taken back, and is {one}"
    return None


@of_function(list_partition_reassignments)
def listed(step: Step, event: RequestArrived) -> Generator[None, None, Broken]:
    """Listed is what is under way, of the partitions that are asked for."""
    yield
    response = answer_of(step, event.token)
    found = {
        TopicPartition(topic.name, each.partition_index): (
            tuple(each.replicas),
            tuple(each.adding_replicas),
            tuple(each.removing_replicas),
        )
        for topic in response.topics
        for each in topic.partitions
    }
    asked = event.request.topics
    names = [(each.name, number) for each in asked or () for number in each.partition_indexes]
    wanted = {
        tp: (one.replicas, one.adding_replicas, one.removing_replicas)
        for tp, one, _ in partitions(step.state)
        if (one.adding_replicas or one.removing_replicas) and (asked is None or tp in names)
    }
    return None if found == wanted else f"listed {found}, under way are {wanted}"


@of_function(reassignment._complete)  # noqa: SLF001 -- ``reassign`` completes some of its own
def complete(step: Step, tps: Sequence[TopicPartition]) -> Generator[None, None, Broken]:
    """Who leads after a reassignment takes over from who did: there is a leader all the time."""
    count = len(step.records)
    before = {tp: step.state.partition(tp) for tp in tps}
    yield
    lost = [
        change
        for record in step.records[count:]
        if isinstance(record, LeadershipChanged)
        for change in record.changes
        if change.leader == NO_LEADER
    ]
    for change in lost:
        tp = TopicPartition(change.topic, change.partition)
        one = step.state.find(tp)
        if tp in before and before[tp].leader != NO_LEADER and one is not None and one.leader >= 0:
            return f"{tp} had no leader between {before[tp].leader} and {one.leader}"
    return None


@of_function(reassignment._remove)  # noqa: SLF001 -- both replaced and completed ones end here
def remove(step: Step, replicas: Sequence[Replica]) -> Generator[None, None, Broken]:
    """That a replica is gone is told by an answer to what was sent since it was taken away.

    What was sent before may have deleted one that was there, and went, before it.
    """
    sent = {broker_id: progress.sent for broker_id, progress in step.run.channels.items()}
    yield
    for tp, broker_id in replicas:
        noted = step.run.asked_before_removal.get(broker_id, {}).get(tp)
        if broker_id in sent and noted != sent[broker_id]:
            return f"{tp} is taken from broker {broker_id} behind {sent[broker_id]}, not {noted}"
    return None
