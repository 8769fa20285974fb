"""``zookeeper:`` of a cluster file: where the cluster of Apache Kafka keeps its decisions."""

from __future__ import annotations

import dataclasses

import msgspec

from protocol.cluster_file.document import ZookeeperDocument


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ZookeeperSpec:
    """Where brokers find the controller of an Apache Kafka cluster in ZooKeeper mode."""

    connect: str
    """``host:port`` by comma, then the chroot, as Kafka's ``zookeeper.connect``."""
    session_timeout_ms: int
    set_acl: bool = False
    """Kafka's ``zookeeper.set.acl``: whether only this user may change what brokers make there."""
    username: str | None = None
    password: str | None = None
    """The login by SASL, DIGEST-MD5; both None: no login."""


def zookeeper_spec(document: ZookeeperDocument) -> ZookeeperSpec | None:
    """Return what a checked file says; None: there is no ZooKeeper."""
    if document.connect is None:
        return None
    return ZookeeperSpec(**msgspec.structs.asdict(document))
