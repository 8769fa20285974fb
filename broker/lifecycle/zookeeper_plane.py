"""Joins a broker's parts to the control plane in ZooKeeper, where the cluster file names one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from broker.lifecycle.broker_configs import BrokerConfigs, config_overrides
from broker.lifecycle.fetched_configs import FetchedConfigs
from broker.lifecycle.topic_configs import TopicConfigs
from broker.world import World
from broker.zookeeper.control_plane import ZookeeperControlPlane
from broker.zookeeper.controller_broker import OwnController
from broker.zookeeper.own_configs import OwnConfigs
from protocol.cluster_file.spec import BrokerSpec, ClusterSpec
from protocol.ports import RpcPort
from protocol.security.zookeeper_tls import zookeeper_tls
from protocol.zookeeper.paths import ALL_BROKERS_ENTITY
from protocol.zookeeper_client.port import NotPermittedError, NoZookeeperError

_OF_CLIENTS: Final = ("clients", "users", "ips")
"""Folders of quotas; credentials are among those of users."""


def zookeeper_plane(
    spec: ClusterSpec,
    own: BrokerSpec,
    world: World,
    connect: Callable[[str, int], RpcPort],
    connect_to_controller: Callable[[], RpcPort],
) -> ZookeeperControlPlane | None:
    """Return the control plane, None in a cluster without ZooKeeper.

    Args:
        spec: the cluster.
        own: this broker.
        world: where it lives.
        connect: makes a connection to another broker.
        connect_to_controller: makes one to the controller of the cluster file.

    Raises:
        SecurityConfigError: its keys for TLS with ZooKeeper make no context.
    """
    if spec.zookeeper is None:
        return None
    stands = spec.stands_for_election and own.id == spec.controller.id
    zookeeper = world.zookeeper(spec.zookeeper, zookeeper_tls(own.configs))
    return ZookeeperControlPlane(
        zookeeper,
        connect,
        world.clock,
        own.control_listener.name,
        OwnController(own.id, connect_to_controller) if stands else None,
        OwnConfigs(zookeeper, own.id, config_overrides(own)),
    )


class Followed(NamedTuple):
    """Who asks again for what clients are told apart by."""

    acls: FetchedConfigs
    tokens: FetchedConfigs
    of_clients: Sequence[FetchedConfigs]
    """Quotas and credentials."""


async def refusal_of_zookeeper(plane: ZookeeperControlPlane | None, spec: ClusterSpec) -> str:
    """Connect, and say why this broker cannot join the cluster there; "": it can."""
    if plane is None or spec.zookeeper is None:
        return ""
    connect, timeout_ms = spec.zookeeper.connect, spec.zookeeper.session_timeout_ms
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            found = await plane.prepare(spec.cluster_id)
    except TimeoutError:
        logs_in = spec.zookeeper.username is not None
        return str(NoZookeeperError(connect, timeout_ms, plane.trouble, logs_in=logs_in))
    except NotPermittedError as error:
        return str(error)
    if found != spec.cluster_id:
        text = f"the cluster in ZooKeeper is {found}, the cluster file says {spec.cluster_id}"
        return f"{text}: set cluster_id to {found}"
    return ""


def follow_config_changes(
    plane: ZookeeperControlPlane | None,
    broker_id: int,
    topic_configs: TopicConfigs,
    broker_configs: BrokerConfigs,
    followed: Followed,
) -> None:
    """Have settings, ACLs, tokens, quotas and credentials asked for again, once changed."""

    def told(entity_path: str) -> None:
        kind, _, name = entity_path.partition("/")
        if kind == "topics":
            topic_configs.changed([name])
        elif kind == "brokers" and name in (str(broker_id), ALL_BROKERS_ENTITY):
            broker_configs.changed()
        elif kind in _OF_CLIENTS:
            for cache in followed.of_clients:
                cache.changed()

    if plane is not None:
        plane.config_changes.told = told
        plane.acl_changes.told = followed.acls.changed
        plane.token_changes.told = followed.tokens.changed
