"""The answers of AlterPartitionReassignments and ListPartitionReassignments."""

from __future__ import annotations

import gc

from controller.core.alter_reassignments import alter_partition_reassignments
from protocol.errors import ErrorCode
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.controller.core.cluster import three_brokers
from tests.controller.core.reassigning import alter, codes, under_way, wish


def test_each_partition_is_answered_by_itself() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2], [2, 1])

    response = alter(
        cluster, ("t-0", [3, 2]), ("t-1", [2, 2]), ("u-0", [1]), ("t-7", None), ("t-1", None)
    )

    assert (response.error_code, response.error_message) == (0, "")
    assert codes(response) == {
        "t-0": 0,
        "t-1": ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        "u-0": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "t-7": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    messages = [p.error_message for t in response.responses for p in t.partitions]
    assert messages[0] is None
    assert messages[-1] == "The partition does not exist."


def test_the_answer_waits_for_no_broker() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.held = [1, 2, 3]

    token = cluster.ask(wish(("t-0", [3, 1])), 0)

    assert codes(cluster.answers[token]) == {"t-0": 0}
    assert alter_partition_reassignments.__doc__


def test_version_1_echoes_what_it_was_asked() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])

    response = alter(cluster, ("t-0", [3]), is_factor_free=False)

    assert not response.allow_replication_factor_change
    assert codes(response) == {"t-0": ErrorCode.INVALID_REPLICATION_FACTOR}


def test_of_a_partition_named_twice_the_last_wish_counts() -> None:
    cluster = three_brokers()
    cluster.create("t", [1])
    twice = [
        ReassignablePartition(partition_index=0, replicas=[2]),
        ReassignablePartition(partition_index=0, replicas=[3]),
    ]

    response = cluster.call(
        AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="t", partitions=twice)]),
        0,
    )

    assert codes(response) == {"t-0": 0}
    assert under_way(cluster) == {"t-0": ([3, 1], [3], [1])}


def test_nothing_asked_is_answered_with_nothing() -> None:
    assert codes(alter(three_brokers())) == {}


def test_only_what_is_under_way_is_listed() -> None:
    cluster = three_brokers()
    cluster.create("t", [1], [2], [3])
    cluster.create("u", [1])
    alter(cluster, ("t-0", [2]), ("t-2", [1]), ("u-0", [3]))

    assert list(under_way(cluster)) == ["t-0", "t-2", "u-0"]
    assert under_way(cluster, "t-2", "t-1", "t-9", "v-0") == {"t-2": ([1, 3], [1], [3])}


def test_a_refused_partition_leaves_no_garbage_that_has_to_be_looked_for() -> None:
    cluster = three_brokers()
    refused = wish(*((f"unknown-{number}", [1]) for number in range(50)))
    cluster.ask(refused, 0)
    gc.collect()
    gc.disable()
    try:
        cluster.ask(refused, 0)
        assert gc.collect() == 0
    finally:
        gc.enable()
