"""What ``kafka-configs`` writes, and which settings it leaves out.

Source: ConfigCommand.scala describeResourceConfig, alterResourceConfig.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jbodlab.kafka_tools.core.config_words import Changes, Entity
from jbodlab.kafka_tools.core.failures import ToolFailure, executed, java_class
from protocol.admin.configs import ConfigView
from protocol.configs.types import ConfigSource, ResourceType
from protocol.errors import ErrorCode, KafkaError


def heading(entity: Entity, name: str, *, is_all: bool) -> str:
    """Return the line above the settings of one topic, broker or group; "" is all brokers."""
    if not name:
        return f"Default configs for {entity.type} in the cluster are:"
    return f"{'All' if is_all else 'Dynamic'} configs for {entity.singular} {name} are:"


def shown(
    entries: Iterable[ConfigView], entity: Entity, name: str, *, is_all: bool
) -> list[ConfigView]:
    """Return the settings that are described: all, or those made for this entity itself."""
    source = _own_source(entity.kind, name)
    return [entry for entry in entries if is_all or source is None or entry.source is source]


def line_of(entry: ConfigView) -> str:
    """Return the line about one setting."""
    synonyms = ", ".join(
        f"{each.source.name}:{each.name}={_text(each.value)}" for each in entry.synonyms
    )
    sensitive = "true" if entry.is_sensitive else "false"
    return f"  {entry.name}={_text(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def entry_document(entry: ConfigView) -> dict[str, Any]:
    """Return one setting as part of a JSON document."""
    return {
        "name": entry.name,
        "value": entry.value,
        "source": entry.source.name,
        "sensitive": entry.is_sensitive,
        "synonyms": [
            {"name": each.name, "value": each.value, "source": each.source.name}
            for each in entry.synonyms
        ],
    }


def check_changes(changes: Changes, entity: Entity, known: Sequence[str]) -> None:
    """Check that what is deleted is set and not also added, and that loggers exist.

    Args:
        changes: what is wanted.
        entity: of what.
        known: names of the settings made for this entity; of loggers, of all.

    Raises:
        ToolFailure: it is not so.
    """
    is_logger = entity.kind is ResourceType.BROKER_LOGGER
    named = [*changes.deleted, *(changes.added if is_logger else ())]
    unknown = [name for name in named if name not in known]
    if unknown:
        what = "broker logger(s)" if is_logger else "config(s)"
        raise ToolFailure(
            java_class(ErrorCode.INVALID_CONFIG), f"Invalid {what}: {','.join(unknown)}"
        )
    if any(name in changes.added for name in changes.deleted):
        raise executed(KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys"))


def completed(entity: Entity) -> str:
    """Return what is said when settings were changed."""
    if not entity.name:
        return f"Completed updating default config for {entity.type} in the cluster."
    return f"Completed updating config for {entity.singular} {entity.name}."


def _own_source(kind: ResourceType, name: str) -> ConfigSource | None:
    if kind is ResourceType.TOPIC:
        return ConfigSource.DYNAMIC_TOPIC_CONFIG
    if kind is ResourceType.GROUP:
        return ConfigSource.DYNAMIC_GROUP_CONFIG
    if kind is ResourceType.BROKER_LOGGER:
        return None
    return (
        ConfigSource.DYNAMIC_BROKER_CONFIG if name else ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    )


def _text(value: str | None) -> str:
    return "null" if value is None else value
