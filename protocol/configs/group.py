"""A group's configuration keys and their typed values: one field per key, defaults of Kafka 4.3.

Values are stored for groups of every type; those of share and streams groups have no effect, since
there are no such groups here. Built by ``protocol.configs.group_parsing``.
Source: GroupConfig.java.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from protocol.configs.checks import at_least, one_of
from protocol.configs.types import ConfigKey, ConfigType, Synonym, key, keys_of

_DURATION: Final = re.compile(
    r"\+?P(?=[+\-0-9T])(?:\+?[0-9]+D)?"
    r"(?:T(?=[+0-9])(?:\+?[0-9]+H)?(?:\+?[0-9]+M)?(?:\+?[0-9]+(?:[.,][0-9]{0,9})?S)?)?",
    re.IGNORECASE,
)
"""ISO 8601 as Java reads it; negative ones are refused."""


def _offset_reset(value: Any) -> str | None:
    """Source: ShareGroupAutoOffsetResetStrategy.Validator."""
    kind, _, duration = value.partition(":")
    if value in ("earliest", "latest"):
        return None
    if kind == "by_duration" and _DURATION.fullmatch(duration):
        return None
    return (
        f"Invalid value `{value}` for configuration share.auto.offset.reset. The value must be "
        "either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    )


def _number(default: int, doc: str, minimum: int, *, synonym: str) -> Any:
    return key(
        ConfigType.INT, default, doc, at_least(minimum), synonyms=(Synonym(f"group.{synonym}"),)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """The effective configuration of one group."""

    consumer_session_timeout_ms: int = _number(
        45000,
        "A member of the consumer protocol that is silent for so long is removed.",
        1,
        synonym="consumer.session.timeout.ms",
    )
    consumer_heartbeat_interval_ms: int = _number(
        5000,
        "How often members of the consumer protocol are told to be heard of.",
        1,
        synonym="consumer.heartbeat.interval.ms",
    )
    consumer_assignment_interval_ms: int = _number(
        1000,
        "Time between two assignments of a group of the consumer protocol.",
        0,
        synonym="consumer.assignment.interval.ms",
    )
    share_session_timeout_ms: int = _number(
        45000, "As of consumers, of share groups.", 1, synonym="share.session.timeout.ms"
    )
    share_heartbeat_interval_ms: int = _number(
        5000, "As of consumers, of share groups.", 1, synonym="share.heartbeat.interval.ms"
    )
    share_record_lock_duration_ms: int = _number(
        30000,
        "How long a record is held for who got it.",
        1000,
        synonym="share.record.lock.duration.ms",
    )
    share_delivery_count_limit: int = _number(
        5, "How often a record is given out.", 2, synonym="share.delivery.count.limit"
    )
    share_partition_max_record_locks: int = _number(
        2000,
        "Records of a partition that may be held.",
        100,
        synonym="share.partition.max.record.locks",
    )
    share_auto_offset_reset: str = key(
        ConfigType.STRING,
        "latest",
        "Where a share group begins: earliest, latest, by_duration:<ISO 8601>.",
        _offset_reset,
    )
    share_isolation_level: str = key(
        ConfigType.STRING,
        "read_uncommitted",
        "Whether records of open and aborted transactions are given out.",
        one_of("read_committed", "read_uncommitted"),
    )
    share_renew_acknowledge_enable: bool = key(
        ConfigType.BOOLEAN, default=True, doc="Whether a record may be held longer."
    )
    share_assignment_interval_ms: int = _number(
        1000, "As of consumers, of share groups.", 0, synonym="share.assignment.interval.ms"
    )
    streams_session_timeout_ms: int = _number(
        45000, "As of consumers, of streams groups.", 1, synonym="streams.session.timeout.ms"
    )
    streams_heartbeat_interval_ms: int = _number(
        5000, "As of consumers, of streams groups.", 1, synonym="streams.heartbeat.interval.ms"
    )
    streams_num_standby_replicas: int = _number(
        0, "Standby replicas of each task.", 0, synonym="streams.num.standby.replicas"
    )
    streams_initial_rebalance_delay_ms: int = _number(
        3000,
        "Wait for more members before a new group's first assignment.",
        0,
        synonym="streams.initial.rebalance.delay.ms",
    )
    streams_assignment_interval_ms: int = _number(
        1000, "As of consumers, of streams groups.", 0, synonym="streams.assignment.interval.ms"
    )


GROUP_KEYS: Final[dict[str, ConfigKey]] = keys_of(GroupConfig)
"""By Kafka's name."""
