"""Reads what a new term begins with out of ZooKeeper; ``controller.core.znode_state`` judges it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from controller.core.events import Registration, TopicRead
from controller.core.znode_state import StateRead, ZnodesRead, registration_of, topic_read
from protocol.acls.model import AclBinding
from protocol.configs.types import ALL_BROKERS, ResourceType
from protocol.zookeeper import paths
from protocol.zookeeper.acls import RESOURCE_TYPES, acls_of
from protocol.zookeeper.client_entities import CLIENT_FOLDERS, CLIENTS, USERS
from protocol.zookeeper.znodes import (
    AclsZnode,
    BrokerZnode,
    ClusterIdZnode,
    ConfigZnode,
    MalformedZnode,
    PartitionStateZnode,
    ProducerIdBlockZnode,
    TopicZnode,
    decode,
)
from protocol.zookeeper_client.port import ZookeeperPort

_AT_ONCE: Final = 200
"""Questions under way."""
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
logger = logging.getLogger(__name__)


async def read_all(zookeeper: ZookeeperPort, controller_epoch: int, listener: str) -> ZnodesRead:
    """Read everything.

    Args:
        zookeeper: connected.
        controller_epoch: of the term before.
        listener: by which brokers speak with each other.

    Raises:
        ConnectionError: ZooKeeper does not answer.
        MalformedZnode: what is there is not Kafka's.
    """
    cluster = decode(await zookeeper.get(paths.CLUSTER_ID), ClusterIdZnode, paths.CLUSTER_ID)
    names = sorted(await zookeeper.children(paths.TOPICS))
    topics = await _each(names, lambda name: _topic(zookeeper, name))
    states = await _each(topics, lambda name: _states(zookeeper, name, topics[name]))
    configs = await _each(topics, lambda name: read_configs(zookeeper, ResourceType.TOPIC, name))
    brokers = await zookeeper.children(paths.config_path("brokers"))
    named = [ALL_BROKERS if each == paths.ALL_BROKERS_ENTITY else each for each in sorted(brokers)]
    return ZnodesRead(
        cluster_id=cluster.id,
        controller_epoch=controller_epoch,
        next_producer_id=await _next_producer_id(zookeeper),
        registrations=await read_registrations(zookeeper, listener),
        topics=topics,
        states=states,
        topic_configs=configs,
        broker_configs=await _each(
            named, lambda name: read_configs(zookeeper, ResourceType.BROKER, name)
        ),
        acls=await read_acls(zookeeper),
        client_configs=await _client_configs(zookeeper),
        deletions=sorted(await zookeeper.children(paths.DELETE_TOPICS)),
    )


async def read_registrations(
    zookeeper: ZookeeperPort, listener: str, watch: Callable[[], None] | None = None
) -> tuple[Registration, ...]:
    """Return all brokers that are registered; ``watch`` is called when one comes or goes.

    Raises:
        ConnectionError, MalformedZnode: as ``read_all``.
    """
    ids = sorted(map(int, await zookeeper.children(paths.BROKER_IDS, watch)))
    found = await _each(ids, lambda broker_id: _registration(zookeeper, broker_id, listener))
    return tuple(found.values())


async def read_topics(zookeeper: ZookeeperPort, names: Iterable[str]) -> tuple[TopicRead, ...]:
    """Return those of ``names`` that are there; what is not Kafka's is left out and logged.

    Raises:
        ConnectionError: ZooKeeper does not answer.
    """
    found: list[TopicRead] = []
    for name in names:
        try:
            znode = await _topic(zookeeper, name)
            if znode is not None:
                configs = await read_configs(zookeeper, ResourceType.TOPIC, name)
                found.append(topic_read(name, znode, configs))
        except MalformedZnode as error:
            logger.error("topic %s stays without leaders: %s", name, error)  # noqa: TRY400
    return tuple(found)


async def read_configs(zookeeper: ZookeeperPort, kind: ResourceType, name: str) -> dict[str, str]:
    """Return what is set for a topic or for brokers.

    Raises:
        ConnectionError, MalformedZnode: as ``read_all``.
    """
    path = paths.config_path(paths.entity_path(kind, name))
    data = await zookeeper.get(path)
    return {} if data is None else decode(data, ConfigZnode, path).config


async def read_client_configs(zookeeper: ZookeeperPort, entity_path: str) -> dict[str, str]:
    """Return what is set for a user, client id or address; nothing where only others lie below.

    Raises:
        ConnectionError, MalformedZnode: as ``read_all``.
    """
    path = paths.config_path(entity_path)
    data = await zookeeper.get(path)
    return decode(data, ConfigZnode, path).config if data else {}


async def read_acls(zookeeper: ZookeeperPort) -> tuple[AclBinding, ...]:
    """Return all ACLs, by resource.

    Raises:
        ConnectionError, MalformedZnode: as ``read_all``.
    """
    found: list[AclBinding] = []
    for folder in paths.ACL_FOLDERS:
        for kind in RESOURCE_TYPES:
            names = sorted(await zookeeper.children(f"{folder}/{kind}"))
            znodes = await _each(names, lambda name: _acls(zookeeper, f"{folder}/{kind}/{name}"))  # noqa: B023 - awaited here
            for name, znode in znodes.items():
                found += acls_of(folder, kind, name, znode)
    return tuple(found)


async def _acls(zookeeper: ZookeeperPort, path: str) -> AclsZnode | None:
    data = await zookeeper.get(path)
    return None if data is None else decode(data, AclsZnode, path)


async def _client_configs(zookeeper: ZookeeperPort) -> dict[str, dict[str, str]]:
    found: list[str] = []
    for folder in CLIENT_FOLDERS:
        found += await _below(zookeeper, folder)
    for user in [each for each in found if each.startswith(f"{USERS}/")]:
        found += await _below(zookeeper, f"{user}/{CLIENTS}")
    return await _each(found, lambda path: read_client_configs(zookeeper, path))


async def _below(zookeeper: ZookeeperPort, folder: str) -> list[str]:
    names = await zookeeper.children(paths.config_path(folder))
    return [f"{folder}/{name}" for name in sorted(names)]


async def _each(
    keys: Iterable[KeyT], read: Callable[[KeyT], Awaitable[ValueT | None]]
) -> dict[KeyT, ValueT]:
    """Return what was read by key, without what is not there any more."""
    wanted, found = list(keys), dict[KeyT, ValueT]()
    for begin in range(0, len(wanted), _AT_ONCE):
        part = wanted[begin : begin + _AT_ONCE]
        values = await asyncio.gather(*map(read, part))
        found |= {key: each for key, each in zip(part, values, strict=True) if each is not None}
    return found


async def _topic(zookeeper: ZookeeperPort, name: str) -> TopicZnode | None:
    path = paths.topic_path(name)
    data = await zookeeper.get(path)
    return None if data is None else decode(data, TopicZnode, path)


async def _states(zookeeper: ZookeeperPort, name: str, znode: TopicZnode) -> dict[int, StateRead]:
    return await _each(map(int, znode.partitions), lambda each: _state(zookeeper, name, each))


async def _state(zookeeper: ZookeeperPort, name: str, number: int) -> StateRead | None:
    path = paths.partition_state_path(name, number)
    found = await zookeeper.find(path)
    return None if found is None else (decode(found.data, PartitionStateZnode, path), found.version)


async def _registration(
    zookeeper: ZookeeperPort, broker_id: int, listener: str
) -> Registration | None:
    path = paths.broker_path(broker_id)
    found = await zookeeper.find(path)
    if found is None:
        return None
    return registration_of(broker_id, decode(found.data, BrokerZnode, path), found.czxid, listener)


async def _next_producer_id(zookeeper: ZookeeperPort) -> int:
    path = paths.PRODUCER_ID_BLOCK
    data = await zookeeper.get(path)
    return int(decode(data, ProducerIdBlockZnode, path).block_end) + 1 if data else 0
