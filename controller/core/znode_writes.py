"""What a decision changes in ZooKeeper: which znodes are written, in Kafka's order.

Who is alive, which replicas are offline and what is still to be deleted by brokers is not kept
there: the next controller asks. Source: KafkaZkClient, AdminZkClient, ZkPartitionStateMachine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec import UNSET

from controller.core.acl_records import AclsCreated, AclsDeleted
from controller.core.brokers import PRODUCER_ID_BLOCK_COUNT
from controller.core.config_records import (
    BrokerConfigsChanged,
    GroupConfigsChanged,
    TopicConfigsChanged,
)
from controller.core.reassignment_records import AssignmentChanged
from controller.core.records import (
    DeletionQueued,
    Leadership,
    LeadershipChanged,
    PartitionsAdded,
    ProducerIdsAllocated,
    Record,
    TopicCreated,
    TopicDeleted,
    TopicFound,
)
from controller.core.state import INITIAL_PARTITION_EPOCH, ClusterState, Topic
from controller.core.token_records import TOKEN_RECORDS
from controller.core.znode_clients import (
    CLIENT_RECORDS,
    ClientRecord,
    entity_of,
    folders_of,
    written,
)
from protocol.acls.model import AclBinding, ResourcePattern
from protocol.configs.types import ResourceType
from protocol.ids import TopicPartition, uuid_text
from protocol.zookeeper import paths
from protocol.zookeeper.acls import acl_change, acl_path
from protocol.zookeeper.client_entities import client_entity_path
from protocol.zookeeper.operations import Create, Set
from protocol.zookeeper.znodes import (
    ConfigChangeZnode,
    ConfigZnode,
    PartitionStateZnode,
    ProducerIdBlockZnode,
    TopicZnode,
    encode,
)

NOT_KEPT: Final = (
    GroupConfigsChanged,
    *TOKEN_RECORDS,
)
"""Decisions that would be lost: whoever asks for one is refused before it is made."""


@dataclass(frozen=True, slots=True)
class Ensure:
    """Make an empty znode where there is none."""

    path: str


@dataclass(frozen=True, slots=True)
class Put:
    """Write a znode, whether it is there or not."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Clear:
    """Remove a znode with all that is below it, if it is there."""

    path: str


@dataclass(frozen=True, slots=True)
class ReviseAcls:
    """Change the ACLs of a pattern that its znode has by then, to which brokers write as well."""

    pattern: ResourcePattern
    added: tuple[AclBinding, ...]
    removed: tuple[AclBinding, ...]

    @property
    def path(self) -> str:
        """Where they stand."""
        return acl_path(self.pattern)

    @property
    def folders(self) -> list[str]:
        """All that must be there before, the uppermost first."""
        parts = self.path.split("/")[1:-1]
        above = ["/" + "/".join(parts[: number + 1]) for number in range(len(parts))]
        return [*above, self.notice.path.rpartition("/")[0]]

    @property
    def notice(self) -> Create:
        """What tells brokers of it."""
        prefix, body = acl_change(self.pattern)
        return Create(prefix, body, is_sequential=True)


Write: TypeAlias = Create | Set | Ensure | Put | Clear | ReviseAcls


def take(state: ClusterState, record: Record, controller_id: int) -> list[Write]:
    """Apply a record to the state that ZooKeeper has, and return what makes it so there."""
    assert not isinstance(record, NOT_KEPT)
    if isinstance(record, LeadershipChanged):
        writes = [write for change in record.changes for write in _leadership(state, change)]
        record.apply(state)
        return writes
    record.apply(state)
    if isinstance(record, CLIENT_RECORDS):
        return list(_client(state, record))
    if isinstance(record, AclsCreated | AclsDeleted):
        return list(_acls(record))
    return list(_writes(state, record, controller_id))


def _writes(state: ClusterState, record: Record, controller_id: int) -> Iterator[Write]:
    match record:
        case TopicFound():
            return
        case TopicCreated(name):
            yield _configs(f"topics/{name}", record.configs)
            yield Create(paths.topic_path(name), _topic(state.topics[name]))
        case PartitionsAdded(name):
            yield Set(paths.topic_path(name), _topic(state.topics[name]))
        case AssignmentChanged(name):
            yield Set(paths.topic_path(name), _topic(state.topics[name]))
        case DeletionQueued(name):
            yield Ensure(f"{paths.DELETE_TOPICS}/{name}")
        case TopicDeleted(name):
            yield Clear(paths.topic_path(name))
            yield Clear(paths.config_path(f"topics/{name}"))
            yield Clear(f"{paths.DELETE_TOPICS}/{name}")
        case ProducerIdsAllocated(next_producer_id):
            yield Put(paths.PRODUCER_ID_BLOCK, _block(controller_id, next_producer_id))
        case TopicConfigsChanged(name):
            yield from _changed(ResourceType.TOPIC, name, state.topics[name].configs)
        case BrokerConfigsChanged(name):
            yield from _changed(ResourceType.BROKER, name, state.dynamic_configs.get(name, {}))
        case _:
            return


def _leadership(state: ClusterState, change: Leadership) -> Iterator[Write]:
    """Write a state with the version that it has: each write raises the partition epoch by one."""
    before = state.partition(TopicPartition(change.topic, change.partition)).partition_epoch
    if change.partition_epoch == before:
        return  # It was looked at, as Kafka notes in memory only.
    assert change.partition_epoch == before + 1, change
    path = paths.partition_state_path(change.topic, change.partition)
    data = encode(
        PartitionStateZnode(
            controller_epoch=change.controller_epoch,
            leader=change.leader,
            leader_epoch=change.leader_epoch,
            isr=list(change.isr),
            leader_recovery_state=1 if change.is_recovering else UNSET,
        )
    )
    if change.partition_epoch > INITIAL_PARTITION_EPOCH:
        yield Set(path, data, before)
        return
    folder = path.rpartition("/")[0]
    yield Ensure(folder.rpartition("/")[0])
    yield Ensure(folder)
    yield Create(path, data)


def _topic(topic: Topic) -> bytes:
    partitions = {str(number): each for number, each in enumerate(topic.partitions)}
    return encode(
        TopicZnode(
            partitions={number: list(each.replicas) for number, each in partitions.items()},
            topic_id=uuid_text(topic.topic_id),
            adding_replicas={
                number: list(each.adding_replicas)
                for number, each in partitions.items()
                if each.adding_replicas
            },
            removing_replicas={
                number: list(each.removing_replicas)
                for number, each in partitions.items()
                if each.removing_replicas
            },
        )
    )


def _changed(kind: ResourceType, name: str, configs: dict[str, str]) -> Iterator[Write]:
    entity = paths.entity_path(kind, name)
    yield _configs(entity, configs)
    yield _notice(entity)


def _acls(record: AclsCreated | AclsDeleted) -> Iterator[ReviseAcls]:
    is_new = isinstance(record, AclsCreated)
    for pattern in dict.fromkeys(acl.pattern for acl in record.acls):
        changed = tuple(acl for acl in record.acls if acl.pattern == pattern)
        yield ReviseAcls(pattern, changed if is_new else (), () if is_new else changed)


def _client(state: ClusterState, record: ClientRecord) -> Iterator[Write]:
    """Write the znode of a user, client id or address, and those above it where there is none."""
    entity = entity_of(record)
    for path, above in folders_of(entity):
        yield (
            Ensure(paths.config_path(path))
            if above is None
            else _configs(path, written(state, above))
        )
    path = client_entity_path(entity)
    yield _configs(path, written(state, entity))
    yield _notice(path)


def _notice(entity: str) -> Create:
    change = encode(ConfigChangeZnode(entity_path=entity))
    return Create(paths.CONFIG_CHANGE_PREFIX, change, is_sequential=True)


def _configs(entity: str, configs: dict[str, str]) -> Put:
    return Put(paths.config_path(entity), encode(ConfigZnode(config=configs)))


def _block(controller_id: int, next_producer_id: int) -> bytes:
    first = next_producer_id - PRODUCER_ID_BLOCK_COUNT
    return encode(
        ProducerIdBlockZnode(
            broker=controller_id, block_start=str(first), block_end=str(next_producer_id - 1)
        )
    )
