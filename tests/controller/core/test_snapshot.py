"""A snapshot rebuilds the state that it was made of."""

from __future__ import annotations

from controller.core.journal_records import DecisionsLost, UnknownReplicasReported
from controller.core.reassignment_records import AssignmentChanged, ThrottlesClaimed
from controller.core.records import (
    ControllerStarted,
    DeletionQueued,
    LogDirsCordoned,
    LogDirsFailed,
    PartitionsAdded,
    ProducerIdsAllocated,
    Record,
    ReplicasProbed,
    ShutdownBegun,
    TopicCreated,
)
from controller.core.snapshot import snapshot
from controller.core.state import ClusterState, Partition, UnknownReplica
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
    AssignmentChanged("t", 2, (1,), (), ()),
    ReplicasProbed(1, (tp("t-0"),), ()),
    DeletionQueued("u"),
    ThrottlesClaimed(("t",), (1, 3)),
    UnknownReplicasReported(2, ((tp("lost-0"), UnknownReplica(b"l" * 16, 4)),)),
    ProducerIdsAllocated(7000),
    DecisionsLost(3),
    TopicCreated("v", b"v" * 16, {}, ((1,),), 9),
]


def test_a_snapshot_rebuilds_everything() -> None:
    state = state_of(*EVERYTHING)

    assert state_of(*snapshot(state)) == state


def test_broker_epochs_never_come_back() -> None:
    state = state_of(*registered(1, 1), *registered(2, 8))

    assert state.next_broker_epoch == 9
    assert state_of(*snapshot(state)).next_broker_epoch == 9


def test_a_partition_that_is_not_reassigned_costs_no_record_of_its_own() -> None:
    moved = [r for r in snapshot(state_of(*EVERYTHING)) if isinstance(r, AssignmentChanged)]
    assert moved == [AssignmentChanged("t", 1, (3, 1, 2), (3,), (1,))]
