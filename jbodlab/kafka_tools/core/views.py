"""What a cluster says of settings, in the words of Kafka's tools.

Values only; ``questions`` gets them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


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
