"""How the nodes of a cluster are: their processes, and what brokers tell of themselves.

A node that runs elsewhere, as in a container, is there when it takes connections.
"""

from __future__ import annotations

from typing import Any, Final

from jbodlab.asking.control import ControlClient
from jbodlab.asking.lab_values import NodeState, NodeStatus
from jbodlab.errors import LabError
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.loading import loading_words
from jbodlab.processes.neighbours import kind_of
from jbodlab.processes.nodes import broker_of, listens, node_address, status_troubles
from jbodlab.processes.process import fatal_signal

_TIMEOUT_S: Final = 3


def node_state(cluster: Cluster, name: str) -> NodeState:
    """Return how a node is, without asking it anything."""
    process = cluster.processes.get(name)
    if process is None or not process.is_running:
        return "running" if listens(cluster.spec, name) else "down"
    return "paused" if process.is_paused else "running"


def node_status(cluster: Cluster, name: str) -> NodeStatus:
    """Return how a node is, and what it tells of itself."""
    state = node_state(cluster, name)
    is_there = state != "down"
    process = cluster.processes[name] if cluster.is_running(name) else None
    log_file = cluster.log_file(name)
    return NodeStatus(
        name=name,
        running=is_there,
        paused=state == "paused",
        pid=None if process is None else process.pid,
        rss_bytes=0 if process is None else process.rss_bytes(),
        address=_address(cluster, name),
        kind=kind_of(cluster.spec, name),
        log_file=str(log_file),
        ended_by=None if is_there else fatal_signal(log_file),
        **(_told(cluster, name) if state == "running" else {}),
    )


# Any: the fields of NodeStatus that a broker tells.
def _told(cluster: Cluster, name: str) -> dict[str, Any]:
    broker = broker_of(cluster.spec, name)
    if broker is None or not broker.control_port:
        return {}
    client = ControlClient(broker.id, broker.control_port, timeout_s=_TIMEOUT_S)
    try:
        told = client.status()
    except LabError:
        return {"troubles": ["does not answer"]}
    loading = told["loading"]
    return {
        "loading": loading,
        "offline_log_dirs": told["offline_log_dirs"],
        "waits_for_controller": told["state"] == "running" and not told["is_open_to_clients"],
        "troubles": [] if loading_words(loading) else status_troubles(told),
    }


def _address(cluster: Cluster, name: str) -> str:
    host, port = node_address(cluster.spec, name)
    return f"{host}:{port}"
