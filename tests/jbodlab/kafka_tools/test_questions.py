"""Answers of a cluster, as the tools see them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.questions import (
    describe_configs,
    describe_topics,
    describe_topics_in_pages,
    list_reassignments,
    list_topics,
)
from protocol.configs.types import ConfigSource, ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from protocol.messages.topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from tests.jbodlab.kafka_tools.fake_cluster import API_KEYS, FakeCluster, Reply
from tests.jbodlab.kafka_tools.test_client import settings
from tests.protocol.admin.views import reassignment


@pytest.fixture
def client(cluster: FakeCluster) -> Generator[ClusterClient]:
    with ClusterClient(settings(cluster.bootstrap)) as client:
        yield client


def offer(cluster: FakeCluster, *more: int) -> None:
    keys = [ApiVersion(api_key=key, min_version=0, max_version=20) for key in (*API_KEYS, *more)]
    cluster.replies[ApiVersionsRequest] = lambda _broker, _request: ApiVersionsResponse(
        error_code=0, api_keys=keys, throttle_time_ms=0
    )


def test_topics_that_do_not_exist_are_left_out(cluster: FakeCluster, client: ClusterClient):
    assert describe_topics(client, ["foo", "quux"]) == {"foo": cluster.topics["foo"]}
    assert describe_topics(client, []) == {}
    assert list_topics(client) == [("bar", False), ("baz", False), ("foo", False)]


def test_topics_come_in_pages_where_brokers_have_them(cluster: FakeCluster, client: ClusterClient):
    def page(_broker: int, request: Any) -> Any:
        number = request.cursor.partition_index if request.cursor else 0
        partition = DescribeTopicPartitionsResponsePartition(
            error_code=0,
            partition_index=number,
            leader_id=-1,
            replica_nodes=[1],
            isr_nodes=[1],
            eligible_leader_replicas=[2] if number else None,
            last_known_elr=[],
            offline_replicas=[],
        )
        topic = DescribeTopicPartitionsResponseTopic(
            error_code=0, name="foo", topic_id=bytes(16), is_internal=False, partitions=[partition]
        )
        cursor = None if number else Cursor(topic_name="foo", partition_index=1)
        return DescribeTopicPartitionsResponse(
            throttle_time_ms=0, topics=[topic], next_cursor=cursor
        )

    offer(cluster, 75)
    cluster.replies[DescribeTopicPartitionsRequest] = page
    found = describe_topics_in_pages(client, ["foo"], 1)["foo"].partitions
    assert [(each.partition, each.leader, each.elr, each.last_known_elr) for each in found] == [
        (0, -1, None, ()),
        (1, -1, (2,), ()),
    ]


def test_topics_come_from_metadata_where_there_are_no_pages(
    cluster: FakeCluster, client: ClusterClient
):
    assert describe_topics_in_pages(client, ["bar"], 1) == {"bar": cluster.topics["bar"]}


def test_reassignments_are_all_or_some(cluster: FakeCluster, client: ClusterClient):
    foo, bar = TopicPartition("foo", 0), TopicPartition("bar", 0)
    cluster.reassignments = {
        foo: reassignment(foo, replicas=(1, 2), adding=(2,), removing=()),
        bar: reassignment(bar, replicas=(1, 3), adding=(3,), removing=()),
    }
    assert list_reassignments(client) == cluster.reassignments
    assert list(list_reassignments(client, [bar])) == [bar]


def configs_reply(error: ErrorCode) -> Reply:
    entries = [
        DescribeConfigsResourceResult(
            name=name,
            value=value,
            read_only=False,
            is_default=False,
            config_source=source,
            is_sensitive=value is None,
            synonyms=[DescribeConfigsSynonym(name=name, value=value, source=source)],
            documentation=None,
        )
        for name, value, source in (("z", "1", 2), ("a", None, 99))
    ]
    result = DescribeConfigsResult(
        error_code=error,
        error_message=None,
        resource_type=4,
        resource_name="1",
        configs=entries,
    )

    def reply(_broker: int, _request: Any) -> DescribeConfigsResponse:
        return DescribeConfigsResponse(throttle_time_ms=0, results=[result])

    return reply


def test_settings_are_sorted_and_know_where_they_come_from(
    cluster: FakeCluster, client: ClusterClient
):
    offer(cluster, 32)
    cluster.replies[DescribeConfigsRequest] = configs_reply(ErrorCode.NONE)
    found = describe_configs(client, ResourceType.BROKER, ["1"], broker_id=1)["1"]
    assert [(each.name, each.value, each.source) for each in found] == [
        ("a", None, ConfigSource.UNKNOWN),
        ("z", "1", ConfigSource.DYNAMIC_BROKER_CONFIG),
    ]
    assert found[1].synonyms[0].value == "1"
    cluster.replies[DescribeConfigsRequest] = configs_reply(ErrorCode.INVALID_REQUEST)
    with pytest.raises(KafkaError):
        describe_configs(client, ResourceType.TOPIC, ["1"])
