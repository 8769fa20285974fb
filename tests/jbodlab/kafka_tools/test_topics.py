"""kafka-topics as it is called."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.ids import uuid_text
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.running import document, run
from tests.jbodlab.kafka_tools.test_topic_orders import TopicOrders, offer_topic_orders


@pytest.fixture
def orders(cluster: FakeCluster) -> TopicOrders:
    cluster.replies[DescribeConfigsRequest] = lambda _broker, request: DescribeConfigsResponse(
        throttle_time_ms=0,
        results=[
            DescribeConfigsResult(
                error_code=0,
                error_message=None,
                resource_type=2,
                resource_name=each.resource_name,
                configs=[],
            )
            for each in request.resources
        ],
    )
    return offer_topic_orders(cluster)


def test_topics_are_listed(cluster: FakeCluster):
    assert run(cluster, "kafka-topics --list").stdout == "bar\nbaz\nfoo\n"
    assert run(cluster, "kafka-topics --list --topic ba.").stdout == "bar\nbaz\n"
    assert document(run(cluster, "kafka-topics --list --topic x --json")) == {"topics": []}


@pytest.mark.usefixtures("orders")
def test_topics_are_described_by_name_or_id(cluster: FakeCluster):
    result = run(cluster, "kafka-topics --describe --topic baz")
    assert [line.split("\t")[-1] for line in result.stdout.splitlines()] == [
        "Configs: ",
        "LastKnownElr: N/A",
        "LastKnownElr: N/A",
    ]
    everything = run(cluster, "kafka-topics --describe")
    assert [line.split("\t")[0] for line in everything.stdout.splitlines() if line[0] == "T"] == [
        "Topic: bar",
        "Topic: baz",
        "Topic: foo",
    ]
    unknown = uuid_text(bytes([7] * 16))
    result = run(cluster, f"kafka-topics --describe --topic-id {unknown}")
    assert (result.exit_code, result.stdout) == (
        1,
        f"Error while executing topic command : TopicId '{unknown}' does not exist as expected\n",
    )
    result = run(cluster, "kafka-topics --describe --topic-id abc")
    assert result.stdout.startswith("Error while executing topic command : ")


def test_a_topic_is_created(cluster: FakeCluster, orders: TopicOrders):
    line = "kafka-topics --create --topic a_b --partitions 2 --config a=1"
    result = run(cluster, line)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "Created topic a_b."
    assert result.stdout.startswith("WARNING: Due to limitations in metric names")
    assert orders.created == [("a_b", 2, -1, [], {"a": "1"})]


@pytest.mark.usefixtures("orders")
def test_a_topic_that_is_there_is_not_created_again(cluster: FakeCluster):
    cluster.replies[CreateTopicsRequest] = lambda _broker, _request: CreateTopicsResponse(
        throttle_time_ms=0,
        topics=[
            CreatableTopicResult(
                name="foo",
                error_code=ErrorCode.TOPIC_ALREADY_EXISTS,
                error_message="Topic 'foo' already exists.",
                configs=[],
            )
        ],
    )
    result = run(cluster, "kafka-topics --create --topic foo")
    assert (result.exit_code, result.stdout) == (
        1,
        "Error while executing topic command : Topic 'foo' already exists.\n",
    )
    assert run(cluster, "kafka-topics --create --topic foo --if-not-exists").exit_code == 0


def test_topics_grow_and_go(cluster: FakeCluster, orders: TopicOrders):
    line = "kafka-topics --alter --topic 'foo|bar' --partitions 3 --replica-assignment 1,2,3"
    assert run(cluster, line).exit_code == 0
    assert orders.grown == [("bar", 3, [[2], [3]]), ("foo", 3, [[3]])]
    assert run(cluster, "kafka-topics --delete --topic ba.").exit_code == 0
    assert orders.deleted == ["bar", "baz"]


@pytest.mark.parametrize("action", ["--describe", "--delete", "--alter --partitions 2"])
@pytest.mark.usefixtures("orders")
def test_a_topic_that_is_not_there_is_missed(cluster: FakeCluster, action: str):
    result = run(cluster, f"kafka-topics {action} --topic quux")
    assert (result.exit_code, result.stdout) == (
        1,
        "Error while executing topic command : Topic 'quux' does not exist as expected\n",
    )
    result = run(cluster, f"kafka-topics {action} --topic quux --if-exists")
    assert (result.exit_code, result.stdout) == (0, "")
