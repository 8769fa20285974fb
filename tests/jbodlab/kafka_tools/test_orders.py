"""Orders as they reach the brokers, and their answers."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.reassignment_file import ReplicaOn
from jbodlab.kafka_tools.orders import alter_configs, move_replicas, reassign
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.test_client import settings

FOO, BAR = TopicPartition("foo", 0), TopicPartition("bar", 0)


@pytest.fixture
def client(cluster: FakeCluster) -> Generator[ClusterClient]:
    with ClusterClient(settings(cluster.bootstrap)) as client:
        yield client


def test_brokers_are_told_about_themselves_and_topics_together(
    cluster: FakeCluster, client: ClusterClient
):
    alter_configs(client, ResourceType.BROKER, {"2": {"a": "1"}, "": {"b": None}})
    alter_configs(client, ResourceType.TOPIC, {"t": {"c": "2"}, "u": {"c": "3"}})
    alter_configs(client, ResourceType.TOPIC, {})
    assert cluster.config_orders[0] == (2, "2", {"a": "1"})
    assert [order[1:] for order in cluster.config_orders[1:]] == [
        ("", {"b": None}),
        ("t", {"c": "2"}),
        ("u", {"c": "3"}),
    ]


def test_partitions_that_are_refused_are_returned(cluster: FakeCluster, client: ClusterClient):
    cluster.refusals[FOO] = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    errors = reassign(client, {FOO: None, BAR: (1, 2)})
    assert {each: error.code for each, error in errors.items()} == {
        FOO: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    }
    assert cluster.reassign_orders == [{FOO: None, BAR: [1, 2]}]


def test_each_broker_gets_one_request_for_all_its_moves(
    cluster: FakeCluster, client: ClusterClient
):
    cluster.move_answers[2] = [ErrorCode.LOG_DIR_NOT_FOUND]
    wanted = {ReplicaOn(1, FOO): "/a", ReplicaOn(2, FOO): "/b", ReplicaOn(1, BAR): "/a"}
    assert move_replicas(client, wanted) == {
        ReplicaOn(1, FOO): ErrorCode.NONE,
        ReplicaOn(1, BAR): ErrorCode.NONE,
        ReplicaOn(2, FOO): ErrorCode.LOG_DIR_NOT_FOUND,
    }
    assert cluster.move_orders == [(1, "/a", ["bar-0", "foo-0"]), (2, "/b", ["foo-0"])]
