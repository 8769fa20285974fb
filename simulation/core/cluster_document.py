"""The cluster of a plan as ``cluster.yaml`` has it, on given ports. Opens none of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulation.core.plan import ClusterPlan


def port_count(cluster: ClusterPlan) -> int:
    """Return how many ports it needs: the controller's, and two for each broker."""
    return 1 + 2 * cluster.brokers


# Any: what a YAML file holds.
def cluster_document(cluster: ClusterPlan, ports: Sequence[int]) -> dict[str, Any]:
    """Return it; ``ports`` are taken in order: the controller's, then each broker's two."""
    assert len(ports) == port_count(cluster), f"{len(ports)} ports"
    document = cluster.document()
    document["controller"]["port"] = ports[0]
    for index, broker in enumerate(document["brokers"]):
        broker["port"], broker["control_port"] = ports[1 + 2 * index : 3 + 2 * index]
    return document
