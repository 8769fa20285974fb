"""What clients are answered when a rule fails: the code stands wherever there is a place."""

from __future__ import annotations

from typing import Any

from controller.handlers import HANDLERS, from_clients
from protocol.errors import ErrorCode
from protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.elections import ElectLeadersRequest, TopicPartitions
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.topics import (
    CreatableTopic,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
)

CODE = ErrorCode.UNKNOWN_SERVER_ERROR


def refuse(name: str, request: Any, version: int) -> Any:
    assert from_clients.__doc__
    (handler,) = [h for h in HANDLERS.values() if h.api.name == name]
    return handler.refuse(request, version, CODE)


def test_every_topic_of_a_creation_gets_the_code() -> None:
    request = CreateTopicsRequest(topics=[CreatableTopic(name="a"), CreatableTopic(name="b")])

    topics = refuse("CreateTopics", request, 7).topics

    assert [(t.name, t.error_code) for t in topics] == [("a", CODE), ("b", CODE)]


def test_every_topic_of_a_deletion_gets_the_code_old_or_new() -> None:
    old = refuse("DeleteTopics", DeleteTopicsRequest(topic_names=["a"]), 5).responses
    listed = DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=b"i" * 16)])
    new = refuse("DeleteTopics", listed, 6).responses

    assert [(r.name, r.error_code) for r in old] == [("a", CODE)]
    assert [(r.topic_id, r.error_code) for r in new] == [(b"i" * 16, CODE)]


def test_every_topic_of_a_growth_gets_the_code() -> None:
    request = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="a", count=3)])

    assert [r.error_code for r in refuse("CreatePartitions", request, 3).results] == [CODE]


def test_every_partition_of_an_election_gets_the_code() -> None:
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="a", partitions=[0, 4])])

    new = refuse("ElectLeaders", request, 2)
    old = refuse("ElectLeaders", request, 0)

    (topic,) = new.replica_election_results
    assert [(p.partition_id, p.error_code) for p in topic.partition_result] == [
        (0, CODE),
        (4, CODE),
    ]
    assert (new.error_code, old.error_code) == (CODE, ErrorCode.NONE)
    assert (
        list(
            refuse(
                "ElectLeaders", ElectLeadersRequest(topic_partitions=None), 2
            ).replica_election_results
        )
        == []
    )


def test_every_partition_of_a_reassignment_gets_the_code() -> None:
    partitions = [ReassignablePartition(partition_index=n, replicas=None) for n in (0, 4)]
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="a", partitions=partitions)]
    )

    response = refuse("AlterPartitionReassignments", request, 1)

    (topic,) = response.responses
    assert response.error_code == CODE
    assert [(p.partition_index, p.error_code) for p in topic.partitions] == [(0, CODE), (4, CODE)]


def test_a_list_of_reassignments_has_one_place_for_the_code() -> None:
    request = ListPartitionReassignmentsRequest()

    assert refuse("ListPartitionReassignments", request, 0).error_code == CODE


def test_every_resource_gets_the_code() -> None:
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=2, resource_name="a")]
    )

    (result,) = refuse("DescribeConfigs", request, 4).results

    assert (result.resource_type, result.resource_name, result.error_code) == (2, "a", CODE)
