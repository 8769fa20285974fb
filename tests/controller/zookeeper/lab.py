"""A ZooKeeper in memory with what brokers and a topic leave there."""

from __future__ import annotations

from collections.abc import Iterable

from protocol.acls.model import AclBinding
from protocol.zookeeper import paths
from protocol.zookeeper.acls import revised_acls
from protocol.zookeeper.znodes import (
    BrokerZnode,
    ClusterIdZnode,
    PartitionStateZnode,
    TopicZnode,
    encode,
)
from tests.protocol.zookeeper_client.fake_zookeeper import FakeServer, FakeZookeeper

CLUSTER_ID = "ty_BIV9ZR9mRqM4ivvtUyg"
TOPIC_ID = "S5Pqvb00RhWZfVrCEUNGhA"
LISTENER = "PLAINTEXT"


class FixedClock:
    def now_ms(self) -> int:
        return 1_700_000_000_000


def broker_znode(port: int) -> bytes:
    """Return the body of a registration, with a rack."""
    return encode(
        BrokerZnode(
            listener_security_protocol_map={LISTENER: "PLAINTEXT"},
            endpoints=[f"{LISTENER}://127.0.0.1:{port}"],
            rack="r1",
        )
    )


def state_znode(leader: int, leader_epoch: int, *isr: int) -> bytes:
    return encode(
        PartitionStateZnode(
            controller_epoch=1, leader=leader, leader_epoch=leader_epoch, isr=list(isr)
        )
    )


def server_with_brokers(**ports: int) -> FakeServer:
    """Give a cluster of these brokers, ``b1=9091``, each in a session that never ends."""
    server = FakeServer()
    for path in paths.MADE_BY_BROKERS:
        server.put(path, b"")
    server.put(paths.CLUSTER_ID, encode(ClusterIdZnode(id=CLUSTER_ID)))
    for name, port in ports.items():
        server.put(paths.broker_path(int(name[1:])), broker_znode(port), owner=1000)
    return server


def put_topic(server: FakeServer, name: str, *replicas: list[int]) -> None:
    """Have a topic that its first replicas lead in epoch 0."""
    partitions = {str(number): each for number, each in enumerate(replicas)}
    server.put(paths.topic_path(name), encode(TopicZnode(partitions=partitions, topic_id=TOPIC_ID)))
    server.put(f"{paths.topic_path(name)}/partitions", b"")
    for number, each in enumerate(replicas):
        server.put(f"{paths.topic_path(name)}/partitions/{number}", b"")
        server.put(paths.partition_state_path(name, number), state_znode(each[0], 0, *each))


def connected(server: FakeServer) -> FakeZookeeper:
    zookeeper = FakeZookeeper(server)
    zookeeper.start()
    return zookeeper


def acls_body(acls: Iterable[AclBinding]) -> bytes:
    """Return the body of a znode that has these ACLs."""
    znode = revised_acls(None, acls, ())
    assert znode is not None
    return encode(znode)
