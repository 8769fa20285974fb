"""Configurations of topics and groups, as a test put them in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker.core.compaction import CompactionRules
from protocol.configs.group import GroupConfig
from protocol.configs.group_parsing import group_config
from protocol.configs.parsing import TopicConfig, broker_config, topic_config
from protocol.errors import ErrorCode, KafkaError


def compaction_rules() -> CompactionRules:
    """Return those of a topic for which nothing is configured."""
    return CompactionRules.of(topic_config({}, broker_config({})))


class FakeTopicConfigs:
    """Knows what the test put in."""

    def __init__(self) -> None:
        self.known: dict[str, Mapping[str, str]] = {}
        self.ids: dict[str, bytes] = {}
        self.ensured: list[str] = []

    def config_of(self, topic: str) -> TopicConfig:
        return topic_config(self.known.get(topic, {}), broker_config({}))

    def identify(self, topic_ids: Mapping[str, bytes]) -> None:
        self.ids.update(topic_ids)

    async def ensure(self, topics: Iterable[str]) -> None:
        self.ensured.extend(topics)

    async def overrides(self, topic: str) -> Mapping[str, str]:
        if topic not in self.known:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no controller")
        return self.known[topic]


class FakeGroupConfigs:
    """Knows what the test put in."""

    def __init__(self) -> None:
        self.known: dict[str, Mapping[str, str]] = {}

    def groups(self) -> list[str]:
        return sorted(self.known)

    def overrides(self, group_id: str) -> Mapping[str, str]:
        return self.known.get(group_id, {})

    def config_of(self, group_id: str) -> GroupConfig:
        return group_config(self.overrides(group_id), broker_config({}))
