"""Which replicas and brokers a reassignment is throttled on.

Source: ReassignPartitionsCommand.java calculateProposedMoveMap, calculateLeaderThrottles,
calculateFollowerThrottles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jbodlab.kafka_tools.core.failures import RUNTIME, ToolFailure
from jbodlab.kafka_tools.core.reassignment_file import Assignment, ReplicaOn
from protocol.admin.reassignments import ReassignmentView
from protocol.configs.names import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from protocol.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Move:
    """One partition's brokers: those that have it, those that will get it."""

    sources: tuple[int, ...]
    destinations: tuple[int, ...]


Moves = Mapping[TopicPartition, Move]


def moves_of(
    reassignments: Mapping[TopicPartition, ReassignmentView],
    proposed: Assignment,
    current: Assignment,
) -> Moves:
    """Return what moves when a plan begins: the plan and all that is under way already.

    Args:
        reassignments: all of the cluster.
        proposed: the plan.
        current: replicas of the plan's partitions.

    Raises:
        ToolFailure: a partition of the plan has no replicas.
    """
    moves = {
        partition: Move(tuple(b for b in each.replicas if b not in each.adding), each.adding)
        for partition, each in reassignments.items()
    }
    for partition, replicas in proposed.items():
        under_way = moves.get(partition)
        sources = under_way.sources if under_way else tuple(current.get(partition, ()))
        if not sources:
            raise ToolFailure(
                RUNTIME, f"Trying to reassign a topic partition {partition} with 0 replicas"
            )
        moves[partition] = Move(sources, tuple(b for b in replicas if b not in sources))
    return moves


def topic_throttles(moves: Moves) -> dict[str, dict[str, str]]:
    """Return the values of the two topic settings by topic; lists are sorted as texts."""
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    for (topic, partition), move in moves.items():
        leaders.setdefault(topic, []).extend(f"{partition}:{b}" for b in move.sources)
        followers.setdefault(topic, []).extend(f"{partition}:{b}" for b in move.destinations)
    return {
        topic: {
            LEADER_REPLICAS: ",".join(sorted(leaders[topic])),
            FOLLOWER_REPLICAS: ",".join(sorted(followers[topic])),
        }
        for topic in sorted(leaders)
    }


def moving_brokers(moves: Moves) -> list[int]:
    """Return the brokers whose replication is throttled, sorted."""
    return sorted({b for move in moves.values() for b in (*move.sources, *move.destinations)})


def broker_throttles(rate: int) -> dict[str, str]:
    """Return the values of the two broker settings, in bytes per second."""
    return {LEADER_RATE: str(rate), FOLLOWER_RATE: str(rate)}


def log_dir_brokers(replicas: Iterable[ReplicaOn]) -> list[int]:
    """Return the brokers whose moves between log dirs are throttled, sorted."""
    return sorted({replica.broker for replica in replicas})
