"""What handlers ask about configurations: of topics, groups and this broker, and news of them.

Doors without code; ``broker.lifecycle`` has what is behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from protocol.configs.parsing import BrokerConfig, BrokerOverrides, TopicConfig
from protocol.messages.control import (
    UpdateMetadataRequest,
)


class TopicConfigSource(Protocol):
    """The configurations of topics, as the controller keeps them."""

    def config_of(self, topic: str) -> TopicConfig:
        """Return the effective config as far as it is known; the broker's defaults otherwise."""
        ...

    def identify(self, topic_ids: Mapping[str, bytes]) -> None:
        """Hear the ids of topics, all zero where unknown; forget what is known of older ones."""
        ...

    async def ensure(self, topics: Iterable[str]) -> None:
        """Fetch those that are not known yet; gives up after a bounded time and leaves defaults."""
        ...

    async def overrides(self, topic: str) -> Mapping[str, str]:
        """Return the topic's own settings by Kafka's names.

        Raises:
            KafkaError: the controller's answer, or REQUEST_TIMED_OUT.
        """
        ...


class BrokerConfigSource(Protocol):
    """The configuration of this broker."""

    @property
    def config(self) -> BrokerConfig:
        """The values in force."""
        ...

    @property
    def overrides(self) -> BrokerOverrides:
        """What is set, by where it was set."""
        ...


class GroupConfigSource(Protocol):
    """The configurations of groups, as the controller keeps them."""

    def groups(self) -> list[str]:
        """Return the groups that have settings of their own."""
        ...

    def overrides(self, group_id: str) -> Mapping[str, str]:
        """Return a group's own settings by Kafka's names."""
        ...


class ConfigNewsPort(Protocol):
    """Who is told that configurations changed."""

    async def told(self, request: UpdateMetadataRequest) -> None:
        """Look for news in an accepted UpdateMetadata and wait, bounded, until they are known."""
        ...
