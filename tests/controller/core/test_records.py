"""Records rebuild the state: replayed one by one, and from a snapshot."""

from __future__ import annotations

from controller.core.records import (
    AssignmentChanged,
    ControllerStarted,
    DeletionQueued,
    LogDirsCordoned,
    LogDirsFailed,
    PartitionsAdded,
    ProducerIdsAllocated,
    Record,
    ReplicasProbed,
    ShutdownBegun,
    TopicDeleted,
    snapshot,
)
from controller.core.state import ClusterState, Partition
from tests.controller.core.cluster import log_dir, registered, topic_records, tp

LED = Partition(replicas=(1, 2), leader=1, leader_epoch=3, isr=(1, 2), partition_epoch=5)


def state_of(*records: Record) -> ClusterState:
    state = ClusterState()
    for record in records:
        record.apply(state)
    return state


EVERYTHING: list[Record] = [
    ControllerStarted("c", 4),
    *registered(1, 1),
    *registered(2, 5, rack="a"),
    ShutdownBegun(2),
    LogDirsFailed(1, (log_dir(1, 1),)),
    LogDirsCordoned(2, (log_dir(2, 2),)),
    *topic_records("t", [LED, LED]),
    *topic_records("u", [LED]),
    PartitionsAdded("t", ((2, 1),)),
    AssignmentChanged("t", 1, (3, 1, 2), (3,), (1,)),
    ReplicasProbed(1, (tp("t-0"),), ()),
    DeletionQueued("u"),
    ProducerIdsAllocated(7000),
]


def test_a_snapshot_rebuilds_everything() -> None:
    state = state_of(*EVERYTHING)

    assert state_of(*snapshot(state)) == state


def test_broker_epochs_never_come_back() -> None:
    state = state_of(*registered(1, 1), *registered(2, 8))

    assert state.next_broker_epoch == 9
    assert state_of(*snapshot(state)).next_broker_epoch == 9


def test_a_new_registration_forgets_what_was_offline() -> None:
    state = state_of(
        *registered(1, 1),
        *topic_records("t", [LED]),
        LogDirsFailed(1, (log_dir(1, 1),)),
        ReplicasProbed(1, (tp("t-0"),), ()),
        *registered(1, 2),
    )

    assert state.offline == {}
    assert state.brokers[1].offline_log_dirs == ()


def test_probes_add_and_drop_offline_replicas() -> None:
    state = state_of(
        *registered(1, 1),
        *topic_records("t", [LED, LED]),
        ReplicasProbed(1, (tp("t-0"), tp("t-1")), ()),
        ReplicasProbed(1, (), (tp("t-0"),)),
    )
    assert list(state.offline[1]) == [tp("t-1")]

    ReplicasProbed(1, (), (tp("t-1"),)).apply(state)
    assert state.offline == {}


def test_a_deleted_topic_leaves_nothing_behind() -> None:
    state = state_of(
        *registered(1, 1),
        *topic_records("t", [LED]),
        ReplicasProbed(1, (tp("t-0"),), ()),
        TopicDeleted("t"),
    )

    assert (state.topics, state.topic_names, state.hosted, state.offline) == ({}, {}, {}, {})


def test_a_changed_assignment_moves_what_brokers_host() -> None:
    state = state_of(*topic_records("t", [LED]), ReplicasProbed(2, (tp("t-0"),), ()))

    AssignmentChanged("t", 0, (1, 3), (), ()).apply(state)

    assert sorted(state.hosted) == [1, 3]
    assert state.offline == {}
