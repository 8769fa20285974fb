"""The cluster of a plan as a text of ``cluster.yaml``, on given ports. Opens none of them."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from simulation.core.plan import ClusterPlan


def port_count(cluster: ClusterPlan) -> int:
    """Return how many ports it needs: the controller's, and two for each broker."""
    return 1 + 2 * cluster.brokers


def cluster_text(cluster: ClusterPlan, ports: Sequence[int]) -> str:
    """Return the text; ``ports`` are taken in order: the controller's, then each broker's two."""
    assert len(ports) == port_count(cluster), f"{len(ports)} ports"
    document = cluster.document()
    document["controller"]["port"] = ports[0]
    for index, broker in enumerate(document["brokers"]):
        broker["port"], broker["control_port"] = ports[1 + 2 * index : 3 + 2 * index]
    return yaml.safe_dump(document, sort_keys=False)
