"""The state of a cluster out of what ZooKeeper has, as one that elected a new controller finds it.

Source: KafkaController.initializeControllerContext.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec import UNSET

from controller.core.acl_records import AclsReplaced
from controller.core.config_records import BrokerConfigsChanged
from controller.core.events import Registration, TopicRead
from controller.core.reassignment_records import AssignmentChanged
from controller.core.records import (
    BrokerUnfenced,
    ControllerStarted,
    DeletionQueued,
    Leadership,
    LeadershipChanged,
    ProducerIdsAllocated,
    Record,
    TopicCreated,
)
from controller.core.registrations import registered
from controller.core.state import ClusterState, Endpoint
from controller.core.znode_clients import replaced
from protocol.acls.model import AclBinding
from protocol.ids import uuid_from_text
from protocol.security.listeners import SecurityProtocol
from protocol.zookeeper import paths
from protocol.zookeeper.znodes import (
    BrokerZnode,
    MalformedZnode,
    PartitionStateZnode,
    TopicZnode,
    endpoint_of,
)

StateRead = tuple[PartitionStateZnode, int]
"""A partition's state and the version of its znode, which is the partition epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZnodesRead:
    """All that is read before a term begins."""

    cluster_id: str
    controller_epoch: int
    """Of the term before."""
    next_producer_id: int
    registrations: tuple[Registration, ...]
    topics: Mapping[str, TopicZnode]
    states: Mapping[str, Mapping[int, StateRead]]
    """Topic -> partition -> its state; none for one that was never led."""
    topic_configs: Mapping[str, Mapping[str, str]]
    broker_configs: Mapping[str, Mapping[str, str]]
    client_configs: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict[str, Mapping[str, str]]
    )
    """What is set for users, client ids and addresses, by path below ``/config``."""
    acls: tuple[AclBinding, ...] = ()
    deletions: Iterable[str] = field(default=())


def state_of(read: ZnodesRead) -> ClusterState:
    """Return the state, at decision 0.

    Raises:
        MalformedZnode: a topic has no id, or that of another one, or partitions with gaps between
            their numbers.
    """
    state = ClusterState()
    for record in _records(read):
        record.apply(state)
    return state


def registration_of(
    broker_id: int, znode: BrokerZnode, broker_epoch: int, listener: str
) -> Registration:
    """Return a registration whose first endpoint is ``listener``.

    Raises:
        MalformedZnode: the broker has no such listener.
    """
    protocols = znode.listener_security_protocol_map
    names = [endpoint.partition("://")[0] for endpoint in znode.endpoints]
    if listener not in names:
        text = f"{paths.broker_path(broker_id)} has listeners {names}, and none is {listener}"
        raise MalformedZnode(text)
    names.sort(key=lambda name: name != listener)
    return Registration(
        broker_id,
        broker_epoch,
        tuple(
            Endpoint(name, *endpoint_of(znode, name), SecurityProtocol[protocols.get(name, name)])
            for name in names
        ),
        None if znode.rack is UNSET else znode.rack,
    )


def _records(read: ZnodesRead) -> Iterator[Record]:
    yield ControllerStarted(read.cluster_id, read.controller_epoch)
    yield ProducerIdsAllocated(read.next_producer_id)
    for found in read.registrations:
        yield registered(found)
        yield BrokerUnfenced(found.broker_id)
    names: dict[bytes, str] = {}
    for name, znode in read.topics.items():
        yield from _topic(
            name, znode, read.states.get(name, {}), read.topic_configs.get(name, {}), names
        )
    for name, configs in read.broker_configs.items():
        if configs:
            yield BrokerConfigsChanged(name, dict(configs))
    for path, configs in read.client_configs.items():
        found = replaced(path, configs)
        if found is not None:
            yield found
    if read.acls:
        yield AclsReplaced(read.acls)
    for name in read.deletions:
        if name in read.topics:
            yield DeletionQueued(name)


def topic_read(name: str, znode: TopicZnode, configs: Mapping[str, str]) -> TopicRead:
    """Return a topic out of its znode.

    Raises:
        MalformedZnode: as ``state_of``.
    """
    path = paths.topic_path(name)
    numbers = sorted(map(int, znode.partitions))
    if numbers != list(range(len(numbers))):
        raise MalformedZnode(f"{path} has partitions {numbers}")
    if znode.topic_id is UNSET:
        text = "has no topic id: have a controller of Apache Kafka 2.8 or later lead once"
        raise MalformedZnode(f"{path} {text}")
    replicas = tuple(tuple(znode.partitions[str(number)]) for number in numbers)
    return TopicRead(name, uuid_from_text(znode.topic_id), replicas, dict(configs))


def _topic(
    name: str,
    znode: TopicZnode,
    states: Mapping[int, StateRead],
    configs: Mapping[str, str],
    names: dict[bytes, str],
) -> Iterator[Record]:
    """Give the records of one topic; ``names`` are those of the ones before, by id."""
    found = topic_read(name, znode, configs)
    other = names.setdefault(found.topic_id, name)
    if other != name:
        text = (
            f"has the topic id of topic {other}, {znode.topic_id}: write another id into the znode"
            " of the one that is a copy, or delete that znode"
        )
        raise MalformedZnode(f"{paths.topic_path(name)} {text}")
    yield TopicCreated(name, found.topic_id, found.configs, found.replicas)
    numbers = range(len(found.replicas))
    led = tuple(
        _leadership(name, number, *states[number]) for number in numbers if number in states
    )
    if led:
        yield LeadershipChanged(led)
    for number in numbers:
        adding = tuple(znode.adding_replicas.get(str(number), ()))
        removing = tuple(znode.removing_replicas.get(str(number), ()))
        if adding or removing:
            yield AssignmentChanged(name, number, found.replicas[number], adding, removing)


def _leadership(name: str, number: int, znode: PartitionStateZnode, version: int) -> Leadership:
    return Leadership(
        name,
        number,
        znode.leader,
        znode.leader_epoch,
        tuple(znode.isr),
        version,
        znode.controller_epoch,
        znode.leader_recovery_state == 1,
    )
