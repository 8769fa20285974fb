"""Tools for what is not here (other groups, features of KRaft): they say so at once."""

from __future__ import annotations

import re

import pytest

from tests.kafka_tools.tools import KafkaTools, Printed


def said(printed: Printed) -> str:
    """Return all that was printed: tools differ in where they say what is wrong."""
    return printed.out + printed.err


@pytest.mark.parametrize(
    ("command", "api"),
    [
        ("kafka-features upgrade --metadata 3.9", "UPDATE_FEATURES"),
    ],
)
def test_an_api_that_is_not_served_is_named(tools: KafkaTools, command: str, api: str):
    assert f"The node does not support {api}" in said(tools.run(command))


@pytest.fixture
def new_tools(tools: KafkaTools) -> KafkaTools:
    """The tools of a release that asks by ListConfigResources and has tools for all groups."""
    if tools.release.startswith("3."):
        pytest.skip("3.9.2 has no such tools, and asks for client metrics by a name of its own")
    return tools


def test_there_are_no_client_metrics(new_tools: KafkaTools):
    assert new_tools.run("kafka-client-metrics --list") == Printed(0, "\n")
    printed = new_tools.run("kafka-configs --describe --entity-type client-metrics --entity-name x")
    assert "client-metric 'x' doesn't exist" in said(printed)


def test_the_features_of_the_newest_release_are_described(tools: KafkaTools):
    printed = tools.run("kafka-features describe")
    assert (printed.code, printed.err) == (0, "")
    levels = {
        line.split()[1]: re.findall(r"Version(?:Level)?: (\d+)", line) for line in printed.lines
    }
    assert levels == {"group.version": ["0", "1", "1"], "transaction.version": ["0", "2", "2"]}


# What follows was recorded from Apache Kafka 4.3.1 with share.version=0 and streams.version=0,
# but for the name of the API, which that cluster says it serves and then refuses.
@pytest.mark.parametrize("kind", ["share", "streams"])
def test_there_are_no_share_and_streams_groups(new_tools: KafkaTools, kind: str):
    assert new_tools.run(f"kafka-{kind}-groups --list") == Printed(0, "")
    assert new_tools.run(f"kafka-{kind}-groups --describe --all-groups") == Printed(0, "")
    described = new_tools.run(f"kafka-{kind}-groups --describe --group g")
    assert f"Error: Executing {kind} group command failed" in said(described)
    assert f"The node does not support {kind.upper()}_GROUP_DESCRIBE" in said(described)
    deleted = new_tools.run(f"kafka-{kind}-groups --delete --group g")
    assert f"Deletion of some {kind} groups failed" in said(deleted)
