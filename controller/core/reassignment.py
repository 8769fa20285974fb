"""Carries reassignments out: their beginning, replacement, completion, return, resumption.

What may be asked for is in ``reassignment_rules``. Any number of partitions goes through one phase
together; for a single one the requests are Kafka's, one by one. A replica that leaves is stopped
and deleted without waiting; ``removals`` sees to it that it is gone one day.

Source: KafkaController.onPartitionReassignment (phases U, A and B), KIP-455.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from controller.core import deletion, removals
from controller.core.election import Strategy
from controller.core.partition_moves import bring_online, move_partitions, write_leaderships
from controller.core.phases import PartitionPhase, ReplicaPhase
from controller.core.reassignment_records import AssignmentChanged
from controller.core.reassignment_rules import Assignment, assignment_of, is_complete
from controller.core.records import LeadershipChanged
from controller.core.replica_moves import Replica, move_replicas
from controller.core.state import Partition
from controller.core.step import Step
from protocol.ids import TopicPartition


def reassign(step: Step, wanted: Mapping[TopicPartition, Assignment]) -> None:
    """Begin reassignments, replace those under way, or take them back; all of them were checked."""
    _update(step, wanted)
    _go_on(step, wanted)


def resume(step: Step, tps: Iterable[TopicPartition]) -> None:
    """Tell everyone again about those of ``tps`` that are reassigned, or complete them."""
    _go_on(step, [tp for tp in tps if step.state.partition(tp).is_reassigning])


def resume_on(step: Step, broker_id: int) -> None:
    """Resume those that wait for a broker which came back."""
    resume(
        step,
        [
            tp
            for tp in step.state.hosted_by(broker_id)
            if broker_id in step.state.partition(tp).target_replicas
        ],
    )


def complete_ready(step: Step) -> None:
    """Complete those whose last target joined the Isr in this step."""
    changed = [
        TopicPartition(change.topic, change.partition)
        for record in step.records
        if isinstance(record, LeadershipChanged)
        for change in record.changes
    ]
    ready = [tp for tp in dict.fromkeys(changed) if _is_ready(step, tp)]
    if ready:
        _complete(step, ready)


def _is_ready(step: Step, tp: TopicPartition) -> bool:
    partition = step.state.find(tp)
    return partition is not None and partition.is_reassigning and is_complete(step.state, tp)


def _go_on(step: Step, tps: Iterable[TopicPartition]) -> None:
    complete: list[TopicPartition] = []
    waiting: list[TopicPartition] = []
    for tp in tps:
        (complete if is_complete(step.state, tp) else waiting).append(tp)
    if waiting:
        _announce(step, waiting)
    if complete:
        _complete(step, complete)


def _update(step: Step, wanted: Mapping[TopicPartition, Assignment]) -> None:
    """Phase U: the new assignment; replicas of a replaced one that are in neither go at once."""
    dropped: list[Replica] = []
    for tp, assignment in wanted.items():
        before = step.state.partition(tp)
        if assignment == assignment_of(before):
            continue
        step.change(AssignmentChanged(tp.topic, tp.partition, *assignment))
        step.note(_described(tp, before, assignment))
        dropped += [Replica(tp, b) for b in before.replicas if b not in assignment.replicas]
    led = [tp for tp, broker_id in dropped if step.state.partition(tp).leader == broker_id]
    _remove(step, dropped)
    # Kafka leaves those that are not complete without a leader until a broker comes or goes.
    going = [tp for tp in led if step.state.partition(tp).is_reassigning]
    _elect(step, going, Strategy.OFFLINE)


def _described(tp: TopicPartition, before: Partition, assignment: Assignment) -> str:
    if not (assignment.adding or assignment.removing):
        return f"{tp} replicas {list(before.replicas)} -> {list(assignment.replicas)}"
    return (
        f"{tp} is reassigned: replicas {list(assignment.replicas)}, "
        f"adding {list(assignment.adding)}, removing {list(assignment.removing)}"
    )


def _announce(step: Step, tps: list[TopicPartition]) -> None:
    """Phase A: a new leader epoch tells everyone, and the added replicas to begin.

    They are told isNew=true, so that a target with an offline log dir begins too (KAFKA-10314).
    """
    led = [tp for tp in tps if step.state.partition(tp).has_leadership]
    _raise_epochs(step, led)
    added = (Replica(tp, b) for tp in tps for b in step.state.partition(tp).adding_replicas)
    unborn = [r for r in added if step.run.replica_phase_of(*r) is ReplicaPhase.NON_EXISTENT]
    move_replicas(step, unborn, ReplicaPhase.NEW)
    # Kafka leaves them new until they are in sync, and does not ask them when a log dir fails.
    move_replicas(step, unborn, ReplicaPhase.ONLINE)


def _raise_epochs(step: Step, tps: list[TopicPartition]) -> None:
    if not tps:
        return
    batch = step.new_batch()
    raised: dict[TopicPartition, Partition] = {}
    for tp in tps:
        partition = step.state.partition(tp)
        raised[tp] = replace(partition, leader_epoch=partition.leader_epoch + 1)
    write_leaderships(step, raised)
    for tp, partition in raised.items():
        batch.add_leader_and_isr(partition.origin_replicas, tp, is_new=False)
        batch.add_leader_and_isr(partition.adding_replicas, tp, is_new=True)
    step.send_batch(batch)


def _complete(step: Step, tps: list[TopicPartition]) -> None:
    """Phase B: only the targets stay; a leader among them; the others are stopped and deleted."""
    removing: list[Replica] = []
    silent: list[Replica] = []
    for tp in tps:
        partition = step.state.partition(tp)
        removing += [Replica(tp, b) for b in partition.removing_replicas]
        added = (Replica(tp, b) for b in partition.adding_replicas)
        silent += [r for r in added if step.run.replica_phase_of(*r) is not ReplicaPhase.ONLINE]
        if partition.is_reassigning:
            target = partition.target_replicas
            step.change(AssignmentChanged(tp.topic, tp.partition, target, (), ()))
            step.note(f"{tp} reassignment complete: replicas {list(target)}")
    move_replicas(step, silent, ReplicaPhase.ONLINE)
    _settle_leaders(step, tps)
    _remove(step, removing)
    step.send_metadata(step.state.reachable_brokers(), tps)
    deletion.resume_topics(step, dict.fromkeys(tp.topic for tp in tps))


def _settle_leaders(step: Step, tps: list[TopicPartition]) -> None:
    """Elect where the leader does not stay; elsewhere a new epoch tells the new assignment."""
    stay: list[TopicPartition] = []
    elect: list[TopicPartition] = []
    for tp in tps:
        partition = step.state.partition(tp)
        if not partition.has_leadership:
            continue
        is_good = partition.leader in partition.replicas and step.state.is_replica_online(
            tp, partition.leader
        )
        (stay if is_good else elect).append(tp)
    _raise_epochs(step, stay)
    _elect(step, elect, Strategy.REASSIGN)


def _elect(step: Step, tps: list[TopicPartition], strategy: Strategy) -> None:
    """Give partitions a leader; who gets none waits for later elections."""
    outcome = bring_online(step, tps, strategy)
    failed = [tp for tp, is_elected in outcome.items() if not is_elected]
    move_partitions(step, failed, PartitionPhase.OFFLINE)


def _remove(step: Step, replicas: list[Replica]) -> None:
    """Stop, delete and forget replicas, whatever their brokers say to it."""
    for tp, broker_id in replicas:
        removals.note_begun(step, tp, broker_id)
    move_replicas(step, replicas, ReplicaPhase.OFFLINE)
    move_replicas(step, replicas, ReplicaPhase.DELETION_STARTED)
    move_replicas(step, replicas, ReplicaPhase.DELETION_SUCCESSFUL)
    move_replicas(step, replicas, ReplicaPhase.NON_EXISTENT)
