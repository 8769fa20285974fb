"""Replicas that were reassigned away are deleted in the end, whatever their broker goes through."""

from __future__ import annotations

from random import Random

import pytest

from controller.core.events import RequestAnswered
from controller.core.reassignment_records import RemovalsConfirmed
from controller.core.removals import stop_replica_answered, tell_again
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.control import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from tests.controller.core.cluster import Cluster, three_brokers, tp
from tests.controller.core.reassigning import alter, set_isr

T0 = tp("t-0")


def reassigned_away_from_1(cluster: Cluster) -> None:
    """Let t-0 go from brokers 1 and 2 to 2 and 3."""
    alter(cluster, ("t-0", [2, 3]))
    set_isr(cluster, "t-0", [*cluster.partition("t-0").isr, 3])
    assert cluster.partition("t-0").replicas == (2, 3)


def deletion_of(name: TopicPartition) -> StopReplicaRequest:
    state = StopReplicaPartitionState(partition_index=name.partition, delete_partition=True)
    topic = StopReplicaTopicState(topic_name=name.topic, partition_states=[state])
    return StopReplicaRequest(topic_states=[topic])


def answered(
    cluster: Cluster, sequence: int, name: TopicPartition, code: ErrorCode = ErrorCode.NONE
) -> Step:
    """Return what follows when broker 1 answers a deletion with ``code``."""
    error = StopReplicaPartitionError(
        topic_name=name.topic, partition_index=name.partition, error_code=code
    )
    response = StopReplicaResponse(partition_errors=[error])
    step = Step(cluster.state, cluster.machine.run, cluster.config, Random(0), cluster.now_ms)
    stop_replica_answered(step, RequestAnswered(1, 1, sequence, deletion_of(name), response))
    return step


def with_topic() -> Cluster:
    cluster = three_brokers()
    assert cluster.create("t", [1, 2], [1, 3]).error_code == 0
    return cluster


@pytest.mark.kafka_bug("KAFKA-13198")
def test_a_confirmed_removal_is_forgotten() -> None:
    cluster = with_topic()

    reassigned_away_from_1(cluster)

    assert T0 not in cluster.brokers[1].files
    assert cluster.state.removed == {}


@pytest.mark.kafka_bug("KAFKA-10548", "KAFKA-13198")
def test_a_broker_that_was_dead_is_told_when_it_returns() -> None:
    cluster = with_topic()
    cluster.expire(1)
    reassigned_away_from_1(cluster)
    assert cluster.state.removed == {1: {T0: None}}

    cluster.start_broker(1)

    assert list(cluster.brokers[1].files) == [tp("t-1")]
    assert cluster.state.removed == {}


@pytest.mark.kafka_bug("KAFKA-10548")
def test_a_log_dir_that_was_broken_is_cleaned_after_its_repair() -> None:
    cluster = with_topic()
    cluster.fail_log_dir(1, 1, ["t-0"])
    reassigned_away_from_1(cluster)
    assert cluster.state.removed == {1: {T0: None}}

    cluster.start_broker(1, bad=["t-0"])
    assert cluster.state.removed == {1: {T0: None}}
    cluster.start_broker(1)

    assert T0 not in cluster.brokers[1].files
    assert cluster.state.removed == {}


@pytest.mark.kafka_bug("KAFKA-10548")
def test_a_log_dir_that_comes_back_to_a_living_broker_is_cleaned() -> None:
    cluster = with_topic()
    cluster.fail_log_dir(1, 1, ["t-0"])
    reassigned_away_from_1(cluster)

    cluster.return_log_dirs(1, [1, 2], still_bad=["t-0"])
    assert cluster.state.removed == {1: {T0: None}}
    cluster.return_log_dirs(1, [1, 2])

    assert T0 not in cluster.brokers[1].files
    assert cluster.state.removed == {}


def test_a_controller_that_ends_before_it_tells_leaves_it_to_the_next() -> None:
    cluster = with_topic()
    cluster.held = [1]
    reassigned_away_from_1(cluster)
    assert T0 in cluster.brokers[1].files

    after = cluster.restart()
    after.settle()

    assert T0 not in after.brokers[1].files
    assert after.state.removed == {}
    assert tell_again.__doc__


def test_an_answer_to_an_earlier_removal_does_not_confirm_a_later_one() -> None:
    cluster = with_topic()
    cluster.held = [3]
    cluster.take()
    for target in ([2, 3], None, [2, 3]):
        alter(cluster, ("t-0", target))
    told = len(cluster.take()[3])
    alter(cluster, ("t-0", None))

    for _ in range(told):
        cluster.answer_next(3)

    assert T0 in cluster.brokers[3].files
    assert cluster.state.removed == {3: {T0: None}}
    after = cluster.restart()
    after.settle()
    assert T0 not in after.brokers[3].files
    assert after.state.removed == {}


def test_a_refused_request_removes_nothing() -> None:
    cluster = with_topic()
    cluster.brokers[1].code = ErrorCode.STALE_BROKER_EPOCH

    reassigned_away_from_1(cluster)

    assert cluster.state.removed == {1: {T0: None}}
    assert not any(isinstance(record, RemovalsConfirmed) for record in cluster.records)


def test_what_was_asked_last_before_a_removal_does_not_confirm_it_and_what_comes_next_does() -> (
    None
):
    cluster = with_topic()
    cluster.held = [1]
    reassigned_away_from_1(cluster)
    asked = cluster.machine.run.asked_before_removal[1][T0]

    assert answered(cluster, asked, T0).records == []
    assert answered(cluster, asked + 1, T0).records == [RemovalsConfirmed(1, (T0,))]
    assert cluster.machine.run.asked_before_removal == {}


def test_a_replica_that_is_not_to_go_is_not_deleted_though_its_epoch_is_newer() -> None:
    cluster = with_topic()
    cluster.held = [1]
    reassigned_away_from_1(cluster)
    fenced = ErrorCode.FENCED_LEADER_EPOCH

    assert answered(cluster, 1_000, tp("t-1"), fenced).effects == []
    assert len(answered(cluster, 1_000, T0, fenced).effects) == 1


def test_a_replica_that_comes_back_is_not_removed() -> None:
    cluster = with_topic()
    cluster.held = [1]
    reassigned_away_from_1(cluster)

    alter(cluster, ("t-0", [2, 3, 1]))
    cluster.held = []
    cluster.settle()

    assert cluster.state.removed == {}
    assert T0 in cluster.brokers[1].files


@pytest.mark.parametrize("is_recreated", [False, True])
def test_a_topic_deleted_meanwhile_does_not_save_its_files(is_recreated: bool) -> None:
    cluster = with_topic()
    cluster.fail_log_dir(1, 1, ["t-0"])
    reassigned_away_from_1(cluster)
    cluster.delete("t")
    assert "t" not in cluster.state.topics
    if is_recreated:
        cluster.create("t", [2, 3])
        cluster.delete("t")

    cluster.start_broker(1)

    assert T0 not in cluster.brokers[1].files
    assert cluster.state.removed == {}


def test_a_replica_of_an_older_topic_is_deleted_though_its_epoch_is_newer() -> None:
    cluster = with_topic()
    cluster.expire(2)
    cluster.beat(2)
    set_isr(cluster, "t-0", [1, 2])
    cluster.expire(1)
    reassigned_away_from_1(cluster)
    alter(cluster, ("t-1", [3]))
    cluster.delete("t")
    assert cluster.create("t", [2, 3], [3, 2]).error_code == 0

    cluster.beat(1)
    cluster.settle()

    assert T0 not in cluster.brokers[1].files
    assert cluster.state.removed == {}
