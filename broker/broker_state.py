"""Where a broker is in its life."""

from __future__ import annotations

from enum import IntEnum


class BrokerState(IntEnum):
    """Where a broker is in its life. Source: Kafka's BrokerState."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7
