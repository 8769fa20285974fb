"""One batch: order, sticky flags, epochs, who is in it."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.collate import RequestBatch
from controller.core.records import (
    BrokerFenced,
    ControllerStarted,
    DeletionQueued,
    Leadership,
    LeadershipChanged,
    PartitionsAdded,
    Record,
    ReplicasProbed,
    ShutdownBegun,
)
from controller.core.state import ClusterState, Partition
from protocol.ids import NO_LEADER
from protocol.messages.control import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from tests.controller.core.cluster import registered, topic_records, tp

T0, T1 = tp("t-0"), tp("t-1")
LED = Partition(replicas=(1, 2), leader=1, leader_epoch=3, isr=(1, 2), partition_epoch=5)


def state_of(*records: Record) -> ClusterState:
    state = ClusterState()
    live = [record for broker_id in (1, 2, 3) for record in registered(broker_id, broker_id)]
    for record in (ControllerStarted("c", 9), *live, *topic_records("t", [LED, LED]), *records):
        record.apply(state)
    return state


def batch(*records: Record) -> RequestBatch:
    return RequestBatch(state_of(*records), 100)


def kinds(made: RequestBatch) -> list[tuple[int, type[Any]]]:
    return [(broker_id, type(request)) for broker_id, request in made.requests()]


def of_kind(made: RequestBatch, kind: type[Any]) -> dict[int, Any]:
    return {broker_id: r for broker_id, r in made.requests() if isinstance(r, kind)}


@pytest.mark.scenario(169)
def test_leaders_come_first_then_metadata_for_all_then_stops() -> None:
    made = batch()
    made.add_stop_replica(2, T1, delete=False)
    made.add_leader_and_isr((2, 1), T0, is_new=False)

    assert kinds(made) == [
        (1, LeaderAndIsrRequest),
        (2, LeaderAndIsrRequest),
        (1, UpdateMetadataRequest),
        (2, UpdateMetadataRequest),
        (3, UpdateMetadataRequest),
        (2, StopReplicaRequest),
    ]


@pytest.mark.scenario(169)
def test_is_new_sticks_per_broker_and_partition() -> None:
    made = batch()
    made.add_leader_and_isr((1,), T0, is_new=True)
    made.add_leader_and_isr((1, 2), T0, is_new=False)
    made.add_leader_and_isr((1,), T1, is_new=False)

    requests = of_kind(made, LeaderAndIsrRequest)
    flags = [s.is_new for s in requests[1].topic_states[0].partition_states]
    assert flags == [True, False]
    assert not requests[2].topic_states[0].partition_states[0].is_new


@pytest.mark.scenario(169)
def test_dead_and_unknown_brokers_get_nothing_and_leaving_ones_do() -> None:
    made = batch(BrokerFenced(2), ShutdownBegun(3))
    made.add_leader_and_isr((-1, 1, 2, 3, 9), T0, is_new=False)
    made.add_stop_replica(2, T0, delete=True)

    assert sorted(of_kind(made, LeaderAndIsrRequest)) == [1, 3]
    assert sorted(of_kind(made, UpdateMetadataRequest)) == [1, 3]
    assert of_kind(made, StopReplicaRequest) == {}


def test_requests_carry_the_epochs_and_the_leaders_that_live() -> None:
    gone = LeadershipChanged((Leadership("t", 1, 2, 4, (2,), 6, 9, is_recovering=True),))
    made = batch(gone, BrokerFenced(2))
    made.add_leader_and_isr((1,), T0, is_new=False)
    made.add_leader_and_isr((1,), T1, is_new=False)

    request = of_kind(made, LeaderAndIsrRequest)[1]
    assert (request.controller_id, request.controller_epoch, request.broker_epoch) == (100, 9, 1)
    assert [(n.broker_id, n.host_name, n.port) for n in request.live_leaders] == [
        (1, "host1", 9092)
    ]
    assert request.topic_states[0].partition_states[1].leader_recovery_state == 1


@pytest.mark.scenario(169)
def test_partitions_without_leadership_are_no_metadata() -> None:
    made = batch(PartitionsAdded("t", ((1, 2),)))
    made.add_update_metadata((1,), (tp("t-2"), T0))

    (topic,) = of_kind(made, UpdateMetadataRequest)[1].topic_states
    assert [state.partition_index for state in topic.partition_states] == [0]


@pytest.mark.scenario(169)
def test_a_topic_being_deleted_has_leader_minus_two() -> None:
    made = batch(DeletionQueued("t"), ReplicasProbed(2, (T0,), ()))
    made.add_update_metadata((1,), (T0,))
    made.add_stop_replica(1, T0, delete=True)

    (state,) = of_kind(made, UpdateMetadataRequest)[1].topic_states[0].partition_states
    assert (state.leader, state.leader_epoch, state.zk_version) == (-2, 0, 0)
    assert (list(state.isr), list(state.offline_replicas)) == ([1, 2], [2])
    (stop,) = of_kind(made, StopReplicaRequest)[1].topic_states[0].partition_states
    assert stop.leader_epoch == -2


@pytest.mark.scenario(169)
def test_stop_epochs_are_known_or_minus_one_and_delete_sticks() -> None:
    made = batch(PartitionsAdded("t", ((1, 2),)))
    made.add_stop_replica(1, T0, delete=True)
    made.add_stop_replica(1, T0, delete=False)
    made.add_stop_replica(1, tp("t-2"), delete=False)

    (topic,) = of_kind(made, StopReplicaRequest)[1].topic_states
    rows = [(s.partition_index, s.leader_epoch, s.delete_partition) for s in topic.partition_states]
    assert rows == [(0, 3, True), (2, -1, False)]


def test_metadata_without_partitions_tells_who_is_there() -> None:
    made = batch(BrokerFenced(3))
    made.add_update_metadata((1,), ())

    request = of_kind(made, UpdateMetadataRequest)[1]
    assert [broker.id for broker in request.live_brokers] == [1, 2]
    assert list(request.topic_states) == []


def test_an_empty_batch_sends_nothing() -> None:
    assert kinds(batch()) == []


def test_of_a_topic_that_is_not_known_here_a_broker_is_told_by_the_id_that_it_has() -> None:
    made, topic_id = batch(), b"later".ljust(16, b"-")
    made.add_without_leader(2, tp("later-1"), topic_id, 6)
    made.add_without_leader(9, tp("later-1"), topic_id, 6)
    ((broker_id, request),) = of_kind(made, LeaderAndIsrRequest).items()
    (topic,) = request.topic_states
    (state,) = topic.partition_states
    assert (broker_id, topic.topic_name, topic.topic_id) == (2, "later", topic_id)
    assert (state.partition_index, state.leader, state.leader_epoch) == (1, NO_LEADER, 6)
    assert (state.isr, state.replicas, state.controller_epoch) == ([2], [2], 9)
