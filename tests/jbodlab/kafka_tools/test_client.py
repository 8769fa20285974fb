"""The client finds the cluster, the right broker and the right version."""

from __future__ import annotations

import pytest

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.failures import ToolFailure
from jbodlab.kafka_tools.core.properties import ClientSettings
from jbodlab.kafka_tools.questions import describe_log_dirs, list_reassignments
from jbodlab.processes.free_ports import free_port
from protocol.admin.cluster import BrokerView
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.log_dirs import DescribeLogDirsRequest
from protocol.messages.topic_partitions import DescribeTopicPartitionsRequest
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster


def settings(bootstrap: str, api_timeout_ms: int = 5000) -> ClientSettings:
    return ClientSettings(
        bootstrap=bootstrap,
        client_id="test",
        request_timeout_ms=5000,
        api_timeout_ms=api_timeout_ms,
    )


def no_pause(_seconds: float) -> None:
    """Retry at once."""


def test_brokers_are_found_from_any_of_them(cluster: FakeCluster):
    dead = free_port()
    cluster.racks[2] = "r2"
    bootstrap = f"127.0.0.1:{dead},127.0.0.1:{cluster.ports[1]}"
    with ClusterClient(settings(bootstrap)) as client:
        assert list(client.nodes()) == [0, 1, 2, 3]
        assert client.nodes()[2] == BrokerView(2, "127.0.0.1", cluster.ports[2], "r2")


def test_a_cluster_that_is_not_there_is_told_at_once():
    dead = free_port()
    with (
        ClusterClient(settings(f"127.0.0.1:{dead}")) as client,
        pytest.raises(ToolFailure, match=r"no broker answers .*refused") as caught,
    ):
        client.nodes()
    assert caught.value.java_class.endswith(".TimeoutException")


@pytest.mark.parametrize("words", ["nowhere", "a:b", ":", "a:1,b"])
def test_bootstrap_servers_have_ports(words: str):
    with pytest.raises(ToolFailure, match=r"Invalid url in bootstrap\.servers"):
        ClusterClient(settings(words))


def test_a_broker_that_is_not_in_the_cluster_cannot_be_asked(cluster: FakeCluster):
    with (
        ClusterClient(settings(cluster.bootstrap)) as client,
        pytest.raises(ToolFailure, match="broker 9 is not in the cluster"),
    ):
        describe_log_dirs(client, 9)


def test_the_controller_is_looked_for_until_it_is_found(cluster: FakeCluster):
    def move_controller(_seconds: float) -> None:
        cluster.controller_id += 1

    with ClusterClient(settings(cluster.bootstrap), pause=move_controller) as client:
        client.nodes()
        cluster.controller_id = 1
        assert list_reassignments(client) == {}
        assert cluster.controller_id == 2


def test_a_controller_that_is_nowhere_is_given_up(cluster: FakeCluster):
    cluster.controller_id = -1
    with (
        ClusterClient(settings(cluster.bootstrap, api_timeout_ms=0), pause=no_pause) as client,
        pytest.raises(ToolFailure, match="the controller does not answer"),
    ):
        list_reassignments(client)


def test_versions_are_agreed_on_and_what_a_broker_lacks_is_said(cluster: FakeCluster):
    def only_old(_broker: int, _request: object) -> ApiVersionsResponse:
        keys = [
            ApiVersion(api_key=key, min_version=0, max_version=high)
            for key, high in ((3, 4), (35, 1))
        ]
        return ApiVersionsResponse(error_code=0, api_keys=keys, throttle_time_ms=0)

    cluster.replies[ApiVersionsRequest] = only_old
    with ClusterClient(settings(cluster.bootstrap)) as client:
        assert client.can(35)
        assert not client.can(75)
        assert not client.ask(DescribeLogDirsRequest(topics=None)).results
        with pytest.raises(KafkaError, match="does not support DescribeTopicPartitions"):
            client.ask(DescribeTopicPartitionsRequest(topics=[]))


def test_an_attempt_is_repeated_while_its_errors_pass(cluster: FakeCluster):
    passing = (ErrorCode.NOT_COORDINATOR,)
    codes = [ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR, ErrorCode.INVALID_GROUP_ID]

    def attempt() -> str:
        if codes:
            raise KafkaError(codes.pop(0), "not now")
        return "done"

    with ClusterClient(settings(cluster.bootstrap), pause=no_pause) as client:
        with pytest.raises(KafkaError) as caught:
            client.insist(attempt, passing)
        assert caught.value.code is ErrorCode.INVALID_GROUP_ID
        assert client.insist(attempt, passing) == "done"


def test_errors_that_never_pass_are_told_after_the_timeout(cluster: FakeCluster):
    def attempt() -> str:
        raise KafkaError(ErrorCode.NOT_COORDINATOR, "not here")

    with (
        ClusterClient(settings(cluster.bootstrap, 0), pause=no_pause) as client,
        pytest.raises(ToolFailure, match="the cluster still answers NOT_COORDINATOR"),
    ):
        client.insist(attempt, (ErrorCode.NOT_COORDINATOR,))
