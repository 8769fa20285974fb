"""What the cluster file sets for the controller. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from protocol.configs import BrokerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The controller's settings; fixed while it runs."""

    cluster_id: str
    controller_id: int
    session_timeout_ms: int
    heartbeat_interval_ms: int
    broker_ids: tuple[int, ...]
    """The brokers of the cluster file. Others may register too."""
    defaults: BrokerConfig
    """Cluster-wide: what topics that say nothing get."""
    overrides: Mapping[str, str]
    """What the cluster file sets for all brokers, by Kafka's names."""
