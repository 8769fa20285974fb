"""The phases of partitions and replicas and which moves between them exist. It moves nothing.

Source: PartitionStateMachine.scala, ReplicaStateMachine.scala.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class PartitionPhase(Enum):
    """Where a partition is in its life; values are Kafka's."""

    NEW = 0
    ONLINE = 1
    OFFLINE = 2
    NON_EXISTENT = 3


class ReplicaPhase(Enum):
    """Where a replica is in its life; values are Kafka's."""

    NEW = 1
    ONLINE = 2
    OFFLINE = 3
    DELETION_STARTED = 4
    DELETION_SUCCESSFUL = 5
    DELETION_INELIGIBLE = 6
    NON_EXISTENT = 7


PARTITION_MOVES: Final[dict[PartitionPhase, tuple[PartitionPhase, ...]]] = {
    PartitionPhase.NEW: (PartitionPhase.NON_EXISTENT,),
    PartitionPhase.ONLINE: (
        PartitionPhase.NEW,
        PartitionPhase.ONLINE,
        PartitionPhase.OFFLINE,
    ),
    PartitionPhase.OFFLINE: (
        PartitionPhase.NEW,
        PartitionPhase.ONLINE,
        PartitionPhase.OFFLINE,
    ),
    PartitionPhase.NON_EXISTENT: (PartitionPhase.OFFLINE,),
}
"""Target -> the phases it may be reached from."""

REPLICA_MOVES: Final[dict[ReplicaPhase, tuple[ReplicaPhase, ...]]] = {
    ReplicaPhase.NEW: (ReplicaPhase.NON_EXISTENT,),
    ReplicaPhase.ONLINE: (
        ReplicaPhase.NEW,
        ReplicaPhase.ONLINE,
        ReplicaPhase.OFFLINE,
        ReplicaPhase.DELETION_INELIGIBLE,
    ),
    ReplicaPhase.OFFLINE: (
        ReplicaPhase.NEW,
        ReplicaPhase.ONLINE,
        ReplicaPhase.OFFLINE,
        ReplicaPhase.DELETION_INELIGIBLE,
    ),
    ReplicaPhase.DELETION_STARTED: (ReplicaPhase.OFFLINE,),
    ReplicaPhase.DELETION_SUCCESSFUL: (ReplicaPhase.DELETION_STARTED,),
    ReplicaPhase.DELETION_INELIGIBLE: (ReplicaPhase.OFFLINE, ReplicaPhase.DELETION_STARTED),
    ReplicaPhase.NON_EXISTENT: (ReplicaPhase.DELETION_SUCCESSFUL,),
}
"""Target -> the phases it may be reached from."""
