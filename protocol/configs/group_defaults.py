"""The broker keys that stand in for what a group leaves unset, and that bound what it may set.

One typed field per key; what is read of share and streams groups is their bounds alone. A default
may lie out of its bounds here, which no broker of Kafka's starts with.
Source: GroupCoordinatorConfig.java, ShareGroupConfig.java (4.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protocol.configs.checks import at_least, between
from protocol.configs.topic_defaults import TopicDefaults
from protocol.configs.types import Check, ConfigType, key


def _default(name: str, value: int, check: Check) -> Any:
    return key(ConfigType.INT, value, f"What groups have as {name} that do not set it.", check)


def _smallest(name: str, value: int, check: Check) -> Any:
    return key(ConfigType.INT, value, f"Smallest {name} that a group may set.", check)


def _largest(name: str, value: int, check: Check) -> Any:
    return key(ConfigType.INT, value, f"Largest {name} that a group may set.", check)


@dataclass(init=False, repr=False, eq=False, frozen=True, slots=True, kw_only=True)
class GroupDefaults(TopicDefaults):
    """What a broker gives to groups that say nothing, and its bounds."""

    group_consumer_session_timeout_ms: int = _default(
        "consumer.session.timeout.ms", 45000, at_least(1)
    )
    group_consumer_min_session_timeout_ms: int = _smallest(
        "consumer.session.timeout.ms", 45000, at_least(1)
    )
    group_consumer_max_session_timeout_ms: int = _largest(
        "consumer.session.timeout.ms", 60000, at_least(1)
    )
    group_consumer_heartbeat_interval_ms: int = _default(
        "consumer.heartbeat.interval.ms", 5000, at_least(1)
    )
    group_consumer_min_heartbeat_interval_ms: int = _smallest(
        "consumer.heartbeat.interval.ms", 5000, at_least(1)
    )
    group_consumer_max_heartbeat_interval_ms: int = _largest(
        "consumer.heartbeat.interval.ms", 15000, at_least(1)
    )
    group_consumer_assignment_interval_ms: int = _default(
        "consumer.assignment.interval.ms", 1000, at_least(0)
    )
    group_consumer_min_assignment_interval_ms: int = _smallest(
        "consumer.assignment.interval.ms", 0, at_least(0)
    )
    group_consumer_max_assignment_interval_ms: int = _largest(
        "consumer.assignment.interval.ms", 15000, at_least(0)
    )
    group_share_session_timeout_ms: int = _default("share.session.timeout.ms", 45000, at_least(1))
    group_share_min_session_timeout_ms: int = _smallest(
        "share.session.timeout.ms", 45000, at_least(1)
    )
    group_share_max_session_timeout_ms: int = _largest(
        "share.session.timeout.ms", 60000, at_least(1)
    )
    group_share_heartbeat_interval_ms: int = _default(
        "share.heartbeat.interval.ms", 5000, at_least(1)
    )
    group_share_min_heartbeat_interval_ms: int = _smallest(
        "share.heartbeat.interval.ms", 5000, at_least(1)
    )
    group_share_max_heartbeat_interval_ms: int = _largest(
        "share.heartbeat.interval.ms", 15000, at_least(1)
    )
    group_share_assignment_interval_ms: int = _default(
        "share.assignment.interval.ms", 1000, at_least(0)
    )
    group_share_min_assignment_interval_ms: int = _smallest(
        "share.assignment.interval.ms", 0, at_least(0)
    )
    group_share_max_assignment_interval_ms: int = _largest(
        "share.assignment.interval.ms", 15000, at_least(0)
    )
    group_share_record_lock_duration_ms: int = _default(
        "share.record.lock.duration.ms", 30000, between(1000, 3600000)
    )
    group_share_min_record_lock_duration_ms: int = _smallest(
        "share.record.lock.duration.ms", 15000, between(1000, 30000)
    )
    group_share_max_record_lock_duration_ms: int = _largest(
        "share.record.lock.duration.ms", 60000, between(30000, 3600000)
    )
    group_share_delivery_count_limit: int = _default(
        "share.delivery.count.limit", 5, between(2, 10)
    )
    group_share_min_delivery_count_limit: int = _smallest(
        "share.delivery.count.limit", 2, between(2, 5)
    )
    group_share_max_delivery_count_limit: int = _largest(
        "share.delivery.count.limit", 10, between(5, 25)
    )
    group_share_partition_max_record_locks: int = _default(
        "share.partition.max.record.locks", 2000, between(100, 10000)
    )
    group_share_min_partition_max_record_locks: int = _smallest(
        "share.partition.max.record.locks", 100, between(100, 2000)
    )
    group_share_max_partition_max_record_locks: int = _largest(
        "share.partition.max.record.locks", 4000, between(2000, 10000)
    )
    group_streams_session_timeout_ms: int = _default(
        "streams.session.timeout.ms", 45000, at_least(1)
    )
    group_streams_min_session_timeout_ms: int = _smallest(
        "streams.session.timeout.ms", 45000, at_least(1)
    )
    group_streams_max_session_timeout_ms: int = _largest(
        "streams.session.timeout.ms", 60000, at_least(1)
    )
    group_streams_heartbeat_interval_ms: int = _default(
        "streams.heartbeat.interval.ms", 5000, at_least(1)
    )
    group_streams_min_heartbeat_interval_ms: int = _smallest(
        "streams.heartbeat.interval.ms", 5000, at_least(1)
    )
    group_streams_max_heartbeat_interval_ms: int = _largest(
        "streams.heartbeat.interval.ms", 15000, at_least(1)
    )
    group_streams_assignment_interval_ms: int = _default(
        "streams.assignment.interval.ms", 1000, at_least(0)
    )
    group_streams_min_assignment_interval_ms: int = _smallest(
        "streams.assignment.interval.ms", 0, at_least(0)
    )
    group_streams_max_assignment_interval_ms: int = _largest(
        "streams.assignment.interval.ms", 15000, at_least(0)
    )
    group_streams_num_standby_replicas: int = _default(
        "streams.num.standby.replicas", 0, at_least(0)
    )
    group_streams_max_standby_replicas: int = _largest(
        "streams.num.standby.replicas", 2, at_least(0)
    )
    group_streams_initial_rebalance_delay_ms: int = _default(
        "streams.initial.rebalance.delay.ms", 3000, at_least(0)
    )
