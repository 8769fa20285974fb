"""How plans name things - nodes, log dirs, partitions - and what a name means at one moment.

Each kind of name is a type, so that a reader of plans knows what to check. Asks nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Final, TypeAlias

from protocol.faults.model import broker_id_of, broker_node
from protocol.ids import TopicPartition
from simulation.core.observation import Observation, ObservedPartition


class Means(Enum):
    """What a text in a plan stands for."""

    NODE = "node"
    BROKER = "broker"
    LOG_DIR = "log dir"
    PARTITIONS = "partitions"
    TOPIC = "topic"
    NEW_TOPIC = "new topic"
    CODE = "code"
    WORKLOAD = "workload"
    FAULT = "fault"
    FILE = "file"
    NEW_NAME = "new name"


NodeRef: TypeAlias = Annotated[str, Means.NODE]
"""``controller``, or what a BrokerRef may be."""
BrokerRef: TypeAlias = Annotated[str, Means.BROKER]
"""``broker-1`` (in a file also 1), ``leader of orders-0``, ``follower of orders-0``: the first."""
LogDirRef: TypeAlias = Annotated[str, Means.LOG_DIR]
"""``d1``, or ``of orders-0``: where that partition's replica lies on the broker concerned."""
PartitionsRef: TypeAlias = Annotated[str, Means.PARTITIONS]
"""``orders-0``, ``orders`` for every partition of a topic, ``*`` for all partitions there are."""
TopicRef: TypeAlias = Annotated[str, Means.TOPIC]
NewTopic: TypeAlias = Annotated[str, Means.NEW_TOPIC]
CodeName: TypeAlias = Annotated[str, Means.CODE]
"""Kafka's name of an error code, such as KAFKA_STORAGE_ERROR; NONE is success."""
WorkloadRef: TypeAlias = Annotated[str, Means.WORKLOAD]
FaultRef: TypeAlias = Annotated[str, Means.FAULT]
FileRef: TypeAlias = Annotated[str, Means.FILE]
"""A name below a log dir, such as ``orders-0/leader-epoch-checkpoint``."""
NewName: TypeAlias = Annotated[str, Means.NEW_NAME]

ALL: Final = "*"
ROLES: Final = ("leader", "follower")
_PARTITION: Final = re.compile(r"(.+)-(\d+)")


def partition_named(text: str) -> TopicPartition | None:
    """Return the one partition that ``text`` names, or None: it names a topic, or all."""
    found = _PARTITION.fullmatch(text)
    return None if found is None else TopicPartition(found[1], int(found[2]))


def role_and_partition(ref: str) -> tuple[str, TopicPartition] | None:
    """Take ``leader of orders-0`` apart; None for any other text."""
    role, _, name = ref.partition(" of ")
    partition = partition_named(name)
    return (role, partition) if role in ROLES and partition is not None else None


def partition_of_log_dir(ref: str) -> TopicPartition | None:
    """Return the partition of ``of orders-0``; None for any other text."""
    return partition_named(ref.removeprefix("of ")) if ref.startswith("of ") else None


def partitions_meant(ref: str, known: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
    """Return what ``ref`` names among ``known``, in order; one that is not known stays named."""
    one = partition_named(ref)
    if one is not None:
        return (one,)
    return tuple(sorted(each for each in known if ref in (ALL, each.topic)))


def node_meant(ref: str, seen: Observation) -> str | None:
    """Return the name of the node; None when nobody has that role now."""
    named = role_and_partition(ref)
    if named is None:
        return ref
    role, partition = named
    found = _partition_seen(partition, seen)
    if found is None:
        return None
    if role == "leader":
        return broker_node(found.leader) if found.leader >= 0 else None
    followers = [broker for broker in found.replicas if broker != found.leader]
    return broker_node(followers[0]) if followers else None


def broker_meant(ref: str, seen: Observation) -> int | None:
    """Return the id of the broker; None when nobody has that role now, or it is no broker."""
    node = node_meant(ref, seen)
    return None if node is None else broker_id_of(node)


def log_dir_meant(ref: str, broker: int, seen: Observation) -> str | None:
    """Return the name of a broker's log dir; None when it has no such replica now."""
    partition = partition_of_log_dir(ref)
    if partition is None:
        return ref
    for (owner, name), log_dir in seen.log_dirs.items():
        if owner == broker and partition in log_dir.replicas:
            return name
    return None


def _partition_seen(partition: TopicPartition, seen: Observation) -> ObservedPartition | None:
    """Return what the first broker says that knows the partition."""
    for view in seen.metadata.values():
        if partition in view:
            return view[partition]
    return None
