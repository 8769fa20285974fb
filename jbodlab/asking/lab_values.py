"""What the HTTP API of a lab tells its command line elsewhere, as values. Nothing is asked here."""

from __future__ import annotations

from typing import Literal

import msgspec

NodeState = Literal["running", "paused", "silent", "down"]
"""running: it answers; paused: it stands still (SIGSTOP); silent: it lives and does not answer;
down: there is no such process."""


class BrokerPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where clients reach a broker, and where its log dirs are."""

    id: int
    host: str
    port: int
    rack: str | None
    state: NodeState
    """As its process tells; it is not asked whether it answers."""
    log_dirs: tuple[str, ...]
    """Full paths, as the broker names them."""


class ClusterPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of a cluster file."""

    config_path: str
    """Of the cluster file at the lab; log dirs are named from its folder."""
    controller: NodeState
    brokers: tuple[BrokerPlace, ...]


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A process of the cluster, and what it tells of itself."""

    name: str
    running: bool
    paused: bool
    pid: int | None
    """None of one that the lab did not start, too."""
    rss_bytes: int
    address: str
    kind: str = ""
    """Whose it is, such as "Apache Kafka 3.9.2"; empty: jbodlab's own."""
    log_file: str
    ended_by: str | None
    """The fatal signal that its log tells of."""
    loading: dict[str, dict[str, int]] = {}
    """Log dir -> logs and segments that are still to be looked through."""
    offline_log_dirs: list[str] = []
    waits_for_controller: bool = False
    troubles: list[str] = []
    """What else keeps it from serving."""
