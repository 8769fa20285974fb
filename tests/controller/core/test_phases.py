"""The tables of moves, case by case against Kafka's state machines."""

from __future__ import annotations

from itertools import product

import pytest

from controller.core.phases import PARTITION_MOVES, REPLICA_MOVES, PartitionPhase, ReplicaPhase

PARTITION_TABLE = {
    PartitionPhase.NON_EXISTENT: "New",
    PartitionPhase.NEW: "Online Offline",
    PartitionPhase.ONLINE: "Online Offline",
    PartitionPhase.OFFLINE: "Online Offline NonExistent",
}
REPLICA_TABLE = {
    ReplicaPhase.NON_EXISTENT: "New",
    ReplicaPhase.NEW: "Online Offline",
    ReplicaPhase.ONLINE: "Online Offline",
    ReplicaPhase.OFFLINE: "Online Offline DeletionStarted DeletionIneligible",
    ReplicaPhase.DELETION_STARTED: "DeletionSuccessful DeletionIneligible",
    ReplicaPhase.DELETION_SUCCESSFUL: "NonExistent",
    ReplicaPhase.DELETION_INELIGIBLE: "Online Offline",
}


def kafka_name(phase: PartitionPhase | ReplicaPhase) -> str:
    return phase.name.title().replace("_", "")


@pytest.mark.scenario(166)
@pytest.mark.parametrize(("source", "target"), list(product(PartitionPhase, repeat=2)))
def test_partitions_move_where_kafka_lets_them(
    source: PartitionPhase, target: PartitionPhase
) -> None:
    allowed = kafka_name(target) in PARTITION_TABLE[source].split()
    assert (source in PARTITION_MOVES[target]) == allowed


@pytest.mark.scenario(166)
@pytest.mark.parametrize(("source", "target"), list(product(ReplicaPhase, repeat=2)))
def test_replicas_move_where_kafka_lets_them(source: ReplicaPhase, target: ReplicaPhase) -> None:
    allowed = kafka_name(target) in REPLICA_TABLE[source].split()
    assert (source in REPLICA_MOVES[target]) == allowed
