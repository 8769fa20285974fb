"""Records change the state, one by one."""

from __future__ import annotations

from controller.core.reassignment_records import ThrottlesClaimed
from controller.core.records import (
    BrokerFenced,
    BrokerUnfenced,
    ControllerStarted,
    LogDirsFailed,
    LogDirsReturned,
    Record,
    ReplicasProbed,
    ShutdownBegun,
    TopicDeleted,
)
from controller.core.state import EPOCH_STARTS_MAX, ClusterState, Partition
from tests.controller.core.cluster import log_dir, registered, topic_records, tp

LED = Partition(replicas=(1, 2), leader=1, leader_epoch=3, isr=(1, 2), partition_epoch=5)


def state_of(*records: Record) -> ClusterState:
    state = ClusterState()
    for record in records:
        record.apply(state)
    return state


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


def test_log_dirs_that_a_broker_brought_back_may_get_replicas_again() -> None:
    state = state_of(*registered(1, 1), LogDirsFailed(1, (log_dir(1, 1),)))
    assert state.brokers[1].offline_log_dirs == (log_dir(1, 1),)
    returned = (log_dir(1, 2), log_dir(1, 1), log_dir(1, 3))

    LogDirsReturned(1, returned).apply(state)

    assert (state.brokers[1].log_dirs, state.brokers[1].offline_log_dirs) == (returned, ())


def test_a_broker_may_lead_once_it_is_unfenced_and_no_more_when_it_counts_as_dead() -> None:
    state = state_of(*registered(1, 1), *topic_records("t", [LED]))
    assert (state.reachable_brokers(), state.is_replica_online(tp("t-0"), 1)) == ([1], True)

    ShutdownBegun(1).apply(state)
    BrokerFenced(1).apply(state)
    assert (state.reachable_brokers(), state.is_replica_online(tp("t-0"), 1)) == ([], False)
    assert not state.brokers[1].is_shutting_down, "who is dead leaves no more"
    ShutdownBegun(1).apply(state)
    BrokerUnfenced(1).apply(state)
    assert not state.is_shutting_down(1)
    assert state.is_replica_online(tp("t-0"), 1)


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
        ThrottlesClaimed(("t",), ()),
        TopicDeleted("t"),
    )

    assert (state.topics, state.topic_names, state.hosted, state.offline) == ({}, {}, {}, {})
    assert state.throttled_topics == {}


def test_a_controller_goes_on_from_the_highest_decision_that_was_heard_of() -> None:
    state = state_of(ControllerStarted("c", 3, 50), ControllerStarted("c", 4, 20))
    assert (state.cluster_id, state.controller_epoch, state.journal_number) == ("c", 4, 50)
    assert state.epoch_starts == {3: 0, 4: 50}


def test_where_the_last_epochs_began_is_remembered() -> None:
    epochs = range(1, EPOCH_STARTS_MAX + 2)
    state = state_of(*(ControllerStarted("c", epoch) for epoch in epochs))
    assert list(state.epoch_starts) == list(epochs)[1:]
