"""The bodies of znodes, as Apache Kafka 3.9 writes and reads them.

A struct per body. Its fields stand in the order in which Kafka writes them, so that ``encode``
gives Kafka's bytes; what older releases left out has a default.
Source: ZkData.scala, ZkVersion, FeatureZNode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

LOG_DIR_FAILURE: Final = 1
"""The one event that is told of log dirs."""


class MalformedZnode(ValueError):  # noqa: N818 -- says what it met
    """A znode holds what no release of Kafka writes there."""


class Znode(Struct, frozen=True):
    """What all bodies are."""


class ClusterIdZnode(Znode, kw_only=True, frozen=True):
    """``/cluster/id``."""

    version: str = "1"
    id: str


class BrokerZnode(Znode, kw_only=True, frozen=True):
    """``/brokers/ids/N``, version 5."""

    features: dict[str, dict[str, int]] = {}
    listener_security_protocol_map: dict[str, str] = {}
    endpoints: Sequence[str]
    """``LISTENER://host:port``."""
    rack: str | UnsetType | None = UNSET
    jmx_port: int = -1
    port: int = -1
    """Of the first PLAINTEXT endpoint, as ``host``."""
    host: str | None = None
    version: int = 5
    timestamp: str = "-1"
    """Milliseconds."""


class ControllerZnode(Znode, kw_only=True, frozen=True):
    """``/controller``; version 1 has no epoch of KRaft."""

    version: int = 2
    brokerid: int
    timestamp: str
    """Milliseconds."""
    kraft_controller_epoch: int | UnsetType = msgspec.field(
        name="kraftControllerEpoch", default=UNSET
    )


class TopicZnode(Znode, kw_only=True, frozen=True):
    """``/brokers/topics/T``, version 3; replicas by partition."""

    partitions: dict[str, list[int]]
    topic_id: str | UnsetType = UNSET
    adding_replicas: dict[str, list[int]] = {}
    removing_replicas: dict[str, list[int]] = {}
    version: int = 3


class PartitionStateZnode(Znode, kw_only=True, frozen=True):
    """``/brokers/topics/T/partitions/P/state``."""

    controller_epoch: int
    leader: int
    """-1 without one."""
    version: int = 1
    leader_epoch: int
    isr: list[int]
    leader_recovery_state: int | UnsetType = UNSET
    """1 while the leader recovers from an unclean election, else left out."""


class ConfigZnode(Znode, kw_only=True, frozen=True):
    """``/config/<entity>``."""

    version: int = 1
    config: dict[str, str]


class ConfigChangeZnode(Znode, kw_only=True, frozen=True):
    """``/config/changes/config_change_<seq>``, version 2."""

    version: int = 2
    entity_path: str


class LogDirEventZnode(Znode, kw_only=True, frozen=True):
    """``/log_dir_event_notification/log_dir_event_<seq>``."""

    version: int = 1
    broker: int
    event: int = LOG_DIR_FAILURE


class AclEntry(Struct, rename="camel", frozen=True):
    """One ACL of a resource; the words are Kafka's, such as ``Allow`` and ``DescribeConfigs``."""

    principal: str
    permission_type: str
    operation: str
    host: str


class AclsZnode(Znode, kw_only=True, frozen=True):
    """``/kafka-acl/Topic/orders``, ``/kafka-acl-extended/prefixed/Group/app-``."""

    version: int = 1
    acls: list[AclEntry]


class AclChangeZnode(Znode, rename="camel", kw_only=True, frozen=True):
    """``/kafka-acl-extended-changes/acl_changes_<seq>``."""

    version: int = 1
    resource_type: str
    name: str
    pattern_type: str


class PartitionName(Struct, frozen=True):
    """One partition in a list of them."""

    topic: str
    partition: int


class PartitionsZnode(Znode, kw_only=True, frozen=True):
    """``/isr_change_notification/isr_change_<seq>`` and ``/admin/preferred_replica_election``."""

    version: int = 1
    partitions: list[PartitionName]


class NewReplicas(Struct, frozen=True):
    """Where one partition is to go."""

    topic: str
    partition: int
    replicas: list[int]


class ReassignmentZnode(Znode, kw_only=True, frozen=True):
    """``/admin/reassign_partitions``."""

    version: int = 1
    partitions: list[NewReplicas]


class ProducerIdBlockZnode(Znode, kw_only=True, frozen=True):
    """``/latest_producer_id_block``; both ends are inside, and text."""

    version: int = 1
    broker: int
    block_start: str
    block_end: str


class FeatureZnode(Znode, kw_only=True, frozen=True):
    """``/feature``, version 2; status 1 is enabled."""

    features: dict[str, dict[str, int]] = {}
    version: int = 2
    status: int = 1


ZnodeT = TypeVar("ZnodeT", bound=Znode)


def encode(znode: Znode) -> bytes:
    """Return the body."""
    return msgspec.json.encode(znode)


def decode(data: bytes | None, kind: type[ZnodeT], path: str) -> ZnodeT:
    """Return what ``path`` holds; keys that nobody knows are skipped, as Kafka does.

    Raises:
        MalformedZnode: it is no such body.
    """
    try:
        return msgspec.json.decode(data or b"", type=kind)
    except msgspec.DecodeError as error:
        text = repr((data or b"")[:80])
        raise MalformedZnode(f"{path} holds {text}, which is no {kind.__name__}: {error}") from None


def endpoint_of(broker: BrokerZnode, listener: str) -> tuple[str, int]:
    """Return host and port of one listener of a broker.

    Raises:
        KeyError: the broker has no such listener.
    """
    for endpoint in broker.endpoints:
        name, _, address = endpoint.partition("://")
        if name == listener:
            host, _, port = address.rpartition(":")
            return host.strip("[]"), int(port)
    raise KeyError(listener)
