"""What a running broker's configuration may turn into: rules that look at more than one value.

It changes nothing. Texts of errors are those of 3.9, without what its ConfigException puts around
them. Source: KafkaConfig.validateValues, DynamicThreadPool, LogCleaner and DynamicLogConfig,
validateReconfiguration each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from protocol.configs.broker import BrokerConfig
from protocol.configs.changes import apply_changes, check_broker, effective
from protocol.configs.parsing import topic_config
from protocol.configs.types import field_name
from protocol.errors import ErrorCode, KafkaError

_THREAD_COUNTS: Final = ("num.recovery.threads.per.data.dir", "num.replica.fetchers")
_MEMORY_PER_CLEANER_BYTES: Final = 1 << 20
_AS_RETENTION: Final = -2


def check_broker_change(
    changes: Mapping[str, str | None],
    *,
    static: Mapping[str, str],
    defaults: Mapping[str, str],
    own: Mapping[str, str],
    is_default: bool,
) -> None:
    """Check what a broker, or all of them, would newly be set to, alone and with the rest.

    Args:
        changes: what is set, or None for what is unset.
        static: the broker's file, or what the file says to all.
        defaults: what all brokers are set to dynamically; nothing for ``is_default``.
        own: what is to be changed.
        is_default: for all brokers.

    Raises:
        KafkaError: INVALID_REQUEST, INVALID_CONFIG.
    """
    check_broker(changes, static=static, is_default=is_default)
    before = effective(static, defaults, own)
    check_reconfiguration(before, effective(static, defaults, apply_changes(own, changes)))


def check_reconfiguration(before: BrokerConfig, after: BrokerConfig) -> None:
    """Check a step from one configuration to another, both made of values that are valid alone.

    Raises:
        KafkaError: INVALID_REQUEST.
    """
    _check_cleaners(before, after)
    for name in _THREAD_COUNTS:
        _check_thread_count(name, before, after)
    if not after.max_connections_per_ip and not after.max_connections_per_ip_overrides:
        raise _invalid(
            "requirement failed: max.connections.per.ip can be set to zero only if "
            "max.connections.per.ip.overrides property is set."
        )
    retained, broker = topic_config({}, after), after
    _check_local_retention("ms", broker.log_local_retention_ms, retained.retention_ms)
    _check_local_retention("bytes", broker.log_local_retention_bytes, retained.retention_bytes)


def _check_thread_count(name: str, before: BrokerConfig, after: BrokerConfig) -> None:
    field = field_name(name)
    old, new = int(getattr(before, field)), int(getattr(after, field))
    if old == new:
        return
    problem = f"Dynamic thread count update validation failed for {name}={new}, value should "
    if new < 1:
        raise _invalid(f"{problem}be at least 1")
    if new < old // 2:
        raise _invalid(f"{problem}be at least half the current value {old}")
    if new > old * 2:
        raise _invalid(f"{problem}not be greater than double the current value {old}")


def _check_cleaners(before: BrokerConfig, after: BrokerConfig) -> None:
    old, new = before.log_cleaner_threads, after.log_cleaner_threads
    memory_bytes = after.log_cleaner_dedupe_buffer_size
    if (old, before.log_cleaner_dedupe_buffer_size) == (new, memory_bytes):
        return
    if new < 1:
        raise _invalid("Log cleaner threads should be at least 1")
    if memory_bytes // new <= _MEMORY_PER_CLEANER_BYTES:
        raise _invalid(
            "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner "
            "thread."
        )
    problem = "Log cleaner threads cannot be"
    if new < old // 2:
        raise _invalid(f"{problem} reduced to less than half the current value {old}")
    if new > old * 2:
        raise _invalid(f"{problem} increased to more than double the current value {old}")


def _check_local_retention(unit: str, local: int, whole: int) -> None:
    """Check what tiered storage would keep locally against what is kept at all."""
    if whole < 0 or local == _AS_RETENTION:
        return
    problem = f"Invalid value {local} for configuration log.local.retention.{unit}: Value must not "
    if local < 0:
        raise _invalid(f"{problem}be -1 as log.retention.{unit} value is set as {whole}.")
    if local > whole:
        raise _invalid(f"{problem}be more than log.retention.{unit} property value: {whole}")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
