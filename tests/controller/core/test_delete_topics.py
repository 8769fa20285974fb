"""The answers of DeleteTopics."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.topics import DeleteTopicsRequest, DeleteTopicState
from tests.controller.core.cluster import Cluster, settings, three_brokers


def cluster_with(*topics: str) -> Cluster:
    cluster = three_brokers()
    for topic in topics:
        cluster.create(topic, [1, 2])
    return cluster


def test_unknown_topics_are_said_so_by_name_and_by_id() -> None:
    cluster = cluster_with("t")
    request = DeleteTopicsRequest(
        topics=[
            DeleteTopicState(name="none"),
            DeleteTopicState(name=None, topic_id=b"9" * 16),
            DeleteTopicState(name="t"),
        ],
        timeout_ms=1000,
    )

    results = cluster.call(request, 6).responses

    assert [(r.name, r.error_code) for r in results] == [
        ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
        ("t", ErrorCode.NONE),
    ]


def test_an_entry_with_neither_name_nor_id_is_refused_alone() -> None:
    cluster = cluster_with("t")
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=None), DeleteTopicState(name="t")], timeout_ms=1000
    )

    results = cluster.call(request, 6).responses

    assert [(r.name, r.error_code) for r in results] == [
        (None, ErrorCode.INVALID_REQUEST),
        ("t", ErrorCode.NONE),
    ]


def test_a_topic_can_be_deleted_by_id() -> None:
    cluster = cluster_with("t")
    topic_id = cluster.state.topics["t"].topic_id
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=None, topic_id=topic_id)], timeout_ms=1000
    )

    (result,) = cluster.call(request, 6).responses

    assert (result.name, result.topic_id, result.error_code) == ("t", topic_id, 0)
    assert cluster.state.topics == {}


def test_name_and_id_together_refuse_the_whole_request() -> None:
    cluster = cluster_with("t", "u")
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name="t", topic_id=b"1" * 16), DeleteTopicState(name="u")],
        timeout_ms=1000,
    )

    codes = [r.error_code for r in cluster.call(request, 6).responses]

    assert codes == [ErrorCode.INVALID_REQUEST] * 2
    assert sorted(cluster.state.topics) == ["t", "u"]


def test_the_same_topic_twice_is_deleted_once_and_answered_twice() -> None:
    assert [r.error_code for r in cluster_with("t").delete("t", "t")] == [0, 0]


@pytest.mark.scenario(188)
@pytest.mark.parametrize(
    ("version", "code"),
    [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)],
)
def test_deletion_can_be_switched_off(version: int, code: ErrorCode) -> None:
    cluster = three_brokers(config=settings(delete_topic_enable="false"))
    cluster.create("t", [1])

    request = DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000)

    assert cluster.call(request, version).responses[0].error_code == code
    assert not cluster.state.is_deleting("t")


def test_the_answer_waits_for_the_slowest_broker_until_its_time_is_up() -> None:
    cluster = cluster_with("t")
    cluster.held = [3]
    token = cluster.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5)
    cluster.settle()
    assert token not in cluster.answers

    cluster.advance(1000)

    assert cluster.answers[token].responses[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert "t" not in cluster.state.topics


def test_without_time_the_deletion_begins_and_is_answered_late() -> None:
    cluster = cluster_with("t")

    result = cluster.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=0), 5).responses[0]

    assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert "t" not in cluster.state.topics


def test_a_topic_already_marked_is_answered_like_the_first() -> None:
    cluster = cluster_with("t")
    cluster.fail_log_dir(1, 1, ["t-0"])

    assert [r.error_code for r in cluster.delete("t")] == [0]
    assert [r.error_code for r in cluster.delete("t")] == [0]
