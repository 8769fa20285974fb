"""Questions to the state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.records import (
    BrokerFenced,
    DeletionQueued,
    Record,
    ReplicasProbed,
    ShutdownBegun,
    TopicCreated,
)
from controller.core.state import Broker, ClusterState, Endpoint, Partition
from tests.controller.core.cluster import log_dir, registered, topic_records, tp

T0 = tp("t-0")


def state_of(*records: Record) -> ClusterState:
    state = ClusterState()
    led = Partition(replicas=(3, 1, 2), leader=3, leader_epoch=0, isr=(3, 1, 2), partition_epoch=0)
    live = [record for broker_id in (1, 2, 3) for record in registered(broker_id, broker_id)]
    for record in (*live, *topic_records("t", [led]), *records):
        record.apply(state)
    return state


@pytest.mark.scenario(179)
def test_offline_replicas_are_dead_leaving_or_on_a_bad_log_dir_in_assignment_order() -> None:
    assert state_of().offline_replicas(T0) == []
    everything = state_of(BrokerFenced(1), ShutdownBegun(2), ReplicasProbed(3, (T0,), ()))
    assert everything.offline_replicas(T0) == [3, 1, 2]
    assert everything.online_replicas(T0) == ()


def test_online_replicas_are_in_the_order_of_the_assignment() -> None:
    assert state_of().online_replicas(T0) == (3, 1, 2)
    assert state_of(BrokerFenced(1)).online_replicas(T0) == (3, 2)


def test_a_leaving_broker_is_reachable_but_not_live() -> None:
    state = state_of(ShutdownBegun(2))

    assert state.is_reachable(2)
    assert not state.is_live(2)
    assert state.is_replica_reachable(T0, 2)
    assert not state.is_replica_online(T0, 2)
    assert state.reachable_brokers() == [1, 2, 3]


def test_the_first_decision_has_a_number_and_none_is_that_of_nobody_knows() -> None:
    state = ClusterState()
    assert (state.journal_number, state.lost_after, state.controller_epoch) == (0, 0, 0)
    assert (state.next_broker_epoch, state.next_producer_id) == (1, 0)


def test_a_broker_without_the_listener_that_is_asked_for_is_reached_by_its_first_one() -> None:
    first, other = Endpoint("PLAINTEXT", "a", 1, 0), Endpoint("CONTROL", "b", 2, 0)
    broker = replace(state_of().brokers[1], endpoints=(first, other))
    found = [broker.endpoint(name) for name in ("CONTROL", "NOWHERE", None)]
    assert found == [other, first, first]


def test_an_unknown_broker_is_nothing() -> None:
    state = state_of()

    assert not state.is_reachable(9)
    assert not state.is_live(9)
    assert not state.is_shutting_down(9)
    assert state.hosted_by(9) == []


def test_what_does_not_exist_is_not_found() -> None:
    state = state_of()

    assert state.find(T0) is not None
    assert state.find(tp("t-1")) is None
    assert state.find(tp("t--1")) is None
    assert state.find(tp("u-0")) is None


def test_topics_being_deleted_and_those_just_created_are_not_listed_as_led() -> None:
    assert state_of().led_partitions() == [T0]
    assert state_of(DeletionQueued("t")).led_partitions() == []
    created = TopicCreated("u", b"u" * 16, {}, ((1, 2),))
    assert state_of(created).led_partitions() == [T0]


def broker(**changes: object) -> Broker:
    base = state_of().brokers[1]
    return replace(base, **changes)  # pyright: ignore[reportArgumentType]  # names of fields


def test_new_replicas_go_where_a_log_dir_is_neither_offline_nor_cordoned() -> None:
    first, second = log_dir(1, 1), log_dir(1, 2)

    assert broker().is_usable
    assert broker(offline_log_dirs=(first,)).is_usable
    assert broker(cordoned_log_dirs=(second,)).is_usable
    assert not broker(offline_log_dirs=(first,), cordoned_log_dirs=(second,)).is_usable
    assert not broker(cordoned_log_dirs=(first, second)).is_usable
    assert broker(log_dirs=()).is_usable
    assert not broker(is_fenced=True).is_usable
    assert not broker(is_shutting_down=True).is_usable


def test_target_replicas_leave_out_those_being_removed() -> None:
    assert Partition(replicas=(1, 2, 3)).target_replicas == (1, 2, 3)
    moving = Partition(replicas=(4, 1, 2), adding_replicas=(4,), removing_replicas=(1,))
    assert moving.target_replicas == (4, 2)
    assert moving.is_reassigning


def test_origin_replicas_leave_out_those_being_added() -> None:
    assert Partition(replicas=(1, 2, 3)).origin_replicas == (1, 2, 3)
    moving = Partition(replicas=(4, 1, 2), adding_replicas=(4,))
    assert moving.origin_replicas == (1, 2)
