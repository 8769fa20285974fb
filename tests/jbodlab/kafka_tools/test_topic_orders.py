"""Orders about topics as they reach the controller."""

from __future__ import annotations

from typing import Any

import pytest

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.topic_words import WantedTopic
from jbodlab.kafka_tools.topic_orders import create_topic, delete_topics, grow_topics
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.topics import (
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from tests.jbodlab.kafka_tools.fake_cluster import API_KEYS, FakeCluster
from tests.jbodlab.kafka_tools.test_client import settings


class TopicOrders:
    """What a cluster was told about topics; it does nothing of it."""

    def __init__(self) -> None:
        self.created: list[Any] = []
        self.grown: list[Any] = []
        self.deleted: list[str] = []
        self.error = ErrorCode.NONE

    def create(self, _broker: int, request: Any) -> CreateTopicsResponse:
        for each in request.topics:
            brokers = [list(one.broker_ids) for one in each.assignments]
            configs = {config.name: config.value for config in each.configs}
            self.created.append(
                (each.name, each.num_partitions, each.replication_factor, brokers, configs)
            )
        return CreateTopicsResponse(
            throttle_time_ms=0,
            topics=[
                CreatableTopicResult(
                    name=each.name, error_code=self.error, error_message=None, configs=[]
                )
                for each in request.topics
            ],
        )

    def grow(self, _broker: int, request: Any) -> CreatePartitionsResponse:
        for each in request.topics:
            brokers = each.assignments and [list(one.broker_ids) for one in each.assignments]
            self.grown.append((each.name, each.count, brokers))
        return CreatePartitionsResponse(
            throttle_time_ms=0,
            results=[
                CreatePartitionsTopicResult(name=each.name, error_code=self.error)
                for each in request.topics
            ],
        )

    def delete(self, _broker: int, request: Any) -> DeleteTopicsResponse:
        self.deleted += request.topic_names
        return DeleteTopicsResponse(
            throttle_time_ms=0,
            responses=[
                DeletableTopicResult(name=each, topic_id=bytes(16), error_code=self.error)
                for each in request.topic_names
            ],
        )


def offer_topic_orders(cluster: FakeCluster) -> TopicOrders:
    """Teach a cluster the requests about whole topics."""
    orders = TopicOrders()
    keys = [
        ApiVersion(api_key=key, min_version=0, max_version=20)
        for key in (*API_KEYS, 19, 20, 32, 37)
    ]
    cluster.replies[ApiVersionsRequest] = lambda _broker, _request: ApiVersionsResponse(
        error_code=0, api_keys=keys, throttle_time_ms=0
    )
    cluster.replies[CreateTopicsRequest] = orders.create
    cluster.replies[CreatePartitionsRequest] = orders.grow
    cluster.replies[DeleteTopicsRequest] = orders.delete
    return orders


def wanted(partitions: int | None, *assignment: tuple[int, ...]) -> WantedTopic:
    return WantedTopic(
        partitions=partitions, replication_factor=None, assignment=assignment, configs={}
    )


def test_what_is_not_said_is_left_to_the_cluster(cluster: FakeCluster):
    orders = offer_topic_orders(cluster)
    with ClusterClient(settings(cluster.bootstrap)) as client:
        create_topic(client, "t", wanted(None, (1, 2), (2, 3)))
        grow_topics(client, {"t": 2}, wanted(4))
        delete_topics(client, [])
        delete_topics(client, ["t"])
    assert orders.created == [("t", -1, -1, [[1, 2], [2, 3]], {})]
    assert orders.grown == [("t", 4, None)]
    assert orders.deleted == ["t"]


def test_refusals_are_raised(cluster: FakeCluster):
    orders = offer_topic_orders(cluster)
    orders.error = ErrorCode.INVALID_REQUEST
    with ClusterClient(settings(cluster.bootstrap)) as client:
        with pytest.raises(KafkaError):
            create_topic(client, "t", wanted(1))
        with pytest.raises(KafkaError):
            grow_topics(client, {"t": 1}, wanted(2))
        with pytest.raises(KafkaError):
            delete_topics(client, ["t"])


def test_topics_are_deleted_on_brokers_that_know_no_topic_ids(cluster: FakeCluster):
    orders = offer_topic_orders(cluster)
    keys = [ApiVersion(api_key=key, min_version=0, max_version=5) for key in (*API_KEYS, 20)]
    cluster.replies[ApiVersionsRequest] = lambda _broker, _request: ApiVersionsResponse(
        error_code=0, api_keys=keys, throttle_time_ms=0
    )
    with ClusterClient(settings(cluster.bootstrap)) as client:
        delete_topics(client, ["t"])
    assert orders.deleted == ["t"]
