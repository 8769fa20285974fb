"""Deletes topics replica by replica; those on dead brokers and offline log dirs are waited for.

Source: TopicDeletionManager.scala.
"""

from __future__ import annotations

from collections.abc import Iterable

from controller.core.events import RequestAnswered
from controller.core.partition_moves import move_partitions
from controller.core.phases import PartitionPhase, ReplicaPhase
from controller.core.records import DeletionQueued, TopicDeleted
from controller.core.replica_moves import Replica, move_replicas
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.control import StopReplicaRequest, StopReplicaResponse


def queue_topics(step: Step, topics: Iterable[str]) -> None:
    """Begin to delete topics that exist; those queued already are left as they are."""
    for topic in topics:
        if step.state.is_deleting(topic):
            continue
        step.change(DeletionQueued(topic))
        step.note(f"topic {topic} queued for deletion")
        if step.state.is_reassigning(topic):
            step.run.deletion_ineligible[topic] = None
    resume(step)


def resume_topics(step: Step, topics: Iterable[str]) -> None:
    """Try topics again after one of their brokers came back or a reassignment ended.

    A topic waits until none of its partitions is reassigned.
    """
    queued = [topic for topic in topics if step.state.is_being_deleted(topic)]
    for topic in queued:
        step.run.deletion_ineligible.pop(topic, None)
    if queued:
        resume(step)


def resume(step: Step) -> None:
    """Finish topics that are gone everywhere, retry failed replicas, begin with eligible topics.

    Source: TopicDeletionManager.resumeDeletions.
    """
    retry: list[str] = []
    eligible: list[str] = []
    for topic in [t.name for t in step.state.topics.values() if t.is_deleting]:
        phases = _phases(step, topic)
        if all(phase is ReplicaPhase.DELETION_SUCCESSFUL for phase in phases):
            _finish(step, topic)
            continue
        if ReplicaPhase.DELETION_STARTED in phases:
            continue
        retry.append(topic)
        if topic not in step.run.deletion_ineligible:
            eligible.append(topic)
    _retry(step, retry)
    if eligible:
        _delete(step, eligible)


def fail_replicas(step: Step, replicas: list[Replica]) -> None:
    """Give up on replicas until their broker returns."""
    failed = [replica for replica in replicas if _is_dying(step, replica)]
    if not failed:
        return
    move_replicas(step, failed, ReplicaPhase.DELETION_INELIGIBLE)
    for replica in failed:
        step.run.deletion_ineligible[replica.tp.topic] = None
    resume(step)


def stop_replica_answered(step: Step, event: RequestAnswered) -> None:
    """Take the answer to StopReplica with deletions; any other is of no interest."""
    asked = _asked_to_delete(event)
    if not asked:
        return
    codes = _codes(event)
    failed = [replica for replica in asked if codes.get(replica.tp, -1) != ErrorCode.NONE]
    fail_replicas(step, failed)
    if failed and step.run.was_asked_before_return(event.broker_id, event.sequence):
        # What has come back since may be asked again, and answers of that would count no more.
        resume_topics(step, dict.fromkeys(replica.tp.topic for replica in failed))
    done = [
        replica
        for replica in asked
        if replica not in failed
        and step.run.replica_phase_of(*replica) is ReplicaPhase.DELETION_STARTED
    ]
    if done:
        move_replicas(step, done, ReplicaPhase.DELETION_SUCCESSFUL)
        resume(step)


def _asked_to_delete(event: RequestAnswered) -> list[Replica]:
    request: StopReplicaRequest = event.request
    return [
        Replica(TopicPartition(topic.topic_name, partition.partition_index), event.broker_id)
        for topic in request.topic_states
        for partition in topic.partition_states
        if partition.delete_partition
    ]


def _codes(event: RequestAnswered) -> dict[TopicPartition, int]:
    """Return the code per partition; none at all when the whole request was refused."""
    response: StopReplicaResponse = event.response
    if response.error_code != ErrorCode.NONE:
        return {}
    return {
        TopicPartition(error.topic_name, error.partition_index): error.error_code
        for error in response.partition_errors
    }


def _delete(step: Step, topics: list[str]) -> None:
    unseen = [topic for topic in topics if topic not in step.run.deletion_begun]
    unseen_tps = [tp for topic in unseen for tp in step.state.topics[topic].keys]
    move_partitions(step, unseen_tps, PartitionPhase.OFFLINE)
    move_partitions(step, unseen_tps, PartitionPhase.NON_EXISTENT)
    step.run.deletion_begun.update(dict.fromkeys(unseen))
    tps = [tp for topic in topics for tp in step.state.topics[topic].keys]
    step.send_metadata(step.state.reachable_brokers(), tps)
    _delete_replicas(step, topics)


def _delete_replicas(step: Step, topics: list[str]) -> None:
    dead: list[Replica] = []
    alive: list[Replica] = []
    for replica in (replica for topic in topics for replica in _replicas(step, topic)):
        if not step.state.is_replica_deletable(*replica):
            dead.append(replica)
        elif step.run.replica_phase_of(*replica) is not ReplicaPhase.DELETION_SUCCESSFUL:
            alive.append(replica)
    move_replicas(step, dead, ReplicaPhase.DELETION_INELIGIBLE)
    move_replicas(step, alive, ReplicaPhase.OFFLINE)
    move_replicas(step, alive, ReplicaPhase.DELETION_STARTED)
    for replica in dead:
        step.run.deletion_ineligible[replica.tp.topic] = None


def _retry(step: Step, topics: list[str]) -> None:
    replicas = [
        replica
        for topic in topics
        for replica in _replicas(step, topic)
        if step.run.replica_phase_of(*replica) is ReplicaPhase.DELETION_INELIGIBLE
    ]
    move_replicas(step, replicas, ReplicaPhase.OFFLINE)


def _finish(step: Step, topic: str) -> None:
    move_replicas(step, _replicas(step, topic), ReplicaPhase.NON_EXISTENT)
    step.run.note_deleted(step.state.topics[topic].topic_id)
    step.change(TopicDeleted(topic))
    step.run.deletion_begun.pop(topic, None)
    step.run.deletion_ineligible.pop(topic, None)
    step.note(f"topic {topic} deleted")


def _is_dying(step: Step, replica: Replica) -> bool:
    """Tell whether the replica goes with its topic, not because it was reassigned before."""
    tp, broker_id = replica
    partition = step.state.find(tp)
    is_assigned = partition is not None and broker_id in partition.replicas
    return is_assigned and step.state.is_deleting(tp.topic)


def _replicas(step: Step, topic: str) -> list[Replica]:
    return [
        Replica(tp, broker_id)
        for tp in step.state.topics[topic].keys
        for broker_id in step.state.partition(tp).replicas
    ]


def _phases(step: Step, topic: str) -> list[ReplicaPhase]:
    return [step.run.replica_phase_of(*replica) for replica in _replicas(step, topic)]
