"""Which node of the cluster is behind an address, or behind a client's id."""

from __future__ import annotations

from protocol.cluster_file.spec import ClusterSpec
from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.ids import fetcher_client_id, node_client_id


def nodes_by_address(spec: ClusterSpec) -> dict[tuple[str, int], str]:
    """Return which broker's node is where brokers connect to."""
    first = {broker.id: broker.listeners[0] for broker in spec.brokers}
    return {
        (listener.advertised_host, listener.advertised_port): broker_node(broker_id)
        for broker_id, listener in first.items()
    }


def nodes_by_client_id(spec: ClusterSpec) -> dict[str, str]:
    """Return which node names itself how to a broker."""
    followers = {fetcher_client_id(each.id): broker_node(each.id) for each in spec.brokers}
    return {node_client_id(spec.controller.id): CONTROLLER_NODE, **followers}
