"""From texts to a group's typed configuration, and from these to what DescribeConfigs shows.

No key is named here beyond those that are held against each other; nothing is stored.
Source: GroupConfig.java, GroupConfigManager.java (4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from protocol.configs.group import GROUP_KEYS, GroupConfig
from protocol.configs.group_defaults import GroupDefaults
from protocol.configs.parsing import (
    BrokerOverrides,
    ConfigSynonym,
    DescribedConfig,
    broker_synonyms,
    by_field,
    described_config,
    value_of_broker,
)
from protocol.configs.types import (
    ConfigKey,
    ConfigSource,
    ConfigValue,
    field_name,
    format_value,
    parse_all,
)
from protocol.errors import ErrorCode, KafkaError

_GROUP_TYPES: Final = ("consumer", "share", "streams")
_STANDBYS: Final = "streams.num.standby.replicas"


class _Bounds(NamedTuple):
    """What a broker lets groups set one key to; None: it does not say."""

    smallest: int | None
    largest: int | None


def group_config(overrides: Mapping[str, str], broker: GroupDefaults) -> GroupConfig:
    """Build a group's configuration: what is set, within this broker's bounds, then its defaults.

    Raises:
        KafkaError: INVALID_CONFIG, for an unknown name or a bad value.

    Source: GroupConfig.evaluate: bounds may have changed since the value was taken.
    """
    values = parse_all(GROUP_KEYS, overrides, scope="group")
    for name, value in values.items():
        values[name] = _within(_bounds(name, broker), value)
    return GroupConfig(**by_field(_completed(values, broker)))


def check_group_configs(overrides: Mapping[str, str], broker: GroupDefaults) -> None:
    """Check what a group is to be set to: names, values, bounds, values against each other.

    Raises:
        KafkaError: INVALID_CONFIG.

    Source: GroupConfig.validate.
    """
    values = parse_all(GROUP_KEYS, overrides, scope="group")
    for name in GROUP_KEYS:
        if name in values:
            _check_bounds(name, values[name], _bounds(name, broker))
    effective = GroupConfig(**by_field(_completed(values, broker)))
    for kind in _GROUP_TYPES:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if getattr(effective, field_name(session)) <= getattr(effective, field_name(heartbeat)):
            raise _invalid(f"{session} must be greater than {heartbeat}")


def describe_group_configs(
    overrides: Mapping[str, str], broker: BrokerOverrides
) -> list[DescribedConfig]:
    """Describe every key of a group, defaults included.

    Source: ConfigHelper.createGroupConfigEntry.
    """
    return [
        described_config(column, list(_places_of(column, overrides, broker)))
        for column in GROUP_KEYS.values()
    ]


def _places_of(
    column: ConfigKey, overrides: Mapping[str, str], broker: BrokerOverrides
) -> Iterator[ConfigSynonym]:
    if column.name in overrides:
        source = ConfigSource.DYNAMIC_GROUP_CONFIG
        yield ConfigSynonym(column.name, overrides[column.name], source)
    for synonym in column.synonyms:
        yield from broker_synonyms(synonym.name, broker)
    if not column.synonyms:
        source = ConfigSource.DEFAULT_CONFIG
        yield ConfigSynonym(column.name, format_value(column.default), source)


def _completed(values: Mapping[str, ConfigValue], broker: GroupDefaults) -> dict[str, ConfigValue]:
    return {
        name: values[name] if name in values else value_of_broker(column, broker)
        for name, column in GROUP_KEYS.items()
    }


def _bounds(name: str, broker: GroupDefaults) -> _Bounds:
    return _Bounds(*(getattr(broker, field_name(key), None) for key in _bound_names(name)))


def _bound_names(name: str) -> tuple[str, str]:
    """Return the broker's keys that bound a group's key; they need not exist."""
    if name == _STANDBYS:
        return ("", "group.streams.max.standby.replicas")
    kind, _, rest = name.partition(".")
    return (f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}")


def _check_bounds(name: str, value: ConfigValue, bounds: _Bounds) -> None:
    smallest, largest = _bound_names(name)
    if bounds.smallest is not None and _number(value) < bounds.smallest:
        raise _invalid(f"{name} must be greater than or equal to {smallest}")
    if bounds.largest is not None and _number(value) > bounds.largest:
        raise _invalid(f"{name} must be less than or equal to {largest}")


def _within(bounds: _Bounds, value: ConfigValue) -> ConfigValue:
    if bounds.smallest is not None:
        value = max(_number(value), bounds.smallest)
    if bounds.largest is not None:
        value = min(_number(value), bounds.largest)
    return value


def _number(value: ConfigValue) -> int:
    assert isinstance(value, int), "bounds are of numbers"
    return value


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, message)
