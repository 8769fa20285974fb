"""What a Kafka configuration key is: its type, bounds, default and who may change it.

No keys are named here.

A configuration is a frozen dataclass whose fields are the keys, dots written as underscores::

    segment_bytes: int = key(ConfigType.INT, 1 << 30, "Size at which ...", at_least(14))
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from enum import Enum, IntEnum
from typing import Any, Final, NamedTuple, TypeAlias

from protocol.errors import ErrorCode, KafkaError

ConfigValue: TypeAlias = bool | int | float | str | tuple[str, ...] | None
Check: TypeAlias = Callable[[Any], str | None]
"""Takes a parsed value, returns what is wrong with it in Kafka's words, or None."""

LONG_MAX: Final = (1 << 63) - 1
INT_MAX: Final = (1 << 31) - 1
HIDDEN: Final = "[hidden]"
"""Stands for a password wherever values are told. Source: Password.java."""
_DOUBLE: Final = re.compile(
    r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?)"
)
ALL_LOG_DIRS: Final = "*"
"""As the only entry of ``cordoned.log.dirs``: every log dir."""


class RefusedValueError(ValueError):
    """A value that its key does not take; ``shown`` is the part of it that Kafka names."""

    def __init__(self, reason: str, shown: str) -> None:
        super().__init__(reason)
        self.shown = shown


class UnmetRequirementError(RefusedValueError):
    """A value of the right type that a broker's configuration as a whole does not take.

    Kafka names neither the key nor the value before the text. Source: KafkaConfig.validateValues.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason, "")


class InvalidValueError(KafkaError):
    """INVALID_CONFIG for a value, not for a name: Kafka names the resource before the text."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_CONFIG, message)


class ConfigType(IntEnum):
    """Kafka's config types with their numbers on the wire. Source: ConfigEntry.ConfigType."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


ALL_BROKERS: Final = ""
"""Instead of a broker id: what is set for all brokers, where they have nothing of their own."""


class ResourceType(IntEnum):
    """What a setting belongs to. Source: ConfigResource.Type."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class AlterOperation(IntEnum):
    """What is done to a setting. Source: AlterConfigOp.OpType."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigSource(IntEnum):
    """Where an effective value comes from, as on the wire. Source: ConfigEntry.ConfigSource."""

    @classmethod
    def _missing_(cls, value: object) -> ConfigSource:
        """Take a number that nobody knows yet for UNKNOWN."""
        if isinstance(value, int):
            return cls.UNKNOWN
        raise ValueError(f"{value!r} is no source of a setting")

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class Update(Enum):
    """Who may change a broker's key while it runs."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Synonym(NamedTuple):
    """A broker key that stands in for an unset key."""

    name: str
    factor: int = 1
    """What its value is multiplied by: hours to milliseconds."""
    is_endless_below_zero: bool = False
    """Any negative value stands for -1. Source: KafkaConfig.logRetentionTimeMillis."""

    @property
    def is_same(self) -> bool:
        """Its value is the value of the key that it stands in for; true of all but numbers."""
        return self.factor == 1 and not self.is_endless_below_zero

    def value_of(self, value: int) -> int:
        """Return what a number of this key is for the key that it stands in for."""
        return -1 if self.is_endless_below_zero and value < 0 else value * self.factor


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConfigKey:
    """One key of one scope."""

    name: str
    type: ConfigType
    default: ConfigValue
    doc: str
    checks: tuple[Check, ...] = ()
    update: Update = Update.READ_ONLY
    """Of broker keys only: a topic's keys can always be changed."""
    synonyms: tuple[Synonym, ...] = ()
    """Keys of the broker asked, in this order, when this one is unset."""
    sensitive: bool = False
    nullable: bool = False
    dynamic_only: bool = False
    """Kafka ignores it in a broker's file; we accept it there as the start value."""
    internal: bool = False
    """Never described."""


def key(  # noqa: PLR0913 - one argument per column of the table
    type: ConfigType,  # noqa: A002 - the column is called so in Kafka
    default: ConfigValue,
    doc: str,
    *checks: Check,
    update: Update = Update.READ_ONLY,
    synonyms: tuple[Synonym, ...] = (),
    nullable: bool = False,
    dynamic_only: bool = False,
    internal: bool = False,
    name: str = "",
) -> Any:
    """Declare a dataclass field as a configuration key; its name follows from the field's.

    Unless it has a hyphen: then it is given.
    """
    column = ConfigKey(
        name=name,
        type=type,
        default=default,
        doc=doc,
        checks=checks,
        update=update,
        synonyms=synonyms,
        nullable=nullable,
        dynamic_only=dynamic_only,
        internal=internal,
        sensitive=type is ConfigType.PASSWORD,
    )
    return dataclasses.field(default=default, metadata={"key": column})


def keys_of(config: type) -> dict[str, ConfigKey]:
    """Return the keys of a configuration dataclass by Kafka's name, in declared order."""
    columns: dict[str, ConfigKey] = {
        field.metadata["key"].name or field.name.replace("_", "."): field.metadata["key"]
        for field in dataclasses.fields(config)
    }
    return {name: dataclasses.replace(column, name=name) for name, column in columns.items()}


def field_name(key_name: str) -> str:
    """Return the dataclass field of a key."""
    return key_name.replace(".", "_").replace("-", "_")


def parse(column: ConfigKey, text: str | None) -> ConfigValue:
    """Return the typed value of ``text``; None is accepted by nullable keys only.

    Raises:
        InvalidValueError: the text is of another type or out of bounds.

    Source: ConfigDef.parseType, ConfigDef.Validator.
    """
    try:
        return checked_value(column, text)
    except UnmetRequirementError as error:
        raise InvalidValueError(f"requirement failed: {error}") from error
    except RefusedValueError as error:
        shown = HIDDEN if column.sensitive else error.shown
        raise InvalidValueError(
            f"Invalid value {shown} for configuration {column.name}: {error}"
        ) from error


def checked_value(column: ConfigKey, text: str | None) -> ConfigValue:
    """Do what ``parse`` does for callers that no client waits for.

    Raises:
        RefusedValueError: says what the value must be, without naming the key.
    """
    if text is None:
        if column.nullable:
            return None
        raise RefusedValueError("entry must be non null", "null")
    try:
        value = _PARSERS[column.type](text.strip())
    except ValueError:
        raise RefusedValueError(_wrong_type(column.type), text.strip()) from None
    for check in column.checks:
        if (mistake := check(value)) is not None:
            raise RefusedValueError(mistake, _shown(value))
    return value


_JAVA_FLOATS: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def format_value(value: ConfigValue) -> str | None:
    """Return Kafka's text of a typed value. Source: ConfigDef.convertToString."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
        case float():
            return _JAVA_FLOATS.get(str(value), str(value).replace("e+", "E"))
        case _:
            return str(value)


def parse_all(
    columns: Mapping[str, ConfigKey], texts: Mapping[str, str | None], *, scope: str
) -> dict[str, ConfigValue]:
    """Return the typed values of ``texts`` by key name.

    Raises:
        KafkaError: INVALID_CONFIG, for the first unknown key or bad value.
    """
    values: dict[str, ConfigValue] = {}
    for name, text in texts.items():
        if name not in columns:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown {scope} config name: {name}")
        values[name] = parse(columns[name], text)
    return values


def _wrong_type(kind: ConfigType) -> str:
    if kind is ConfigType.BOOLEAN:
        return "Expected value to be either true or false"
    return f"Not a number of type {kind.name}"


def _shown(value: ConfigValue) -> str:
    """Return a parsed value as Java prints it."""
    return f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value)


def _parse_double(text: str) -> float:
    """Read what Java reads, but for hexadecimal digits. Source: Double.parseDouble."""
    if _DOUBLE.fullmatch(text) is None:
        raise ValueError(text)
    return float(text.rstrip("dDfF"))


def _parse_boolean(text: str) -> bool:
    word = text.lower()
    if word not in ("true", "false"):
        raise ValueError(text)
    return word == "true"


def _parse_whole(bits: int) -> Callable[[str], int]:
    limit = 1 << (bits - 1)

    def parse_whole(text: str) -> int:
        if "_" in text:
            raise ValueError(text)
        number = int(text)
        if not -limit <= number < limit:
            raise ValueError(text)
        return number

    return parse_whole


def _parse_list(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",")) if text else ()


_PARSERS: Final[dict[ConfigType, Callable[[str], ConfigValue]]] = {
    ConfigType.BOOLEAN: _parse_boolean,
    ConfigType.STRING: str,
    ConfigType.INT: _parse_whole(32),
    ConfigType.SHORT: _parse_whole(16),
    ConfigType.LONG: _parse_whole(64),
    ConfigType.DOUBLE: _parse_double,
    ConfigType.LIST: _parse_list,
    ConfigType.CLASS: str,
    ConfigType.PASSWORD: str,
}


def set_texts(layer: Mapping[str, str | None]) -> dict[str, str]:
    """Return what is set to a value, of what is set or unset."""
    return {name: text for name, text in layer.items() if text is not None}
