"""Which reassignments may be asked for, what they make of an assignment, when they are complete.

It changes nothing. Source: ReplicaAssignment.reassignTo, KafkaController.validateReplicas (3.9);
KIP-455, KIP-860, KIP-1066.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from controller.core.placement import check_room
from controller.core.state import ClusterState, Partition
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition


class Assignment(NamedTuple):
    """The whole assignment of one partition."""

    replicas: tuple[int, ...]
    """The targets first, then those that go."""
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


def assignment_of(partition: Partition) -> Assignment:
    """Return the assignment as it is."""
    return Assignment(partition.replicas, partition.adding_replicas, partition.removing_replicas)


def reassigned(partition: Partition, target: Sequence[int]) -> Assignment:
    """Return the assignment on the way to ``target``; a reassignment under way is replaced."""
    origin = partition.origin_replicas
    replicas = tuple(dict.fromkeys((*target, *origin)))
    return Assignment(
        replicas,
        adding=tuple(r for r in replicas if r not in origin),
        removing=tuple(r for r in replicas if r not in target),
    )


def reverted(partition: Partition) -> Assignment:
    """Return the assignment without the replicas that a reassignment adds."""
    return Assignment(partition.origin_replicas)


def is_complete(state: ClusterState, tp: TopicPartition) -> bool:
    """Tell whether nothing is reassigned any more, or every target is in the Isr and one can lead.

    Differs from Kafka, which gives the old replicas up even when no target is there to lead.
    """
    partition = state.partition(tp)
    if not partition.is_reassigning:
        return True
    target = partition.target_replicas
    is_in_sync = all(replica in partition.isr for replica in target)
    return is_in_sync and any(state.is_replica_online(tp, replica) for replica in target)


def check_target(
    state: ClusterState, tp: TopicPartition, target: Sequence[int], *, is_factor_free: bool
) -> Assignment:
    """Check a wish and return the assignment it leads to.

    Args:
        state: the cluster.
        tp: what is to be reassigned; it may not exist.
        target: the wanted replicas, the preferred leader first.
        is_factor_free: whether their number may differ from the present one (KIP-860).

    Raises:
        KafkaError: INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR or
            UNKNOWN_TOPIC_OR_PARTITION.
    """
    _check_list(target)
    partition = _existing(state, tp)
    assignment = reassigned(partition, target)
    _check_added(state, assignment.adding)
    if not is_factor_free and len(target) != len(partition.target_replicas):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {len(partition.target_replicas)} "
            f"to {len(target)}",
        )
    _check_kept(partition, assignment)
    return assignment


def check_cancel(state: ClusterState, tp: TopicPartition) -> Assignment:
    """Check that a reassignment can be taken back and return the assignment before it.

    Raises:
        KafkaError: UNKNOWN_TOPIC_OR_PARTITION, NO_REASSIGNMENT_IN_PROGRESS, or
            INVALID_REPLICA_ASSIGNMENT when only added replicas are in sync (KAFKA-14424).
    """
    partition = _existing(state, tp)
    if not partition.is_reassigning:
        raise KafkaError(
            ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress."
        )
    assignment = reverted(partition)
    _check_kept(partition, assignment)
    return assignment


def _existing(state: ClusterState, tp: TopicPartition) -> Partition:
    partition = state.find(tp)
    if partition is None or state.is_deleting(tp.topic):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    return partition


def _check_list(target: Sequence[int]) -> None:
    listed = ", ".join(map(str, target))
    if not target:
        raise _bad("Empty replica list specified in partition reassignment.")
    if len(set(target)) != len(target):
        raise _bad(f"Duplicate replica ids in partition reassignment replica list: {listed}")
    if any(broker_id < 0 for broker_id in target):
        raise _bad(f"Invalid broker id in replica list: {listed}")


def _check_added(state: ClusterState, adding: Sequence[int]) -> None:
    if not all(state.is_live(broker_id) for broker_id in adding):
        live = [broker_id for broker_id in sorted(state.brokers) if state.is_live(broker_id)]
        raise _bad(
            "Replica assignment has brokers that are not alive. Replica list: "
            f"{', '.join(map(str, adding))}, live broker list: {', '.join(map(str, live))}"
        )
    check_room(state, adding)


def _check_kept(partition: Partition, assignment: Assignment) -> None:
    """Refuse to drop the last in-sync replicas: nobody could lead without losing records."""
    if partition.isr and not any(member in assignment.replicas for member in partition.isr):
        raise _bad(
            "The replicas in sync, "
            f"{', '.join(map(str, partition.isr))}, would all be removed: none could lead."
        )


def _bad(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
