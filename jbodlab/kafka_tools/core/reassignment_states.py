"""How far a reassignment is, and Kafka's words for it: partitions, and replicas between log dirs.

Source: ReassignPartitionsCommand.java, PartitionReassignmentState, LogDirMoveState.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from jbodlab.kafka_tools.core.reassignment_file import ProposedReassignment, ReplicaOn
from protocol.admin.cluster import TopicView
from protocol.admin.log_dirs import LogDirView
from protocol.admin.reassignments import ReassignmentView
from protocol.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionState:
    """Where a partition of a plan stands."""

    current: tuple[int, ...]
    """Its replicas, without those that will go; empty for a partition that does not exist."""
    target: tuple[int, ...]
    is_done: bool
    """Whether no reassignment of it is under way."""


class Placement(NamedTuple):
    """Where a broker has a replica; None where it has none in a log dir that works."""

    current: str | None
    future: str | None


@dataclass(frozen=True, slots=True)
class Completed:
    """The replica is where it should be."""


@dataclass(frozen=True, slots=True)
class Active:
    """It is on its way somewhere."""

    current: str
    future: str
    target: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """It is elsewhere and does not move."""

    current: str
    target: str


@dataclass(frozen=True, slots=True)
class MissingLogDir:
    """No log dir that works has it."""


@dataclass(frozen=True, slots=True)
class MissingReplica:
    """The broker told nothing about it."""


MoveState = Completed | Active | Cancelled | MissingLogDir | MissingReplica


def partition_states(
    plan: ProposedReassignment,
    reassignments: Mapping[TopicPartition, ReassignmentView],
    topics: Mapping[str, TopicView],
) -> dict[TopicPartition, PartitionState]:
    """Return the state of every partition of a plan, sorted.

    Args:
        plan: what is wanted.
        reassignments: all of the cluster.
        topics: those of the plan that exist.
    """
    states: dict[TopicPartition, PartitionState] = {}
    for partition, target in sorted(plan.assignment.items()):
        under_way = reassignments.get(partition)
        if under_way is not None:
            states[partition] = PartitionState(under_way.target, target, is_done=False)
            continue
        topic = topics.get(partition.topic)
        found = topic.partition(partition.partition) if topic else None
        states[partition] = PartitionState(found.replicas if found else (), target, is_done=True)
    return states


def placements(
    replicas: Iterable[ReplicaOn], log_dirs: Mapping[int, Sequence[LogDirView]]
) -> dict[ReplicaOn, Placement]:
    """Return where replicas are; those of brokers that told nothing are left out.

    Source: KafkaAdminClient.describeReplicaLogDirs.
    """
    current: dict[ReplicaOn, str] = {}
    future: dict[ReplicaOn, str] = {}
    for broker, dirs in log_dirs.items():
        for log_dir in dirs:
            if not log_dir.is_online:
                continue
            for replica in log_dir.replicas:
                kind = future if replica.is_future else current
                kind[ReplicaOn(broker, replica.tp)] = log_dir.path
    return {
        replica: Placement(current.get(replica), future.get(replica))
        for replica in replicas
        if replica.broker in log_dirs
    }


def move_states(
    wanted: Mapping[ReplicaOn, str], found: Mapping[ReplicaOn, Placement]
) -> dict[ReplicaOn, MoveState]:
    """Return the state of every replica that is to be in a certain log dir, sorted.

    Source: ReassignPartitionsCommand.java findLogDirMoveStates.
    """
    return {
        replica: _move_state(target, found.get(replica))
        for replica, target in sorted(wanted.items())
    }


def is_done(state: MoveState) -> bool:
    """Whether a move is over, also one that nobody began."""
    return isinstance(state, Completed | Cancelled)


def describe_partitions(states: Mapping[TopicPartition, PartitionState]) -> str:
    """Return the lines that ``--verify`` prints about partitions."""
    lines = ["Status of partition reassignment:"]
    for partition, state in states.items():
        if not state.is_done:
            lines.append(f"Reassignment of partition {partition} is still in progress.")
        elif state.current == state.target:
            lines.append(f"Reassignment of partition {partition} is completed.")
        else:
            lines.append(
                f"There is no active reassignment of partition {partition}, but replica set is "
                f"{_ids(state.current)} rather than {_ids(state.target)}."
            )
    return "\n".join(lines)


def describe_moves(states: Mapping[ReplicaOn, MoveState]) -> str:
    """Return the lines that ``--verify`` prints about log dirs."""
    return "\n".join(_describe_move(replica, state) for replica, state in states.items())


def describe_reassignments(reassignments: Mapping[TopicPartition, ReassignmentView]) -> str:
    """Return what ``--list`` prints."""
    if not reassignments:
        return "No partition reassignments found."
    lines = ["Current partition reassignments:"]
    for partition, each in sorted(reassignments.items()):
        line = f"{partition}: replicas: {_ids(each.replicas)}."
        if each.adding:
            line += f" adding: {_ids(each.adding)}."
        if each.removing:
            line += f" removing: {_ids(each.removing)}."
        lines.append(line)
    return "\n".join(lines)


def _move_state(target: str, found: Placement | None) -> MoveState:
    if found is None:
        return MissingReplica()
    current, future = found
    if current is None:
        return MissingLogDir()
    if future is not None:
        return Active(current, future, target)
    return Completed() if current == target else Cancelled(current, target)


def _describe_move(replica: ReplicaOn, state: MoveState) -> str:
    partition, broker = replica.partition, replica.broker
    match state:
        case Completed():
            return f"Reassignment of replica {replica} completed successfully."
        case Active(_, future, target) if future == target:
            return f"Reassignment of replica {replica} is still in progress."
        case Active(_, future, target):
            return (
                f"Partition {partition} on broker {broker} is being moved to log dir {future} "
                f"instead of {target}."
            )
        case Cancelled(current, target):
            return (
                f"Partition {partition} on broker {broker} is not being moved from log dir "
                f"{current} to {target}."
            )
        case MissingLogDir():
            return (
                f"Partition {partition} is not found in any live log dir on broker {broker}. "
                "There is likely an offline log directory on the broker."
            )
        case MissingReplica():
            return (
                f"Partition {partition} cannot be found in any live log directory on broker "
                f"{broker}."
            )
        case _:
            assert_never(state)


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
