"""Reassignments as they are ordered and listed, and what the answers tell."""

from __future__ import annotations

from protocol.admin.reassignments import (
    list_reassignments_request,
    reassign_outcomes,
    reassign_request,
    reassignment_views,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from tests.protocol.admin.views import reassignment

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def test_each_topic_is_named_once_and_none_cancels() -> None:
    request = reassign_request({T1: (3, 2), U0: None, T0: [1]}, timeout_ms=7)
    assert [
        (topic.name, [(each.partition_index, each.replicas) for each in topic.partitions])
        for topic in request.topics
    ] == [("t", [(1, [3, 2]), (0, [1])]), ("u", [(0, None)])]
    assert request.timeout_ms == 7


def test_an_order_has_an_outcome_as_a_whole_and_for_each_partition() -> None:
    parts = [
        ReassignablePartitionResponse(partition_index=0, error_code=0, error_message=None),
        ReassignablePartitionResponse(partition_index=1, error_code=39, error_message="why"),
    ]
    answer = AlterPartitionReassignmentsResponse(
        error_code=41,
        error_message="not here",
        responses=[ReassignableTopicResponse(name="t", partitions=parts)],
    )
    whole, found = reassign_outcomes(answer)
    assert whole == (ErrorCode.NOT_CONTROLLER, "not here")
    assert found == {
        T0: (ErrorCode.NONE, None),
        T1: (ErrorCode.INVALID_REPLICA_ASSIGNMENT, "why"),
    }


def test_all_reassignments_or_those_of_some_partitions_are_asked_for() -> None:
    assert list_reassignments_request(timeout_ms=7).topics is None
    some = list_reassignments_request([T1, U0, T0], timeout_ms=7)
    assert [(each.name, list(each.partition_indexes)) for each in some.topics or ()] == [
        ("t", [1, 0]),
        ("u", [0]),
    ]
    assert list(list_reassignments_request([]).topics or ()) == []
    assert list_reassignments_request([]).topics is not None


def test_what_is_under_way_is_told_by_partition() -> None:
    ongoing = OngoingPartitionReassignment(
        partition_index=1, replicas=[3, 1], adding_replicas=[3], removing_replicas=[1]
    )
    answer = ListPartitionReassignmentsResponse(
        topics=[OngoingTopicReassignment(name="t", partitions=[ongoing])]
    )
    (found,) = reassignment_views(answer)
    assert found == reassignment(T1, replicas=(3, 1), adding=(3,), removing=(1,))
    assert found.tp == T1


def test_a_reassignment_ends_without_the_replicas_that_go() -> None:
    assert reassignment(T0, replicas=(3, 2, 1), adding=(3,), removing=(1,)).target == (3, 2)
