"""kafka-cluster: the cluster's id, and where its brokers listen."""

from __future__ import annotations

import pytest

from tests.integration.labs import Lab
from tests.kafka_tools.tools import KafkaTools, Printed


def cluster(tools: KafkaTools, command: str) -> Printed:
    """Run a subcommand; this tool takes its options behind it only."""
    return tools.run(f"kafka-cluster {command} --bootstrap-server {tools.bootstrap}")


def test_the_id_of_the_cluster_is_told(tools: KafkaTools, lab: Lab):
    expected = f"Cluster ID: {lab.cluster.spec.cluster_id}\n"
    assert cluster(tools, "cluster-id") == Printed(0, expected)


@pytest.mark.parametrize("option", ["", "--include-fenced-brokers"])
def test_brokers_are_listed(tools: KafkaTools, lab: Lab, option: str):
    if tools.release.startswith("3."):
        pytest.skip("the subcommand came with 4.0")
    titles, *rows = [line.split() for line in cluster(tools, f"list-endpoints {option}").lines]
    assert titles == ["ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE"]
    assert rows == [
        [
            *(str(one.id), one.advertised_host, str(one.advertised_port), f"rack-{one.id}"),
            *("unfenced", "broker"),
        ]
        for one in lab.cluster.spec.brokers
    ]
