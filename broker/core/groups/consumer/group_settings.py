"""What is configured of a group of the consumer protocol."""

from __future__ import annotations

from typing import NamedTuple

from protocol.configs.coordination import CoordinationConfig


class ConsumerGroupSettings(NamedTuple):
    """Of one group."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int


def settings_of(config: CoordinationConfig) -> ConsumerGroupSettings:
    """Return what the broker gives groups that nobody configured."""
    return ConsumerGroupSettings(
        config.group_consumer_session_timeout_ms,
        config.group_consumer_heartbeat_interval_ms,
        config.group_consumer_assignment_interval_ms,
    )
