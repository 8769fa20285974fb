"""What an op to change configurations comes to, and whether it may be: names, values, operations.

It changes nothing: the controller does, and beside ZooKeeper a broker its own. Texts of errors are
those of 3.9 where it has one.
Source: ConfigAdminManager.scala, ZkAdminManager.scala, DynamicBrokerConfig.scala.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from protocol.configs.broker import BROKER_KEYS
from protocol.configs.listener_changes import check_limits, refuse_of_listeners
from protocol.configs.listener_keys import LIMITS, column_of, key_of_all
from protocol.configs.names import CORDONED_LOG_DIRS
from protocol.configs.parsing import BrokerConfig, broker_config, check_topic_configs
from protocol.configs.types import (
    ALL_LOG_DIRS,
    AlterOperation,
    ConfigKey,
    ConfigType,
    InvalidValueError,
    Update,
    format_value,
    parse,
    set_texts,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequestAlterConfigsResource,
)

AlteredResource: TypeAlias = (
    AlterConfigsResource | IncrementalAlterConfigsRequestAlterConfigsResource
)


class AlterConfigOp(NamedTuple):
    """One entry of an IncrementalAlterConfigs, as the client sent it."""

    name: str
    operation: int
    value: str | None


def asked_ops(asked: AlteredResource, current: Mapping[str, str]) -> list[AlterConfigOp]:
    """Return all ops that follow from a request: of AlterConfigs what is not named is deleted."""
    if isinstance(asked, IncrementalAlterConfigsRequestAlterConfigsResource):
        return [AlterConfigOp(one.name, one.config_operation, one.value) for one in asked.configs]
    named = [AlterConfigOp(one.name, AlterOperation.SET, one.value) for one in asked.configs]
    kept = [op.name for op in named]
    dropped = [
        AlterConfigOp(name, AlterOperation.DELETE, None) for name in current if name not in kept
    ]
    return [*dropped, *named]


def check_ops(ops: Sequence[AlterConfigOp]) -> None:
    """Check that ops are well-formed, whatever they are about.

    Raises:
        KafkaError: INVALID_REQUEST, for a key named twice, no value, or an unknown operation.
    """
    names = [op.name for op in ops]
    if len(set(names)) < len(names):
        raise _invalid("Error due to duplicate config keys")
    nulls = [w.name for w in ops if w.value is None and w.operation != AlterOperation.DELETE]
    if nulls:
        raise _invalid(f"Null value not supported for : {', '.join(nulls)}")
    for op in ops:
        if op.operation not in tuple(AlterOperation):
            raise _invalid(f"Unknown operations type {op.operation}")


def outcome(
    columns: Mapping[str, ConfigKey], current: Mapping[str, str], ops: Iterable[AlterConfigOp]
) -> dict[str, str | None]:
    """Return what each named key is set to then; None for one that is unset then.

    Raises:
        KafkaError: INVALID_CONFIG, when a value is to be appended to what is no list.
    """
    return {op.name: _outcome(columns.get(op.name), current, op) for op in ops}


def apply_changes(current: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the texts after ``changes``."""
    after: dict[str, str | None] = {**current, **changes}
    return set_texts(after)


def check_topic(name: str, texts: Mapping[str, str], broker: BrokerConfig) -> None:
    """Check what a topic would be set to.

    Raises:
        KafkaError: INVALID_CONFIG.
    """
    try:
        check_topic_configs(texts, broker)
    except InvalidValueError as error:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "Invalid config value for resource ConfigResource(type=TOPIC, "
            f"name='{name}'): {error.message}",
        ) from error


def check_broker(
    changes: Mapping[str, str | None], *, static: Mapping[str, str], is_default: bool
) -> None:
    """Check what a broker, or all of them, would newly be set to.

    Args:
        changes: what is set; what is unset needs no check.
        static: the broker's file, or what the file says to all.
        is_default: for all brokers.

    Raises:
        KafkaError: INVALID_REQUEST, as in Kafka for all mistakes of this kind (KAFKA-13609).
    """
    texts = set_texts(changes)
    _refuse_unknown(texts)
    _refuse(texts, Update.READ_ONLY, "Cannot update these configs dynamically")
    refuse_of_listeners(texts)
    if CORDONED_LOG_DIRS in texts:
        _check_cordoned(texts[CORDONED_LOG_DIRS], static)
    for name, text in texts.items():
        _check_value(name, text)
    if is_default:
        _refuse(
            texts,
            Update.PER_BROKER,
            "Cannot update these configs at default cluster level, broker id must be specified",
        )
    check_limits(texts)


def effective(*layers: Mapping[str, str]) -> BrokerConfig:
    """Build a broker's configuration from layers, the strongest last.

    Raises:
        KafkaError: INVALID_CONFIG.
    """
    texts: dict[str, str] = {}
    for layer in layers:
        texts.update(layer)
    return broker_config(texts)


def _outcome(column: ConfigKey | None, current: Mapping[str, str], op: AlterConfigOp) -> str | None:
    if op.operation == AlterOperation.DELETE or op.value is None:
        return None
    if op.operation == AlterOperation.SET:
        return op.value.strip()
    verb = AlterOperation(op.operation).name.lower()
    if column is None or column.type is not ConfigType.LIST:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Config value {verb} is not allowed for config key: {op.name}",
        )
    text = current.get(op.name, format_value(column.default) or "")
    known, named = _words(text), _words(op.value)
    if op.operation == AlterOperation.APPEND:
        # As in Kafka the empty text has one word, which few lists may have.
        return ",".join(dict.fromkeys([*known, *(named or [""])]))
    return ",".join(word for word in known if word not in named)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")] if text.strip() else []


def _refuse_unknown(texts: Mapping[str, str]) -> None:
    for name in texts:
        if column_of(name) is None:
            close = difflib.get_close_matches(name, BROKER_KEYS, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise _invalid(f"Unknown broker config name: {name}{hint}")


def _refuse(texts: Mapping[str, str], update: Update, reason: str) -> None:
    refused = sorted(name for name in texts if _update_of(name) is update)
    if refused:
        raise _invalid(f"{reason}: Set({', '.join(refused)})")


def _update_of(name: str) -> Update:
    """Return who may change a key; which keys of one listener change at all is told apart."""
    column = BROKER_KEYS.get(name)
    if column is not None:
        return column.update
    return Update.CLUSTER_WIDE if key_of_all(name) in LIMITS else Update.PER_BROKER


def _check_value(name: str, text: str) -> None:
    try:
        parse(BROKER_KEYS[key_of_all(name)], text)
    except InvalidValueError as error:
        raise _invalid(error.message) from error


def _check_cordoned(text: str, static: Mapping[str, str]) -> None:
    """Source: KIP-1066; texts of 4.3. Only brokers of the cluster file have known log dirs."""
    words = [word.strip() for word in text.split(",")] if text else []
    if "" in words:
        raise _invalid(f"Configuration '{CORDONED_LOG_DIRS}' values must not be empty.")
    if ALL_LOG_DIRS in words and len(words) > 1:
        raise _invalid(
            f"requirement failed: When {CORDONED_LOG_DIRS} is set to *, "
            "it must not contain other values"
        )
    known = static.get("log.dirs", text).split(",")
    missing = [path for path in words if path not in (ALL_LOG_DIRS, *known)]
    if missing:
        raise _invalid(
            "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or "
            f"log.dir. Missing entries : {', '.join(missing)}"
        )


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
