"""What clients are answered when a request fails: the error is in every place."""

from __future__ import annotations

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.elections import ElectLeadersRequest, TopicPartitions
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
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
from protocol.refusals import (
    refuse_create_partitions,
    refuse_create_topics,
    refuse_delete_topics,
    refuse_describe_configs,
    refuse_elect_leaders,
    refuse_list_reassignments,
    refuse_reassignments,
)

CODE = ErrorCode.UNKNOWN_SERVER_ERROR
ERROR = KafkaError(CODE, "why")


def test_every_topic_of_a_creation_gets_the_code() -> None:
    request = CreateTopicsRequest(topics=[CreatableTopic(name="a"), CreatableTopic(name="b")])

    topics = refuse_create_topics(request, 7, ERROR).topics

    assert [(t.name, t.error_code) for t in topics] == [("a", CODE), ("b", CODE)]


def test_every_topic_of_a_deletion_gets_the_code_old_or_new() -> None:
    old = refuse_delete_topics(DeleteTopicsRequest(topic_names=["a"]), 5, ERROR).responses
    listed = DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=b"i" * 16)])
    new = refuse_delete_topics(listed, 6, ERROR).responses

    assert [(r.name, r.error_code) for r in old] == [("a", CODE)]
    assert [(r.topic_id, r.error_code) for r in new] == [(b"i" * 16, CODE)]


def test_every_topic_of_a_growth_gets_the_code() -> None:
    request = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="a", count=3)])

    assert [r.error_code for r in refuse_create_partitions(request, 3, ERROR).results] == [CODE]


def test_every_partition_of_an_election_gets_the_code() -> None:
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="a", partitions=[0, 4])])

    new = refuse_elect_leaders(request, 2, ERROR)
    old = refuse_elect_leaders(request, 0, ERROR)

    (topic,) = new.replica_election_results
    assert [(p.partition_id, p.error_code) for p in topic.partition_result] == [
        (0, CODE),
        (4, CODE),
    ]
    assert (new.error_code, old.error_code) == (CODE, ErrorCode.NONE)
    everywhere = ElectLeadersRequest(topic_partitions=None)
    assert list(refuse_elect_leaders(everywhere, 2, ERROR).replica_election_results) == []


def test_every_partition_of_a_reassignment_gets_the_code() -> None:
    partitions = [ReassignablePartition(partition_index=n, replicas=None) for n in (0, 4)]
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="a", partitions=partitions)]
    )

    response = refuse_reassignments(request, 1, ERROR)

    (topic,) = response.responses
    assert response.error_code == CODE
    assert [(p.partition_index, p.error_code) for p in topic.partitions] == [(0, CODE), (4, CODE)]


def test_a_list_of_reassignments_has_one_place_for_the_code() -> None:
    request = ListPartitionReassignmentsRequest()

    refused = refuse_list_reassignments(request, 0, ERROR)

    assert (refused.error_code, list(refused.topics)) == (CODE, [])


def test_partitions_that_a_list_of_reassignments_names_are_there_without_replicas() -> None:
    topic = ListPartitionReassignmentsTopics(name="a", partition_indexes=[0, 4])

    refused = refuse_list_reassignments(ListPartitionReassignmentsRequest(topics=[topic]), 0, ERROR)

    (row,) = refused.topics
    assert [(each.partition_index, list(each.replicas)) for each in row.partitions] == [
        (0, []),
        (4, []),
    ]


def test_every_resource_gets_the_code() -> None:
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=2, resource_name="a")]
    )

    (result,) = refuse_describe_configs(request, 4, ERROR).results

    assert (result.resource_type, result.resource_name, result.error_code) == (2, "a", CODE)
