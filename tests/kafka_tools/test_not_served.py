"""Tools for what is not here (quotas, ACLs, KRaft): they say so at once."""

from __future__ import annotations

import pytest

from tests.kafka_tools.tools import KafkaTools, Printed

CLIENT_METRICS = "Config type client-metrics is only supported on KRaft clusters"


def said(printed: Printed) -> str:
    """Return all that was printed: tools differ in where they say what is wrong."""
    return printed.out + printed.err


@pytest.mark.parametrize(
    ("command", "api"),
    [
        ("kafka-metadata-quorum describe --status", "DESCRIBE_QUORUM"),
        ("kafka-metadata-quorum describe --replication", "DESCRIBE_QUORUM"),
        ("kafka-features upgrade --metadata 3.9", "UPDATE_FEATURES"),
        ("kafka-acls --list", "DESCRIBE_ACLS"),
        ("kafka-configs --describe --entity-type users", "DESCRIBE_CLIENT_QUOTAS"),
        ("kafka-configs --describe --entity-type clients", "DESCRIBE_CLIENT_QUOTAS"),
        ("kafka-configs --describe --entity-type ips", "DESCRIBE_CLIENT_QUOTAS"),
        (
            "kafka-configs --alter --entity-type clients --entity-name c "
            "--add-config producer_byte_rate=5",
            "DESCRIBE_CLIENT_QUOTAS",
        ),
        (
            "kafka-configs --alter --entity-type users --entity-name u "
            "--add-config SCRAM-SHA-256=[password=x]",
            "ALTER_USER_SCRAM_CREDENTIALS",
        ),
    ],
)
def test_an_api_that_is_not_served_is_named(tools: KafkaTools, command: str, api: str):
    assert f"The node does not support {api}" in said(tools.run(command))


@pytest.mark.parametrize("action", ["--list", "--describe"])
def test_client_metrics_cannot_be_listed(tools: KafkaTools, action: str):
    api = "LIST_CLIENT_METRICS" if tools.release.startswith("3.") else "LIST_CONFIG"
    printed = tools.run(f"kafka-client-metrics {action}")
    assert printed.code == 1
    assert f"The node does not support {api}_RESOURCES" in printed.out


def test_client_metrics_cannot_be_described(tools: KafkaTools):
    entity = "--entity-type client-metrics --entity-name x"
    printed = tools.run(f"kafka-configs --describe {entity}")
    is_old = tools.release.startswith("3.")
    assert printed.code == 1
    assert (CLIENT_METRICS if is_old else "LIST_CONFIG_RESOURCES") in printed.err


def test_a_cluster_without_features_has_none(tools: KafkaTools):
    assert tools.run("kafka-features describe") == Printed(0, "")
