"""What a cluster says of itself, in the words of Kafka's tools: topics, reassignments, settings.

Values only; ``questions`` gets them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition


class ConfigSource(IntEnum):
    """Where a value comes from. Source: DescribeConfigsResponse.ConfigSource."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDescription:
    """One partition."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    """The preferred leader first; while a reassignment goes on also those that come and go."""
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None = None
    """Eligible leader replicas; None when the cluster does not tell."""
    last_known_elr: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription:
    """One topic; partitions by number."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]

    def partition(self, number: int) -> PartitionDescription | None:
        """Return one partition; None when there is no such number."""
        return next((each for each in self.partitions if each.partition == number), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """One reassignment under way."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> list[int]:
        """The replicas when it is done."""
        return [broker for broker in self.replicas if broker not in self.removing]


Reassignments = dict[TopicPartition, Reassignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonym:
    """One place that has a value for a setting."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    """One setting."""

    name: str
    value: str | None
    """None for a sensitive one."""
    source: ConfigSource
    is_sensitive: bool
    synonyms: tuple[Synonym, ...]
    """The strongest first; empty when they were not asked for."""

    @property
    def is_default(self) -> bool:
        """Whether nobody set it."""
        return self.source is ConfigSource.DEFAULT_CONFIG


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaDescription:
    """One replica in a log dir."""

    partition: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool
    """Whether it is about to take the place of the one in another log dir."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirDescription:
    """One log dir of a broker."""

    path: str
    error: ErrorCode
    """NONE when the broker serves from it."""
    replicas: tuple[ReplicaDescription, ...]
