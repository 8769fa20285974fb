"""The answers of CreatePartitions."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.topics import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from tests.controller.core.cluster import Cluster, three_brokers
from tests.controller.core.reassigning import alter


def wanted(
    count: int, assignment: list[list[int]] | None = None, *, name: str = "t"
) -> CreatePartitionsTopic:
    return CreatePartitionsTopic(
        name=name,
        count=count,
        assignments=None
        if assignment is None
        else [CreatePartitionsAssignment(broker_ids=replicas) for replicas in assignment],
    )


def grow(
    cluster: Cluster, *topics: CreatePartitionsTopic, validate_only: bool = False
) -> list[CreatePartitionsTopicResult]:
    request = CreatePartitionsRequest(
        topics=list(topics), timeout_ms=60_000, validate_only=validate_only
    )
    return list(cluster.call(request, 3).results)


def cluster_with_topic() -> Cluster:
    cluster = three_brokers()
    cluster.create("t", [1, 2], [2, 3])
    return cluster


def test_new_partitions_lead_and_old_ones_are_not_touched() -> None:
    cluster = cluster_with_topic()

    (result,) = grow(cluster, wanted(4, [[3, 1], [1, 2]]))

    assert (result.error_code, result.error_message) == (ErrorCode.NONE, None)
    partitions = cluster.state.topics["t"].partitions
    assert [p.leader for p in partitions] == [1, 2, 3, 1]
    assert [p.partition_epoch for p in partitions] == [0, 0, 0, 0]
    assert cluster.replay() == cluster.state


def test_leaders_of_new_partitions_go_round_from_the_first_replica_of_partition_zero() -> None:
    cluster = three_brokers()
    cluster.create("t", [2, 1], [3, 2])

    grow(cluster, wanted(5))

    assert [p.replicas[0] for p in cluster.state.topics["t"].partitions] == [2, 3, 1, 2, 3]


@pytest.mark.scenario(158)
def test_growth_with_a_dead_first_replica_starts_at_the_second() -> None:
    cluster = cluster_with_topic()
    cluster.expire(3)

    grow(cluster, wanted(3, [[3, 1]]))

    assert cluster.partition("t-2").leader == 1
    assert cluster.partition("t-2").isr == (1,)


@pytest.mark.parametrize(
    ("topic", "code", "message"),
    [
        (wanted(3, name="u"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "does not exist"),
        (wanted(2), ErrorCode.INVALID_PARTITIONS, "Topic already has 2 partitions."),
        (wanted(1), ErrorCode.INVALID_PARTITIONS, "higher than the requested 1"),
        (
            wanted(3, [[8, 9]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Unknown broker(s) in replica assignment: 8, 9.",
        ),
        (
            wanted(4, [[1, 2]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Increasing the number of partitions by 2 but 1 assignments provided.",
        ),
        (
            wanted(3, [[]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Cannot have replication factor of 0 for partition id 2.",
        ),
        (
            wanted(3, [[1, 1]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Duplicate brokers not allowed in replica assignment: 1, 1 for partition id 2.",
        ),
        (
            wanted(5, [[1], [2, 1], [1, 2, 3]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Inconsistent replication factor between partitions, partition 0 has 2 while "
            "partitions [2, 4] have replication factors [1, 3], respectively.",
        ),
    ],
)
def test_what_is_wrong_is_answered_in_kafkas_words(
    topic: CreatePartitionsTopic, code: ErrorCode, message: str
) -> None:
    cluster = cluster_with_topic()

    (result,) = grow(cluster, topic)

    assert result.error_code == code
    assert message in (result.error_message or "")
    assert len(cluster.state.topics["t"].partitions) == 2


def test_too_few_brokers_are_said_so() -> None:
    cluster = cluster_with_topic()
    cluster.expire(2, 3)

    (result,) = grow(cluster, wanted(3))

    assert result.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_topic_listed_twice_is_refused() -> None:
    (result,) = grow(cluster_with_topic(), wanted(3), wanted(4))
    assert result.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("count", [10_003, 2**31 - 1])
def test_a_request_for_too_many_partitions_is_refused_as_a_whole(count: int) -> None:
    cluster = cluster_with_topic()
    results = grow(cluster, wanted(count), wanted(3, name="unknown"))
    assert [(r.name, r.error_code, r.error_message) for r in results] == [
        (name, ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
        for name in ("t", "unknown")
    ]
    assert len(cluster.state.topics["t"].partitions) == 2


def test_a_topic_being_deleted_or_reassigned_does_not_grow() -> None:
    cluster = cluster_with_topic()
    alter(cluster, ("t-0", [3, 1, 2]))
    assert grow(cluster, wanted(3))[0].error_code == ErrorCode.REASSIGNMENT_IN_PROGRESS
    alter(cluster, ("t-0", None))

    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.delete("t")

    assert grow(cluster, wanted(3))[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_validation_alone_adds_nothing() -> None:
    cluster = cluster_with_topic()
    cluster.take()

    assert grow(cluster, wanted(9), validate_only=True)[0].error_code == ErrorCode.NONE
    assert len(cluster.state.topics["t"].partitions) == 2
    assert cluster.take() == {}


@pytest.mark.parametrize("timeout_ms", [0, 500])
def test_the_answer_is_late_when_its_time_is_up(timeout_ms: int) -> None:
    cluster = cluster_with_topic()
    cluster.held = [3]
    token = cluster.ask(CreatePartitionsRequest(topics=[wanted(3)], timeout_ms=timeout_ms), 3)

    cluster.advance(500)

    assert cluster.answers[token].results[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert len(cluster.state.topics["t"].partitions) == 3


@pytest.mark.scenario(243)
def test_a_topic_does_not_grow_onto_cordoned_brokers() -> None:
    cluster = cluster_with_topic()
    cluster.beat(1, cordoned=[1, 2])
    cluster.beat(2, cordoned=[1, 2])

    (placed,) = grow(cluster, wanted(3))
    (manual,) = grow(cluster, wanted(3, [[3, 1]]))

    assert placed.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert manual.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert manual.error_message is not None
    assert manual.error_message.endswith("all cordoned or offline: 1")
    cluster.beat(2, cordoned=[1])
    assert [r.error_code for r in grow(cluster, wanted(3, [[3, 2]]))] == [ErrorCode.NONE]


def test_what_is_added_by_hand_has_as_many_replicas_as_partition_zero() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    for added, code in (([3], ErrorCode.INVALID_REPLICA_ASSIGNMENT), ([3, 1], ErrorCode.NONE)):
        (result,) = grow(cluster, wanted(2, [added]))
        assert result.error_code == code
