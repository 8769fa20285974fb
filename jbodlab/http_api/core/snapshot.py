"""What a lab can see of its cluster at one moment, as values: nodes, log dirs, replicas, faults.

They are what the HTTP API answers with, so that their fields are the API's. Nothing is asked here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from jbodlab.asking.lab_values import NodeState


class ReplicaInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One replica in a log dir."""

    topic: str
    partition: int
    size_bytes: int
    offset_lag: int
    """Of a future replica: how far it is behind the current one."""
    is_future: bool
    """It is a copy that a move makes, and takes the place of the one in another log dir."""
    is_leader: bool
    is_in_sync: bool


class FaultHits(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that is in force on a log dir."""

    mode: str
    hits: int


class LogDirInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One log dir of a broker."""

    number: int
    """At its broker, 1 for the first one."""
    path: str
    """As it stands in the cluster file."""
    is_online: bool
    cause: str
    """Why it is offline; empty when it is online."""
    is_cordoned: bool
    total_bytes: int
    """-1 when it is not known."""
    usable_bytes: int
    """-1 when it is not known."""
    queue_depth: int
    """How many operations wait for its disk."""
    signs: tuple[str, ...]
    """What is wrong with it, in words."""
    faults: tuple[FaultHits, ...]
    return_state: str
    """Of the last restart or replacement: waiting, loading, registering, done, refused; or ""."""
    replicas: tuple[ReplicaInfo, ...]
    """Of an offline one: those that were in it when it was online, and are nowhere else."""
    last_hop_ms: int = 0
    """How long its disk took for what it did last."""


class BrokerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One broker of the cluster file."""

    id: int
    address: str
    rack: str | None
    state: NodeState
    pid: int | None
    troubles: tuple[str, ...]
    """What keeps it from serving, as it tells itself."""
    log_dirs: tuple[LogDirInfo, ...]
    """Of a broker that does not answer: as they were when it last did."""


class PartitionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One partition, as the metadata of a broker that answers tells it."""

    topic: str
    partition: int
    leader: int
    """-1 when there is none."""
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]


class FaultInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One fault by rule, and what it met; the words are those of docs/faults.md."""

    broker: int
    """Which one carries it out."""
    id: str
    is_in_force: bool
    matches: int
    """Operations or messages that it could have met."""
    hits: int
    """How many of them it changed."""
    fault: dict[str, Any]


class MoveInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A replica on its way from one log dir of its broker to another."""

    broker: int
    topic: str
    partition: int
    source: int | None
    """The number of the log dir that it leaves; None when that is not known."""
    target: int
    copied_bytes: int
    total_bytes: int
    offset_lag: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All of one moment."""

    cluster_id: str
    bootstrap_servers: tuple[str, ...]
    controller: NodeState
    brokers: tuple[BrokerInfo, ...]
    partitions: tuple[PartitionInfo, ...]
    """None that nobody tells of: without a broker that answers they are as they last were."""
    faults: tuple[FaultInfo, ...]
    are_partitions_known: bool = True
    """Whether a broker told of the partitions this time."""


def moves_of(snapshot: Snapshot) -> tuple[MoveInfo, ...]:
    """Return what is under way between the log dirs of each broker."""
    return tuple(
        _move(broker, log_dir, replica)
        for broker in snapshot.brokers
        for log_dir in broker.log_dirs
        for replica in log_dir.replicas
        if replica.is_future
    )


def _move(broker: BrokerInfo, target: LogDirInfo, future: ReplicaInfo) -> MoveInfo:
    current = next(
        (
            (log_dir.number, replica)
            for log_dir in broker.log_dirs
            for replica in log_dir.replicas
            if not replica.is_future
            and (replica.topic, replica.partition) == (future.topic, future.partition)
        ),
        None,
    )
    return MoveInfo(
        broker=broker.id,
        topic=future.topic,
        partition=future.partition,
        source=None if current is None else current[0],
        target=target.number,
        copied_bytes=future.size_bytes,
        total_bytes=future.size_bytes if current is None else current[1].size_bytes,
        offset_lag=future.offset_lag,
    )
