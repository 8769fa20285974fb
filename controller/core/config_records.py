"""The decided changes of settings, as in ``controller.core.records``."""

from __future__ import annotations

from dataclasses import dataclass

from controller.core.state import ClusterState
from protocol.configs.types import ResourceType, set_texts


@dataclass(frozen=True, slots=True)
class TopicConfigsChanged:
    """Some configs of a topic were set or unset."""

    name: str
    changes: dict[str, str | None]
    """None unsets."""

    def apply(self, state: ClusterState) -> None:
        """Replace the topic's configs."""
        topic = state.topics[self.name]
        topic.configs = _changed(topic.configs, self.changes)


@dataclass(frozen=True, slots=True)
class BrokerConfigsChanged:
    """Some dynamic configs of a broker, or of all, were set or unset."""

    name: str
    """The broker id as text, or ``ALL_BROKERS``."""
    changes: dict[str, str | None]
    """None unsets."""

    def apply(self, state: ClusterState) -> None:
        """Replace the configs of that name."""
        after = _changed(state.dynamic_configs.get(self.name, {}), self.changes)
        if after:
            state.dynamic_configs[self.name] = after
        else:
            state.dynamic_configs.pop(self.name, None)


@dataclass(frozen=True, slots=True)
class GroupConfigsChanged:
    """Some configs of a group were set or unset; the group need not be there."""

    name: str
    changes: dict[str, str | None]
    """None unsets."""

    def apply(self, state: ClusterState) -> None:
        """Replace the group's configs."""
        after = _changed(state.group_configs.get(self.name, {}), self.changes)
        if after:
            state.group_configs[self.name] = after
        else:
            state.group_configs.pop(self.name, None)


@dataclass(frozen=True, slots=True)
class ConfigsReplaced:
    """All configs of a topic, or of brokers, are what was read where others write them."""

    kind: ResourceType
    name: str
    configs: dict[str, str]

    def apply(self, state: ClusterState) -> None:
        """Replace them."""
        if self.kind is ResourceType.TOPIC:
            state.topics[self.name].configs = self.configs
        elif self.configs:
            state.dynamic_configs[self.name] = self.configs
        else:
            state.dynamic_configs.pop(self.name, None)


def _changed(before: dict[str, str], changes: dict[str, str | None]) -> dict[str, str]:
    after: dict[str, str | None] = {**before, **changes}
    return set_texts(after)
