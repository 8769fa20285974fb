"""What happens to the controller: the events that ``Machine.step`` takes. They decide nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from controller.core.state import Endpoint
from protocol.acls.model import AclBinding
from protocol.configs.types import ResourceType


@dataclass(frozen=True, slots=True)
class Started:
    """The journal is replayed; a new controller epoch begins."""


@dataclass(frozen=True, slots=True)
class RequestArrived:
    """A broker or a client asks."""

    token: int
    """Names the one who waits; the answer's effect carries it."""
    request: Any
    """One of Kafka's request classes; the machine looks its handler up by class."""
    version: int


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """A broker answered a request of ours."""

    broker_id: int
    broker_epoch: int
    """Of the channel: answers of an older incarnation are ignored."""
    sequence: int
    request: Any
    response: Any


@dataclass(frozen=True, slots=True)
class Tick:
    """The time that ``Machine.next_deadline_ms`` named has come."""

    due_ms: int
    """When it should have come: a late one tells that this process was stopped for a while."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A broker that is registered in ZooKeeper."""

    broker_id: int
    broker_epoch: int
    """The czxid of its znode."""
    endpoints: tuple[Endpoint, ...]
    """The first one is the inter-broker listener."""
    rack: str | None


@dataclass(frozen=True, slots=True)
class RegistrationsRead:
    """These are all the brokers that are alive."""

    registrations: tuple[Registration, ...]


@dataclass(frozen=True, slots=True)
class LogDirEventsRead:
    """Brokers told that a log dir of theirs failed."""

    broker_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicRead:
    """A topic as it stands in ZooKeeper."""

    name: str
    topic_id: bytes
    replicas: tuple[tuple[int, ...], ...]
    """Of each partition, the preferred leader first."""
    configs: dict[str, str]


@dataclass(frozen=True, slots=True)
class TopicsRead:
    """These topics are new there, whoever has made them."""

    topics: tuple[TopicRead, ...]


@dataclass(frozen=True, slots=True)
class ConfigsRead:
    """What is set for a topic or for brokers, read because somebody changed it."""

    kind: ResourceType
    name: str
    """As ``ClusterState`` names it."""
    configs: dict[str, str]
    own_up_to: int
    """The controller's own decisions up to this one were in ZooKeeper before it was read."""


@dataclass(frozen=True, slots=True)
class ClientConfigsRead:
    """What is set for a user, a client id or an address, read because somebody changed it."""

    path: str
    """As ``protocol.zookeeper.client_entities`` names it."""
    configs: dict[str, str]
    own_up_to: int
    """The controller's own decisions up to this one were in ZooKeeper before it was read."""


@dataclass(frozen=True, slots=True)
class AclsRead:
    """These are all ACLs, read because somebody changed some."""

    acls: tuple[AclBinding, ...]
    own_up_to: int
    """The controller's own decisions up to this one were in ZooKeeper before it was read."""


FromStore: TypeAlias = (
    RegistrationsRead | LogDirEventsRead | TopicsRead | ConfigsRead | ClientConfigsRead | AclsRead
)
"""What is seen in a store that others write to."""
Event: TypeAlias = Started | RequestArrived | RequestAnswered | Tick | FromStore
