"""Orders about topics as the controller takes them, and what became of them."""

from __future__ import annotations

import pytest

from protocol.admin.topics import (
    DELETE_BY_NAME_VERSION_MAX,
    NewPartitions,
    NewTopic,
    create_partitions_request,
    create_topics_request,
    delete_topics_request,
    topic_outcomes,
)
from protocol.errors import ErrorCode
from protocol.messages.topics import (
    CreatableTopicResult,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from protocol.wire.fast import codec


def test_a_topic_has_the_counts_and_settings_that_it_is_given() -> None:
    wanted = NewTopic(name="t", partitions=3, replication_factor=2, configs={"a": "1"})
    request = create_topics_request([wanted], timeout_ms=7)
    (topic,) = request.topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("t", 3, 2)
    assert [(each.name, each.value) for each in topic.configs] == [("a", "1")]
    assert list(topic.assignments) == []
    assert (request.timeout_ms, request.validate_only) == (7, False)


def test_counts_that_are_not_given_are_the_cluster_s_choice() -> None:
    first, second = create_topics_request(
        [NewTopic(name="t"), NewTopic(name="u", partitions=1)], timeout_ms=7
    ).topics
    assert (first.num_partitions, first.replication_factor) == (-1, -1)
    assert (second.num_partitions, second.replication_factor) == (1, -1)


def test_an_assignment_takes_the_place_of_both_counts() -> None:
    wanted = NewTopic(
        name="t", partitions=9, replication_factor=9, assignment={0: (2, 1), 1: (1, 2)}
    )
    (topic,) = create_topics_request([wanted], timeout_ms=7).topics
    assert (topic.num_partitions, topic.replication_factor) == (-1, -1)
    assert [(each.partition_index, each.broker_ids) for each in topic.assignments] == [
        (0, [2, 1]),
        (1, [1, 2]),
    ]


def test_topics_grow_on_brokers_of_the_cluster_s_choice_or_on_these() -> None:
    request = create_partitions_request(
        {"t": NewPartitions(4), "u": NewPartitions(2, [(3, 1)]), "v": NewPartitions(1, [])},
        timeout_ms=7,
    )
    assert [
        (each.name, each.count, each.assignments and [one.broker_ids for one in each.assignments])
        for each in request.topics
    ] == [("t", 4, None), ("u", 2, [[3, 1]]), ("v", 1, [])]
    assert (request.timeout_ms, request.validate_only) == (7, False)


@pytest.mark.parametrize("version", [1, DELETE_BY_NAME_VERSION_MAX])
def test_topics_are_deleted_by_name_in_every_version_that_names_them(version: int) -> None:
    wire = codec(DeleteTopicsRequest, version)
    decoded = wire.decode(memoryview(wire.encode(delete_topics_request(["t"], timeout_ms=7))))
    assert (decoded.topic_names, decoded.timeout_ms) == (["t"], 7)


def test_each_topic_has_an_outcome_whatever_was_ordered() -> None:
    wanted = [(ErrorCode.NONE, None), (ErrorCode.TOPIC_ALREADY_EXISTS, "why")]
    rows = [("t", 0, None), ("u", 36, "why")]
    created = [CreatableTopicResult(name=n, error_code=c, error_message=m) for n, c, m in rows]
    grown = [CreatePartitionsTopicResult(name=n, error_code=c, error_message=m) for n, c, m in rows]
    deleted = [DeletableTopicResult(name=n, error_code=c, error_message=m) for n, c, m in rows]
    assert topic_outcomes(CreateTopicsResponse(topics=created)) == wanted
    assert topic_outcomes(CreatePartitionsResponse(results=grown)) == wanted
    assert topic_outcomes(DeleteTopicsResponse(responses=deleted)) == wanted
