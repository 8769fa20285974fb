"""What a controller does when its epoch has begun: everyone is told everything.

Source: KafkaController.onControllerFailover. Differs from Kafka: replicas on offline log dirs are
known from the journal, so none of them is elected for a moment; they are asked for all the same.
The first UpdateMetadata names every partition, as a broker that was just started may get it: what
a broker is told first is what it opens to clients with.
"""

from __future__ import annotations

from collections.abc import Iterable

from controller.core import deletion, reassignment, reassignment_progress, removals
from controller.core.partition_moves import elect_leaderless
from controller.core.phases import PartitionPhase, ReplicaPhase
from controller.core.preferred import schedule_first_balance
from controller.core.replica_moves import Replica, move_replicas
from controller.core.state import Partition
from controller.core.step import Step
from protocol.ids import TopicPartition


def controller_started(step: Step) -> None:
    """Take over; every unfenced broker gets a fresh session."""
    reachable = step.state.reachable_brokers()
    for broker_id in reachable:
        step.begin_session(broker_id)
        step.connect(broker_id)
    _hold_deletions(step)
    step.send_all_metadata(reachable)
    _start_replicas(step)
    for tp in step.state.partitions():
        step.run.set_phase(tp, _phase(step, tp, step.state.partition(tp)))
    elect_leaderless(step)
    removals.tell_again(step, reachable)
    reassignment_progress.take_over(step)
    reassignment.resume(step, list(step.state.reassigning))
    deletion.resume(step)
    schedule_first_balance(step)


def set_phases(step: Step, tps: Iterable[TopicPartition]) -> None:
    """Set the phases of partitions that became others while this controller acts."""
    for tp in tps:
        partition = step.state.partition(tp)
        for broker_id in list(step.run.replica_phases.get(tp, ())):
            if broker_id not in partition.replicas:
                step.run.set_replica_phase(tp, broker_id, ReplicaPhase.NON_EXISTENT)
        for broker_id in partition.replicas:
            is_online = step.state.is_replica_online(tp, broker_id)
            phase = ReplicaPhase.ONLINE if is_online else ReplicaPhase.OFFLINE
            step.run.set_replica_phase(tp, broker_id, phase)
        step.run.set_phase(tp, _phase(step, tp, partition))


def _hold_deletions(step: Step) -> None:
    """Mark deletions that cannot end now, as a replica is out of reach or is reassigned."""
    for topic in step.state.topics.values():
        if topic.is_deleting and any(
            partition.is_reassigning
            or not all(step.state.is_replica_deletable(tp, each) for each in partition.replicas)
            for tp in topic.keys
            for partition in (step.state.partition(tp),)
        ):
            step.run.deletion_ineligible[topic.name] = None


def _start_replicas(step: Step) -> None:
    """Tell live brokers their replicas, those too that are offline as far as the journal knows.

    One of these may have come back while the last controller ended: the broker's answer says so.
    """
    told: list[Replica] = []
    offline: list[Replica] = []
    for tp in step.state.partitions():
        for broker_id in step.state.partition(tp).replicas:
            is_online = step.state.is_replica_online(tp, broker_id)
            is_asked = step.state.is_live(broker_id) and not step.state.is_deleting(tp.topic)
            (told if is_online or is_asked else offline).append(Replica(tp, broker_id))
            phase = ReplicaPhase.ONLINE if is_online else ReplicaPhase.DELETION_INELIGIBLE
            step.run.set_replica_phase(tp, broker_id, phase)
    move_replicas(step, told, ReplicaPhase.ONLINE)
    move_replicas(step, offline, ReplicaPhase.OFFLINE)


def _phase(step: Step, tp: TopicPartition, partition: Partition) -> PartitionPhase:
    if not partition.has_leadership:
        return PartitionPhase.NEW
    if step.state.is_replica_online(tp, partition.leader):
        return PartitionPhase.ONLINE
    return PartitionPhase.OFFLINE
