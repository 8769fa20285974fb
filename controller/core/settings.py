"""What the cluster file sets for the controller. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from protocol.configs.parsing import BrokerConfig


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
    """Cluster-wide, by the cluster file alone; rules ask ``Step.defaults``."""
    overrides: Mapping[str, str]
    """What the cluster file sets for all brokers, by Kafka's names."""
    metrics_interval_ms: int = 1_000
    """How often what goes on has a metric row."""
    accepts_other_journals: bool = False
    """Whether brokers that heard of another journal may register: their topics are not known."""
    has_zookeeper: bool = False
    """Whether ZooKeeper keeps decisions, settings and who is alive: what is there is never behind
    what brokers know, and no session ends here."""
    control_plane_listener: str | None = None
    """By which brokers are asked; None: by their first one."""
    tells_nodes_apart: bool = False
    """Whether who asks has shown to be a node: nobody else is told secrets."""
    broker_overrides: Mapping[int, Mapping[str, str]] = field(
        default_factory=dict[int, Mapping[str, str]]
    )
    """Broker id -> what the cluster file sets for it, ``log.dirs`` included."""
