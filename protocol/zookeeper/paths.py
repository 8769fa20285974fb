"""Where Apache Kafka keeps what in ZooKeeper, below the chroot.

Source: ZkData.scala of Kafka 3.9.
"""

from __future__ import annotations

from typing import Final

from protocol.configs.types import ResourceType

BROKER_IDS: Final = "/brokers/ids"
BROKER_SEQUENCE: Final = "/brokers/seqid"
TOPICS: Final = "/brokers/topics"
CLUSTER_ID: Final = "/cluster/id"
CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"
CONFIG_CHANGES: Final = "/config/changes"
DELETE_TOPICS: Final = "/admin/delete_topics"
REASSIGN_PARTITIONS: Final = "/admin/reassign_partitions"
PREFERRED_REPLICA_ELECTION: Final = "/admin/preferred_replica_election"
FEATURE: Final = "/feature"
ISR_CHANGES: Final = "/isr_change_notification"
LOG_DIR_EVENTS: Final = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX: Final = f"{LOG_DIR_EVENTS}/log_dir_event_"
ISR_CHANGE_PREFIX: Final = f"{ISR_CHANGES}/isr_change_"
CONFIG_CHANGE_PREFIX: Final = f"{CONFIG_CHANGES}/config_change_"
"""ZooKeeper puts ten digits behind a prefix."""
ACL_CHANGES: Final = ("/kafka-acl-changes", "/kafka-acl-extended-changes")
"""Of literal patterns, and of others; made by the first broker with an authorizer."""
ACL_FOLDERS: Final = ("/kafka-acl", "/kafka-acl-extended/prefixed")
"""Of literal patterns, and of prefixes; below them types of resources, then names."""
TOKENS: Final = "/delegation_token/tokens"
TOKEN_CHANGES: Final = "/delegation_token/token_changes"
"""Made, as the one before, by the first broker with a secret key for tokens."""
TOKEN_CHANGE_PREFIX: Final = f"{TOKEN_CHANGES}/token_change_"
PRODUCER_ID_BLOCK: Final = "/latest_producer_id_block"

ALL_BROKERS_ENTITY: Final = "<default>"
"""Stands for all brokers in paths, where Kafka's requests have an empty name."""

MADE_BY_BROKERS: Final = (
    "/consumers",
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE,
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
    "/config/topics",
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
)
"""What every starting broker makes where it is missing, parents included, all empty."""

_ENTITY_TYPES: Final = {ResourceType.TOPIC: "topics", ResourceType.BROKER: "brokers"}


def split_connect(connect: str) -> tuple[str, str]:
    """Return the hosts of ``zookeeper.connect``, and the chroot: "" or ``/a/b``.

    kazoo is not told of a chroot, as it cannot make one of several parts.
    """
    hosts, _, chroot = connect.partition("/")
    return hosts, f"/{chroot}".rstrip("/")


def broker_path(broker_id: int) -> str:
    """Return where a broker is registered; ephemeral, its czxid is the broker epoch."""
    return f"{BROKER_IDS}/{broker_id}"


def topic_path(topic: str) -> str:
    """Return where a topic's assignment lies."""
    return f"{TOPICS}/{topic}"


def partition_state_path(topic: str, partition: int) -> str:
    """Return where leader and Isr lie; the version of that znode is the partition epoch."""
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def config_path(entity_path: str) -> str:
    """Return where the settings of an entity lie, named as a config change names it."""
    return f"/config/{entity_path}"


def entity_path(kind: ResourceType, name: str) -> str:
    """Return ``topics/foo``, ``brokers/1`` or ``brokers/<default>``.

    Raises:
        KeyError: ZooKeeper keeps no settings of this kind.
    """
    is_all_brokers = kind is ResourceType.BROKER and not name
    return f"{_ENTITY_TYPES[kind]}/{ALL_BROKERS_ENTITY if is_all_brokers else name}"
