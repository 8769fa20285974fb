"""What records of reassignments change."""

from __future__ import annotations

from controller.core.reassignment_records import (
    AssignmentChanged,
    RemovalsConfirmed,
    RemovalsPending,
    ThrottlesClaimed,
    ThrottlesReleased,
)
from controller.core.records import Record, ReplicasProbed
from controller.core.state import ClusterState, Partition
from tests.controller.core.cluster import topic_records, tp

LED = Partition(replicas=(1, 2), leader=1, leader_epoch=3, isr=(1, 2), partition_epoch=5)


def state_of(*records: Record) -> ClusterState:
    state = ClusterState()
    for record in records:
        record.apply(state)
    return state


def test_a_changed_assignment_moves_what_brokers_host() -> None:
    state = state_of(*topic_records("t", [LED]), ReplicasProbed(2, (tp("t-0"),), ()))

    AssignmentChanged("t", 0, (1, 3), (), ()).apply(state)

    assert sorted(state.hosted) == [1, 3]
    assert state.offline == {}


def test_what_left_a_broker_is_to_be_deleted_there_until_it_says_so() -> None:
    state = state_of(
        *topic_records("t", [LED, LED]),
        AssignmentChanged("t", 0, (1, 3), (), ()),
        AssignmentChanged("t", 1, (1, 3), (), ()),
    )
    assert state.removed == {2: {tp("t-0"): None, tp("t-1"): None}}

    RemovalsConfirmed(2, (tp("t-0"),)).apply(state)
    assert state.removed == {2: {tp("t-1"): None}}
    AssignmentChanged("t", 1, (1, 2), (), ()).apply(state)
    assert state.removed == {3: {tp("t-1"): None}}
    RemovalsPending(3, (tp("u-9"),)).apply(state)
    assert list(state.removed[3]) == [tp("t-1"), tp("u-9")]


def test_what_is_reassigned_is_known_until_its_end() -> None:
    state = state_of(*topic_records("t", [LED]), AssignmentChanged("t", 0, (3, 1, 2), (3,), ()))
    assert list(state.reassigning) == [tp("t-0")]

    AssignmentChanged("t", 0, (3, 1, 2), (), ()).apply(state)
    assert state.reassigning == {}


def test_claims_add_up_until_they_are_released() -> None:
    state = state_of(ThrottlesClaimed(("t",), (1, 2)), ThrottlesClaimed(("u",), (2, 3)))
    assert (list(state.throttled_topics), list(state.throttled_brokers)) == (["t", "u"], [1, 2, 3])

    ThrottlesReleased().apply(state)
    assert (state.throttled_topics, state.throttled_brokers) == ({}, {})
