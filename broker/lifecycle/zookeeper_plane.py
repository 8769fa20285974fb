"""Joins a broker's parts to the control plane in ZooKeeper, where the cluster file names one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from broker.lifecycle.broker_configs import BrokerConfigs
from broker.lifecycle.topic_configs import TopicConfigs
from broker.world import World
from broker.zookeeper.control_plane import ZookeeperControlPlane
from protocol.cluster_file.spec import BrokerSpec, ClusterSpec
from protocol.ports import RpcPort
from protocol.zookeeper.paths import ALL_BROKERS_ENTITY


def zookeeper_plane(
    spec: ClusterSpec, own: BrokerSpec, world: World, connect: Callable[[str, int], RpcPort]
) -> ZookeeperControlPlane | None:
    """Return the control plane, None in a cluster with a controller of jbodlab.

    ``connect`` makes a connection to another broker.
    """
    if spec.zookeeper is None:
        return None
    between_brokers = own.listeners[0].name
    return ZookeeperControlPlane(
        world.zookeeper(spec.zookeeper), connect, world.clock, between_brokers
    )


async def refusal_of_zookeeper(plane: ZookeeperControlPlane | None, spec: ClusterSpec) -> str:
    """Connect, and say why this broker cannot join the cluster there; "": it can."""
    if plane is None or spec.zookeeper is None:
        return ""
    connect, timeout_ms = spec.zookeeper.connect, spec.zookeeper.session_timeout_ms
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            found = await plane.prepare(spec.cluster_id)
    except TimeoutError:
        return f"no ZooKeeper at {connect} within {timeout_ms} ms: see zookeeper.connect"
    if found != spec.cluster_id:
        text = f"the cluster in ZooKeeper is {found}, the cluster file says {spec.cluster_id}"
        return f"{text}: set cluster_id to {found}"
    return ""


def follow_config_changes(
    plane: ZookeeperControlPlane | None,
    broker_id: int,
    topic_configs: TopicConfigs,
    broker_configs: BrokerConfigs,
) -> None:
    """Have settings that change in ZooKeeper asked for again."""

    def told(entity_path: str) -> None:
        kind, _, name = entity_path.partition("/")
        if kind == "topics":
            topic_configs.changed([name])
        elif kind == "brokers" and name in (str(broker_id), ALL_BROKERS_ENTITY):
            broker_configs.changed()

    if plane is not None:
        plane.config_changes.told = told
