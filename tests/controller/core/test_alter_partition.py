"""AlterPartition: Kafka's order of errors, and what a success changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.control import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    PartitionData,
    TopicData,
    UpdateMetadataRequest,
)
from tests.controller.core.cluster import Cluster, three_brokers


def cluster_with_topic() -> Cluster:
    cluster = three_brokers()
    cluster.create("t", [1, 2, 3])
    cluster.take()
    return cluster


def alter(
    cluster: Cluster,
    isr: list[int],
    *,
    version: int = 3,
    topic_id: bytes | None = None,
    epochs: dict[int, int] | None = None,
    **data: Any,
) -> AlterPartitionResponse:
    partition = PartitionData(
        partition_index=data.pop("partition_index", 0),
        leader_epoch=data.pop("leader_epoch", 0),
        partition_epoch=data.pop("partition_epoch", 0),
        leader_recovery_state=data.pop("recovery", 0),
        new_isr=isr if version < 3 else [],
        new_isr_with_epochs=[
            BrokerState(broker_id=member, broker_epoch=(epochs or {}).get(member, -1))
            for member in isr
        ]
        if version >= 3
        else [],
    )
    request = AlterPartitionRequest(
        broker_id=data.pop("broker_id", 1),
        broker_epoch=data.pop("broker_epoch", 1),
        topics=[
            TopicData(
                topic_name=data.pop("topic", "t"),
                topic_id=topic_id or cluster.state.topics["t"].topic_id,
                partitions=[partition],
            )
        ],
    )
    assert not data
    response: AlterPartitionResponse = cluster.call(request, version)
    return response


def code(response: AlterPartitionResponse) -> int:
    return response.topics[0].partitions[0].error_code


@pytest.mark.scenario(180)
def test_a_shrunk_isr_is_kept_told_and_answered() -> None:
    cluster = cluster_with_topic()

    (topic,) = alter(cluster, [1, 3]).topics

    (entry,) = topic.partitions
    assert (entry.error_code, entry.leader_id, list(entry.isr)) == (0, 1, [1, 3])
    assert (entry.leader_epoch, entry.partition_epoch) == (0, 1)
    assert cluster.partition("t-0").isr == (1, 3)
    assert {b: [type(r) for r in sent] for b, sent in cluster.take().items()} == {
        1: [UpdateMetadataRequest],
        2: [UpdateMetadataRequest],
        3: [UpdateMetadataRequest],
    }
    assert cluster.replay() == cluster.state


@pytest.mark.scenario(180)
@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_every_version_is_served(version: int) -> None:
    cluster = cluster_with_topic()
    assert code(alter(cluster, [1, 2], version=version)) == ErrorCode.NONE


@pytest.mark.scenario(180)
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"topic_id": b"x" * 16}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"partition_index": 7}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"version": 1, "topic": "none"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"partition_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"recovery": 1}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_each_error_has_its_code(changes: dict[str, Any], expected: ErrorCode) -> None:
    cluster = cluster_with_topic()

    assert code(alter(cluster, [1, 3], **changes)) == expected
    assert cluster.partition("t-0").isr == (1, 2, 3)
    assert cluster.take() == {}


@pytest.mark.parametrize("isr", [[2, 3], []])
def test_an_isr_without_the_leader_is_refused(isr: list[int]) -> None:
    assert code(alter(cluster_with_topic(), isr)) == ErrorCode.INVALID_REQUEST


@pytest.mark.scenario(180)
def test_the_same_isr_again_is_a_success_whatever_the_partition_epoch() -> None:
    cluster = cluster_with_topic()
    records = len(cluster.records)

    response = alter(cluster, [1, 2, 3], partition_epoch=-5)

    assert code(response) == ErrorCode.NONE
    assert response.topics[0].partitions[0].partition_epoch == 0
    assert len(cluster.records) == records


@pytest.mark.scenario(180)
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (1, ErrorCode.OPERATION_NOT_ATTEMPTED),
        (2, ErrorCode.INELIGIBLE_REPLICA),
        (3, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_a_dead_broker_does_not_join(version: int, expected: ErrorCode) -> None:
    cluster = cluster_with_topic()
    cluster.expire(3)

    response = alter(cluster, [1, 2, 3], version=version, leader_epoch=1, partition_epoch=1)

    assert code(response) == expected


@pytest.mark.scenario(255)
def test_a_replica_on_an_offline_log_dir_does_not_join() -> None:
    cluster = cluster_with_topic()
    cluster.fail_log_dir(3, 1, ["t-0"])

    response = alter(cluster, [1, 2, 3], leader_epoch=1, partition_epoch=1)

    assert code(response) == ErrorCode.INELIGIBLE_REPLICA


def test_another_incarnation_or_a_stranger_does_not_join() -> None:
    cluster = cluster_with_topic()
    alter(cluster, [1])

    stale = alter(cluster, [1, 2], epochs={2: 9}, partition_epoch=1)
    stranger = alter(cluster, [1, 4], partition_epoch=1)
    right = alter(cluster, [1, 2], epochs={1: 1, 2: 2}, partition_epoch=1)

    assert code(stale) == code(stranger) == ErrorCode.INELIGIBLE_REPLICA
    assert code(right) == ErrorCode.NONE


def test_the_leader_counts_also_while_its_broker_is_leaving() -> None:
    cluster = cluster_with_topic()
    alter(cluster, [1])
    assert len(cluster.shut_down(1).remaining_partitions) == 1

    response = alter(cluster, [1, 2], partition_epoch=1)

    assert code(response) == ErrorCode.NONE
    assert list(cluster.shut_down(1).remaining_partitions) == []


@pytest.mark.parametrize(("broker_id", "broker_epoch"), [(1, 0), (1, 9), (9, 1)])
def test_a_stale_broker_is_refused_at_the_top(broker_id: int, broker_epoch: int) -> None:
    response = alter(cluster_with_topic(), [1], broker_id=broker_id, broker_epoch=broker_epoch)

    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH
    assert list(response.topics) == []


def test_a_broker_that_counts_as_dead_is_refused_at_the_top() -> None:
    cluster = cluster_with_topic()
    cluster.expire(1)
    response = alter(cluster, [1, 2])
    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH


def recovering() -> tuple[Cluster, dict[str, Any]]:
    """Return a cluster that elected broker 2 uncleanly, and what broker 2 says in each request."""
    cluster = three_brokers()
    cluster.create("t", [1, 2], configs={"unclean.leader.election.enable": "true"})
    alter(cluster, [1])
    cluster.expire(1)
    cluster.start_broker(1)
    partition = cluster.partition("t-0")
    assert (partition.leader, partition.isr, partition.is_recovering) == (2, (2,), True)
    return cluster, {
        "broker_id": 2,
        "broker_epoch": 2,
        "leader_epoch": partition.leader_epoch,
        "partition_epoch": partition.partition_epoch,
    }


def test_a_recovered_leader_says_so() -> None:
    cluster, leader = recovering()

    still = alter(cluster, [2], recovery=1, **leader)
    assert still.topics[0].partitions[0].leader_recovery_state == 1
    recovered = alter(cluster, [2], **leader)
    assert code(recovered) == ErrorCode.NONE
    assert recovered.topics[0].partitions[0].leader_recovery_state == 0
    assert not cluster.partition("t-0").is_recovering


def test_a_leader_that_recovers_still_is_alone_in_the_isr() -> None:
    """Source: KIP-704."""
    cluster, leader = recovering()

    assert code(alter(cluster, [2, 1], recovery=1, **leader)) == ErrorCode.INVALID_REQUEST
    assert cluster.partition("t-0").isr == (2,)
    assert code(alter(cluster, [2, 1], **leader)) == ErrorCode.NONE


def test_a_leader_that_recovers_still_may_leave_all_others_out() -> None:
    cluster, leader = recovering()
    known = cluster.state.topics["t"].partitions
    known[0] = replace(known[0], isr=(2, 1))

    assert code(alter(cluster, [2], recovery=1, **leader)) == ErrorCode.NONE
    assert (cluster.partition("t-0").isr, cluster.partition("t-0").is_recovering) == ((2,), True)


def test_a_leader_that_was_elected_cleanly_has_nothing_to_recover() -> None:
    cluster = cluster_with_topic()
    assert code(alter(cluster, [1], recovery=1)) == ErrorCode.INVALID_REQUEST
