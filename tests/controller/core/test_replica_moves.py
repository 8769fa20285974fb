"""Replicas move by the table; each move sends what Kafka sends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.core.effects import Send
from controller.core.phases import ReplicaPhase
from controller.core.records import DeletionQueued
from controller.core.replica_moves import Replica, move_replicas
from controller.core.step import Step
from protocol.messages.control import LeaderAndIsrRequest, StopReplicaRequest
from tests.controller.core.cluster import Cluster, three_brokers, tp
from tests.controller.core.test_partition_moves import step_of

T0 = tp("t-0")


def cluster_with_topic(*replicas: int) -> Cluster:
    cluster = three_brokers()
    cluster.create("t", list(replicas or (1, 2, 3)))
    return cluster


def requests(step: Step) -> list[tuple[int, str]]:
    return [
        (effect.broker_id, type(effect.request).__name__.removesuffix("Request"))
        for effect in step.effects
        if isinstance(effect, Send)
    ]


@pytest.mark.scenario(166)
def test_an_undeclared_move_is_skipped_with_a_warning() -> None:
    step = step_of(cluster_with_topic())

    move_replicas(step, [Replica(T0, 1)], ReplicaPhase.DELETION_SUCCESSFUL)

    assert step.effects == []
    assert step.notes[0].is_warning
    assert step.run.replica_phase_of(T0, 1) is ReplicaPhase.ONLINE


def test_online_again_asks_the_broker_with_the_current_state() -> None:
    step = step_of(cluster_with_topic())

    move_replicas(step, [Replica(T0, 2)], ReplicaPhase.ONLINE)

    assert requests(step) == [
        (2, "LeaderAndIsr"),
        (1, "UpdateMetadata"),
        (2, "UpdateMetadata"),
        (3, "UpdateMetadata"),
    ]


def test_offline_stops_the_replica_and_tells_the_others() -> None:
    cluster = cluster_with_topic()
    step = step_of(cluster)

    move_replicas(step, [Replica(T0, 3)], ReplicaPhase.OFFLINE)

    assert requests(step) == [
        (1, "LeaderAndIsr"),
        (2, "LeaderAndIsr"),
        (1, "UpdateMetadata"),
        (2, "UpdateMetadata"),
        (3, "UpdateMetadata"),
        (3, "StopReplica"),
    ]
    partition = cluster.state.partition(T0)
    assert (partition.leader, partition.leader_epoch, partition.isr) == (1, 1, (1, 2))
    stop = next(
        e.request
        for e in step.effects
        if isinstance(e, Send) and isinstance(e.request, StopReplicaRequest)
    )
    assert stop.topic_states[0].partition_states[0].leader_epoch == 0


@pytest.mark.scenario(162)
def test_the_last_isr_member_stays_listed() -> None:
    cluster = cluster_with_topic(2)
    step = step_of(cluster)

    move_replicas(step, [Replica(T0, 2)], ReplicaPhase.OFFLINE)

    partition = cluster.state.partition(T0)
    assert (partition.leader, partition.leader_epoch, partition.isr) == (-1, 1, (2,))


@pytest.mark.scenario(261)
def test_a_replica_outside_the_isr_costs_no_epoch() -> None:
    cluster = cluster_with_topic()
    first = step_of(cluster)
    move_replicas(first, [Replica(T0, 3)], ReplicaPhase.OFFLINE)
    second = step_of(cluster)

    move_replicas(second, [Replica(T0, 3)], ReplicaPhase.OFFLINE)

    assert second.records == []
    assert cluster.state.partition(T0).leader_epoch == 1
    assert requests(second) == requests(first)


def test_a_topic_being_deleted_is_not_told_to_the_others() -> None:
    cluster = cluster_with_topic()
    step = step_of(cluster)
    step.change(DeletionQueued("t"))

    move_replicas(step, [Replica(T0, 3)], ReplicaPhase.OFFLINE)
    move_replicas(step, [Replica(T0, 3)], ReplicaPhase.DELETION_STARTED)

    assert requests(step) == [(3, "StopReplica"), (3, "StopReplica")]


@pytest.mark.scenario(159)
def test_a_new_replica_of_a_led_partition_is_told_that_it_is_new() -> None:
    cluster = cluster_with_topic(1, 2)
    step = step_of(cluster)

    move_replicas(step, [Replica(T0, 3), Replica(T0, 1)], ReplicaPhase.NEW)

    sent = [
        e
        for e in step.effects
        if isinstance(e, Send) and isinstance(e.request, LeaderAndIsrRequest)
    ]
    assert [send.broker_id for send in sent] == [3]
    assert sent[0].request.topic_states[0].partition_states[0].is_new
    assert step.run.replica_phase_of(T0, 3) is ReplicaPhase.NEW


def test_a_leader_cannot_be_new() -> None:
    cluster = cluster_with_topic(1, 2)
    step = step_of(cluster)
    step.run.set_replica_phase(T0, 1, ReplicaPhase.NON_EXISTENT)

    move_replicas(step, [Replica(T0, 1), Replica(T0, 3)], ReplicaPhase.NEW)

    assert step.run.replica_phase_of(T0, 1) is ReplicaPhase.NON_EXISTENT
    assert step.run.replica_phase_of(T0, 3) is ReplicaPhase.NEW
    assert "it leads" in step.notes[0].text


def told_new(step: Step) -> dict[int, bool]:
    """Return who is told of t-0, and whether as of a new replica."""
    return {
        effect.broker_id: effect.request.topic_states[0].partition_states[0].is_new
        for effect in step.effects
        if isinstance(effect, Send) and isinstance(effect.request, LeaderAndIsrRequest)
    }


def test_a_replica_that_was_told_as_new_is_not_told_again_as_it_comes_online() -> None:
    step = step_of(cluster_with_topic(1, 2))
    move_replicas(step, [Replica(T0, 3)], ReplicaPhase.NEW)
    step.effects.clear()

    move_replicas(step, [Replica(T0, 3)], ReplicaPhase.ONLINE)

    assert step.effects == []
    assert step.run.replica_phase_of(T0, 3) is ReplicaPhase.ONLINE


def of_three(cluster: Cluster, **changes: Any) -> None:
    partitions = cluster.state.topics["t"].partitions
    partitions[0] = replace(partitions[0], **changes)


@pytest.mark.parametrize(
    ("adding", "isr", "is_new"),
    [((3,), (1, 2), True), ((3,), (1, 2, 3), False), ((), (1, 2), False)],
)
def test_online_again_is_new_only_what_is_being_added_and_not_in_sync_yet(
    adding: tuple[int, ...], isr: tuple[int, ...], *, is_new: bool
) -> None:
    cluster = cluster_with_topic()
    of_three(cluster, adding_replicas=adding, isr=isr)
    step = step_of(cluster)

    move_replicas(step, [Replica(T0, 3)], ReplicaPhase.ONLINE)

    assert told_new(step) == {3: is_new}


@pytest.mark.parametrize(
    ("adding", "phase", "is_new"),
    [
        ((3,), ReplicaPhase.NON_EXISTENT, True),
        ((3,), ReplicaPhase.ONLINE, False),
        ((), ReplicaPhase.NON_EXISTENT, False),
    ],
)
@pytest.mark.kafka_bug("KAFKA-10314")
def test_who_is_about_to_be_added_hears_of_who_goes_offline_as_a_new_replica(
    adding: tuple[int, ...], phase: ReplicaPhase, *, is_new: bool
) -> None:
    cluster = cluster_with_topic()
    of_three(cluster, adding_replicas=adding, isr=(1, 2))
    step = step_of(cluster)
    step.run.set_replica_phase(T0, 3, phase)

    move_replicas(step, [Replica(T0, 2)], ReplicaPhase.OFFLINE)

    assert told_new(step) == {1: False, 3: is_new}


def test_where_nobody_has_led_yet_everyone_only_hears_who_is_alive() -> None:
    cluster = three_brokers()
    cluster.expire(2)
    cluster.create("t", [2])
    step = step_of(cluster)

    move_replicas(step, [Replica(T0, 2)], ReplicaPhase.ONLINE)
    assert step.effects == []
    move_replicas(step, [Replica(T0, 2)], ReplicaPhase.OFFLINE)

    assert requests(step) == [(1, "UpdateMetadata"), (3, "UpdateMetadata")]
    assert step.records == []


def test_a_new_controller_notes_that_it_looked_at_who_is_not_in_the_isr() -> None:
    """Source: ReplicaStateMachine.doRemoveReplicasFromIsr."""
    cluster = cluster_with_topic()
    of_three(cluster, isr=(1, 2))
    after = cluster.state.controller_epoch = cluster.state.controller_epoch + 1
    step = step_of(cluster)

    move_replicas(step, [Replica(T0, 3)], ReplicaPhase.OFFLINE)

    partition = cluster.state.partition(T0)
    assert (partition.controller_epoch, partition.leader_epoch) == (after, 0)
    assert partition.isr == (1, 2)


def test_a_replica_passes_the_phases_of_its_deletion() -> None:
    step = step_of(cluster_with_topic())
    step.change(DeletionQueued("t"))
    for phase in (
        ReplicaPhase.OFFLINE,
        ReplicaPhase.DELETION_STARTED,
        ReplicaPhase.DELETION_INELIGIBLE,
        ReplicaPhase.OFFLINE,
        ReplicaPhase.DELETION_STARTED,
        ReplicaPhase.DELETION_SUCCESSFUL,
        ReplicaPhase.NON_EXISTENT,
    ):
        move_replicas(step, [Replica(T0, 3)], phase)
        assert step.run.replica_phase_of(T0, 3) is phase
