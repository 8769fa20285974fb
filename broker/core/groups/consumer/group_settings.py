"""What is configured of a group of the consumer protocol."""

from __future__ import annotations

from typing import NamedTuple

from protocol.configs.group import GroupConfig


class ConsumerGroupSettings(NamedTuple):
    """Of one group."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int


def settings_of(config: GroupConfig) -> ConsumerGroupSettings:
    """Return those of a group's settings that are about the consumer protocol."""
    return ConsumerGroupSettings(
        config.consumer_session_timeout_ms,
        config.consumer_heartbeat_interval_ms,
        config.consumer_assignment_interval_ms,
    )
