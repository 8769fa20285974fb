"""From texts to typed configurations, and from these to what DescribeConfigs shows.

No key is named here (``protocol.configs.topic``, ``protocol.configs.broker``), nothing is stored.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import Any, Final, NamedTuple

from protocol.configs.broker import BROKER_KEYS, BrokerConfig
from protocol.configs.listener_keys import (
    column_of,
    columns_of_listeners,
    key_of_listener,
    of_all_listeners,
)
from protocol.configs.sasl_jaas import why_unknown
from protocol.configs.topic import TOPIC_KEYS, TopicConfig
from protocol.configs.topic_defaults import TopicDefaults
from protocol.configs.types import (
    HIDDEN,
    ConfigKey,
    ConfigSource,
    ConfigType,
    ConfigValue,
    InvalidValueError,
    RefusedValueError,
    Synonym,
    Update,
    checked_value,
    field_name,
    format_value,
    parse,
    parse_all,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.releases import is_since


def broker_config(overrides: Mapping[str, str | None]) -> BrokerConfig:
    """Build a broker's configuration from what is set, by Kafka's names.

    What is set for single listeners has no part in it.

    Raises:
        KafkaError: INVALID_CONFIG, for an unknown name or a bad value.
    """
    values = parse_all(BROKER_KEYS, of_all_listeners(overrides), scope="broker")
    return BrokerConfig(**by_field(values))


def topic_config(overrides: Mapping[str, str | None], broker: BrokerConfig) -> TopicConfig:
    """Build a topic's configuration: what is set, then broker synonyms, then Kafka's defaults.

    Raises:
        KafkaError: INVALID_CONFIG, for an unknown name or a bad value.

    Source: KafkaConfig.extractLogConfigMap, ServerTopicConfigSynonyms.
    """
    values = parse_all(TOPIC_KEYS, overrides, scope="topic")
    for name, column in TOPIC_KEYS.items():
        if name not in values:
            values[name] = value_of_broker(column, broker)
    return TopicConfig(**by_field(values))


def check_topic_configs(overrides: Mapping[str, str | None], broker: BrokerConfig) -> None:
    """Check what a topic is to be set to: names, values, and values against each other.

    Raises:
        KafkaError: INVALID_CONFIG; as InvalidValueError where Kafka names the resource first.

    Source: LogConfig.validate.
    """
    config = topic_config(overrides, broker)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"conflict topic config setting min.compaction.lag.ms ({config.min_compaction_lag_ms})"
            f" > max.compaction.lag.ms ({config.max_compaction_lag_ms})",
        )
    if config.remote_log_copy_disable or config.remote_log_delete_on_disable:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "It is invalid to set `remote.log.delete.on.disable` or `remote.log.copy.disable` "
            "under Zookeeper's mode.",
        )
    if config.remote_storage_enable:
        raise InvalidValueError(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )


@dataclass(frozen=True, slots=True)
class ConfigMistake:
    """One thing wrong with a set of texts."""

    name: str
    text: str


def config_mistakes(
    columns: Mapping[str, ConfigKey], overrides: Mapping[str, str | None]
) -> list[ConfigMistake]:
    """List everything wrong with ``overrides``, in their order.

    An unknown name comes with the closest known one.
    """
    mistakes: list[ConfigMistake] = []
    for name, text in overrides.items():
        if name not in columns:
            mistakes.append(ConfigMistake(name, f"unknown configuration{_hint(name, columns)}"))
            continue
        try:
            checked_value(columns[name], text)
        except RefusedValueError as error:
            shown = HIDDEN if columns[name].sensitive else repr(text)
            mistakes.append(ConfigMistake(name, f"{error}, is {shown}"))
    return mistakes


def _hint(name: str, columns: Mapping[str, ConfigKey]) -> str:
    why = why_unknown(name)
    if why is not None:
        return f": {why}"
    close = difflib.get_close_matches(name, columns, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


class ConfigSynonym(NamedTuple):
    """One place an effective value could have come from."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConfig:
    """One entry of a DescribeConfigs answer."""

    name: str
    value: str | None
    """None also when the key is sensitive."""
    source: ConfigSource
    type: ConfigType
    is_read_only: bool
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    """Highest priority first, as they were set: hours stay hours. The first one is in force.

    Those of a sensitive key have no values either.
    """
    documentation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOverrides:
    """What is set for one broker, by where it was set."""

    static: Mapping[str, str | None]
    """From cluster.yaml."""
    dynamic: Mapping[str, str | None]
    dynamic_default: Mapping[str, str | None]

    def layers(self) -> tuple[tuple[ConfigSource, Mapping[str, str | None]], ...]:
        """Return the layers, highest priority first."""
        return (
            (ConfigSource.DYNAMIC_BROKER_CONFIG, self.dynamic),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, self.dynamic_default),
            (ConfigSource.STATIC_BROKER_CONFIG, self.static),
        )


_STAND_INS: Final = {
    synonym.name: tuple(each.name for each in column.synonyms)
    for column in TOPIC_KEYS.values()
    if len(column.synonyms) > 1
    for synonym in column.synonyms
}
"""Broker keys for one thing in several units. Source: DynamicBrokerConfig.brokerConfigSynonyms."""

NO_OVERRIDES: Final = BrokerOverrides(static={}, dynamic={}, dynamic_default={})


def describe_topic_configs(
    overrides: Mapping[str, str | None], broker: BrokerOverrides
) -> list[DescribedConfig]:
    """Describe every key of a topic, defaults included.

    Source: ConfigHelper.createTopicConfigEntry.
    """
    return [_describe_topic_key(column, overrides, broker) for column in TOPIC_KEYS.values()]


_BEFORE_4_0: Final[dict[str, ConfigValue]] = {
    "group.coordinator.rebalance.protocols": ("classic",),
}
"""Defaults of releases before 4.0 that are others. Source: GroupCoordinatorConfig.java (3.9)."""


def describe_broker_configs(
    broker: BrokerOverrides, release: str | None = None
) -> list[DescribedConfig]:
    """Describe every key of a broker; keys Kafka only knows as dynamic appear when set.

    Defaults are those of ``release``, such as "3.9"; None stands for the newest.

    Source: ConfigHelper.createBrokerConfigEntry.
    """
    return [
        described_config(column, broker_synonyms(column.name, broker, release))
        for column in BROKER_KEYS.values()
        if not column.internal and not (column.dynamic_only and not _is_set(column.name, broker))
    ] + [
        _describe_listener_key(column, broker)
        for column in columns_of_listeners(
            dict.fromkeys(name for _, layer in broker.layers() for name in layer)
        ).values()
    ]


def _describe_listener_key(column: ConfigKey, broker: BrokerOverrides) -> DescribedConfig:
    """Describe a key of one listener, behind which is that of all of them."""
    found = key_of_listener(column.name)
    assert found is not None
    own = [
        ConfigSynonym(column.name, layer[column.name], source)
        for source, layer in broker.layers()
        if column.name in layer
    ]
    return described_config(column, [*own, *broker_synonyms(found[1], broker)])


def describe_dynamic_configs(
    texts: Mapping[str, str | None], source: ConfigSource
) -> list[DescribedConfig]:
    """Describe only what is set dynamically: of one broker, or for all of them.

    Source: ConfigHelper.describeConfigs, for the broker named "".
    """
    return [
        described_config(column, [ConfigSynonym(name, text, source)])
        for name, text in texts.items()
        if (column := column_of(name)) is not None
    ]


def _describe_topic_key(
    column: ConfigKey, overrides: Mapping[str, str | None], broker: BrokerOverrides
) -> DescribedConfig:
    synonyms: list[ConfigSynonym] = []
    if column.name in overrides:
        text = _as_understood(column, overrides[column.name])
        synonyms.append(ConfigSynonym(column.name, text, ConfigSource.DYNAMIC_TOPIC_CONFIG))
    if column.synonyms:
        first = column.synonyms[0].name
        of_broker = broker_synonyms(first, broker)
        if not of_broker:
            # Differs from Kafka, which forgets hours and minutes where milliseconds are unset.
            every = _places_of(first, broker)
            of_broker = [
                entry for entry in every if entry.source is not ConfigSource.DEFAULT_CONFIG
            ]
        synonyms += of_broker
    described = described_config(column, synonyms)
    used = _used_synonym(column, synonyms)
    if used is None or used.is_same or described.value is None:
        return described
    return replace(described, value=format_value(used.value_of(int(described.value))))


def _as_understood(column: ConfigKey, text: str | None) -> str | None:
    """Return what Kafka tells for a topic's own text: that of its value, as 1.0 for 1."""
    try:
        return format_value(parse(column, text))
    except InvalidValueError:  # Some older release took it.
        return text


def described_config(column: ConfigKey, synonyms: Sequence[ConfigSynonym]) -> DescribedConfig:
    """Describe one key; ``synonyms`` are where it is set, the strongest first.

    As in Kafka a key of one listener counts as read-only, whether it can be changed or not.
    """
    is_of_listener = key_of_listener(column.name) is not None
    is_read_only = BROKER_KEYS.get(column.name) is column and column.update is Update.READ_ONLY
    value, source = format_value(column.default), ConfigSource.DEFAULT_CONFIG
    if synonyms:
        value, source = synonyms[0].value, synonyms[0].source
    return DescribedConfig(
        name=column.name,
        value=None if column.sensitive else value,
        source=source,
        type=column.type,
        is_read_only=is_read_only or is_of_listener,
        is_sensitive=column.sensitive,
        synonyms=tuple(
            each._replace(value=None) if column.sensitive else each for each in synonyms
        ),
        documentation=column.doc,
    )


def _used_synonym(column: ConfigKey, synonyms: Sequence[ConfigSynonym]) -> Synonym | None:
    """Return the broker's key whose value is in force; None: it is the topic's own."""
    by_name = {synonym.name: synonym for synonym in column.synonyms}
    return by_name.get(synonyms[0].name) if synonyms else None


def broker_synonyms(
    name: str, broker: BrokerOverrides, release: str | None = None
) -> list[ConfigSynonym]:
    """Return where a broker's key is set, and behind it what would be in force without it.

    Source: ConfigHelper.configSynonyms.
    """
    return list(dropwhile(lambda entry: entry.name != name, _places_of(name, broker, release)))


def _places_of(
    name: str, broker: BrokerOverrides, release: str | None = None
) -> Iterator[ConfigSynonym]:
    """Give where a key and those that stand in for it are set, or have defaults."""
    names = _STAND_INS.get(name, (name,))
    for source, layer in broker.layers():
        for each in names:
            if each in layer:
                yield ConfigSynonym(each, layer[each], source)
    for each in names:
        column = BROKER_KEYS[each]
        is_old = each in _BEFORE_4_0 and not is_since(release, "4.0")
        default = _BEFORE_4_0[each] if is_old else column.default
        # A default that is no value is no synonym; nor is one that Kafka does not declare.
        if default is not None and not column.dynamic_only:
            yield ConfigSynonym(each, format_value(default), ConfigSource.DEFAULT_CONFIG)


def _is_set(name: str, broker: BrokerOverrides) -> bool:
    return any(name in layer for _, layer in broker.layers())


def value_of_broker(column: ConfigKey, broker: TopicDefaults) -> ConfigValue:
    """Return what a key has that is not set: of its first synonym with a value, or its default."""
    for synonym in column.synonyms:
        value = getattr(broker, field_name(synonym.name))
        if value is not None:
            return value if synonym.is_same else synonym.value_of(value)
    return column.default


def by_field(values: Mapping[str, ConfigValue]) -> dict[str, Any]:
    """Return values by the names of dataclass fields."""
    return {field_name(name): value for name, value in values.items()}
