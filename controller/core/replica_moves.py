"""Moves replicas between phases and tells the brokers. One call is one batch.

It elects nobody: a leader that goes offline leaves a partition without one.

Source: ReplicaStateMachine.scala.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from controller.core.collate import RequestBatch
from controller.core.partition_moves import change_leaderships
from controller.core.phases import REPLICA_MOVES, ReplicaPhase
from controller.core.records import LeadershipChanged, leadership_of
from controller.core.state import Partition
from controller.core.step import Step
from protocol.ids import NO_LEADER, TopicPartition


class Replica(NamedTuple):
    """One copy of one partition."""

    tp: TopicPartition
    broker_id: int


def move_replicas(step: Step, replicas: Iterable[Replica], target: ReplicaPhase) -> None:
    """Move replicas and send what that asks for; undeclared moves are skipped with a warning."""
    batch = step.new_batch()
    _MOVES[target](step, batch, _allowed(step, replicas, target))
    step.send_batch(batch)


def _allowed(step: Step, replicas: Iterable[Replica], target: ReplicaPhase) -> list[Replica]:
    allowed: list[Replica] = []
    for replica in replicas:
        phase = step.run.replica_phase_of(replica.tp, replica.broker_id)
        if phase in REPLICA_MOVES[target]:
            allowed.append(replica)
        else:
            step.warn(
                f"{replica.tp} on broker {replica.broker_id}: no move from {phase.name} to "
                f"{target.name}, skipped"
            )
    return allowed


def _to_new(step: Step, batch: RequestBatch, replicas: list[Replica]) -> None:
    for tp, broker_id in replicas:
        partition = step.state.partition(tp)
        if partition.has_leadership and partition.leader == broker_id:
            step.warn(f"{tp} on broker {broker_id}: cannot be new, it leads")
            continue
        if partition.has_leadership:
            batch.add_leader_and_isr((broker_id,), tp, is_new=True)
        step.run.set_replica_phase(tp, broker_id, ReplicaPhase.NEW)


def _to_online(step: Step, batch: RequestBatch, replicas: list[Replica]) -> None:
    for tp, broker_id in replicas:
        partition = step.state.partition(tp)
        was_told = step.run.replica_phase_of(tp, broker_id) is ReplicaPhase.NEW
        if partition.has_leadership and not was_told:
            # What is being added may never have been made, and may be where a log dir is offline.
            is_added = broker_id in partition.adding_replicas and broker_id not in partition.isr
            batch.add_leader_and_isr((broker_id,), tp, is_new=is_added)
        step.run.set_replica_phase(tp, broker_id, ReplicaPhase.ONLINE)


def _to_offline(step: Step, batch: RequestBatch, replicas: list[Replica]) -> None:
    """Stop them, take them out of the Isr, tell the other replicas.

    StopReplica carries the leader epoch before the Isr removal, as in Kafka.
    """
    by_broker: dict[int, list[TopicPartition]] = {}
    for tp, broker_id in replicas:
        by_broker.setdefault(broker_id, []).append(tp)
    for broker_id, tps in by_broker.items():
        for tp in tps:
            batch.add_stop_replica(broker_id, tp, delete=False)
        led = [tp for tp in tps if step.state.partition(tp).has_leadership]
        _leave_isr(step, led, broker_id)
        for tp in tps:
            step.run.set_replica_phase(tp, broker_id, ReplicaPhase.OFFLINE)
            _tell_others(step, batch, tp, broker_id)


def _tell_others(step: Step, batch: RequestBatch, tp: TopicPartition, broker_id: int) -> None:
    partition = step.state.partition(tp)
    if not partition.has_leadership:
        batch.add_update_metadata(step.state.reachable_brokers(), (tp,))
    elif not step.state.is_being_deleted(tp.topic):
        others = [replica for replica in partition.replicas if replica != broker_id]
        # Kafka tells those that a reassignment is about to add as if they had a log (KAFKA-10314).
        unborn = [
            replica
            for replica in others
            if replica in partition.adding_replicas
            and step.run.replica_phase_of(tp, replica) is ReplicaPhase.NON_EXISTENT
        ]
        batch.add_leader_and_isr(others, tp, is_new=False)
        batch.add_leader_and_isr(unborn, tp, is_new=True)


def _leave_isr(step: Step, tps: list[TopicPartition], broker_id: int) -> None:
    """Take a broker out of Isrs; elsewhere only note that this controller looked.

    Source: ReplicaStateMachine.doRemoveReplicasFromIsr.
    """
    changed: dict[TopicPartition, Partition] = {}
    seen: dict[TopicPartition, Partition] = {}
    for tp in tps:
        partition = step.state.partition(tp)
        if broker_id in partition.isr:
            changed[tp] = _without(partition, broker_id)
        elif partition.controller_epoch != step.state.controller_epoch:
            seen[tp] = replace(partition, controller_epoch=step.state.controller_epoch)
    if seen:
        step.change(LeadershipChanged(tuple(leadership_of(tp, p) for tp, p in seen.items())))
    if changed:
        change_leaderships(step, changed, f"replica on broker {broker_id} offline")


def _without(partition: Partition, broker_id: int) -> Partition:
    """Remove a broker from the Isr; the last member stays."""
    is_last = len(partition.isr) == 1
    isr = partition.isr if is_last else tuple(m for m in partition.isr if m != broker_id)
    leader = NO_LEADER if partition.leader == broker_id else partition.leader
    return replace(partition, leader=leader, isr=isr, leader_epoch=partition.leader_epoch + 1)


def _to_deletion_started(step: Step, batch: RequestBatch, replicas: list[Replica]) -> None:
    for tp, broker_id in replicas:
        step.run.set_replica_phase(tp, broker_id, ReplicaPhase.DELETION_STARTED)
        batch.add_stop_replica(broker_id, tp, delete=True)


def _to_deletion_successful(step: Step, _batch: RequestBatch, replicas: list[Replica]) -> None:
    for tp, broker_id in replicas:
        step.run.set_replica_phase(tp, broker_id, ReplicaPhase.DELETION_SUCCESSFUL)


def _to_deletion_ineligible(step: Step, _batch: RequestBatch, replicas: list[Replica]) -> None:
    for tp, broker_id in replicas:
        step.run.set_replica_phase(tp, broker_id, ReplicaPhase.DELETION_INELIGIBLE)


def _to_non_existent(step: Step, _batch: RequestBatch, replicas: list[Replica]) -> None:
    for tp, broker_id in replicas:
        step.run.set_replica_phase(tp, broker_id, ReplicaPhase.NON_EXISTENT)


_Move = Callable[[Step, RequestBatch, list[Replica]], None]
_MOVES: Final[dict[ReplicaPhase, _Move]] = {
    ReplicaPhase.NEW: _to_new,
    ReplicaPhase.ONLINE: _to_online,
    ReplicaPhase.OFFLINE: _to_offline,
    ReplicaPhase.DELETION_STARTED: _to_deletion_started,
    ReplicaPhase.DELETION_SUCCESSFUL: _to_deletion_successful,
    ReplicaPhase.DELETION_INELIGIBLE: _to_deletion_ineligible,
    ReplicaPhase.NON_EXISTENT: _to_non_existent,
}
