"""The table of hosted partitions and what a failed log dir does to it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from broker.core.hosted import (
    FailedReplicas,
    HostedPartitions,
    HostedState,
    Loss,
    OfflineReplica,
    ReplicaView,
    ReturnedReplicas,
    ReturnRule,
)
from protocol.ids import ZERO_UUID, TopicPartition

ID = bytes(range(16))
T0, T1, T2, T3 = (TopicPartition("t", index) for index in range(4))


@dataclass(slots=True)
class Hosted:
    log_dir: str = "/d1"
    future_log_dir: str | None = None
    leader_epoch: int = 3
    topic_id: bytes = ID
    is_stopped: bool = False


@dataclass(slots=True)
class Idle:
    log_dir: str = "/d1"
    topic_id: bytes = ID


def table(**online: Hosted) -> HostedPartitions[Hosted, Idle]:
    hosted: HostedPartitions[Hosted, Idle] = HostedPartitions()
    for name, partition in online.items():
        hosted.put_online(TopicPartition("t", int(name[1:])), partition)
    return hosted


def test_what_nobody_named_is_absent() -> None:
    assert table().view(T0) == ReplicaView(HostedState.ABSENT)
    assert table().online_replica(T0) is None


def test_an_online_partition_is_seen_as_it_is() -> None:
    hosted = table(t0=Hosted(future_log_dir="/d2"))
    assert hosted.view(T0) == ReplicaView(HostedState.ONLINE, 3, ID, "/d1", "/d2")
    assert dict(hosted.iterate_online()) == {T0: Hosted(future_log_dir="/d2")}


def test_a_stopped_partition_is_seen_as_stopped() -> None:
    assert table(t0=Hosted(is_stopped=True)).view(T0).is_stopped


def test_a_log_on_disk_is_absent_until_it_is_hosted() -> None:
    hosted = table()
    hosted.put_idle(T0, Idle("/d2"))
    assert hosted.view(T0) == ReplicaView(HostedState.ABSENT, topic_id=ID, log_dir="/d2")
    hosted.put_online(T0, Hosted("/d2"))
    assert hosted.idle_replica(T0) is None
    assert hosted.view(T0).state is HostedState.ONLINE


@pytest.mark.scenario(58)
def test_a_failed_log_dir_takes_its_partitions_moves_and_idle_logs() -> None:
    hosted = table(
        t0=Hosted("/d1"),
        t1=Hosted("/d2", future_log_dir="/d1"),
        t2=Hosted("/d1", "/d2"),
        t3=Hosted("/d2"),
    )
    idle = TopicPartition("u", 0)
    hosted.put_idle(idle, Idle("/d1"))
    failed, ended = hosted.on_log_dir_failed("/d1")
    assert failed == FailedReplicas(current=(T0, T2), future=(T1,), idle=(idle,))
    assert ended == [Hosted("/d1"), Hosted("/d1", "/d2")]
    assert [hosted.view(tp).state for tp in (T0, T1, T2, T3)] == [
        HostedState.OFFLINE,
        HostedState.ONLINE,
        HostedState.OFFLINE,
        HostedState.ONLINE,
    ]
    assert hosted.view(idle) == ReplicaView(HostedState.ABSENT)


def test_a_deleted_replica_whose_log_dir_is_away_is_known_by_its_last_epoch() -> None:
    hosted = table(t0=Hosted("/d1"))
    hosted.on_log_dir_failed("/d1")
    hosted.remove(T0)
    assert hosted.view(T0).state is HostedState.OFFLINE
    assert hosted.view(T0).failed_epoch == 3


@pytest.mark.scenario(56, 74)
def test_a_log_dir_that_failed_before_takes_nothing_more() -> None:
    hosted = table(t0=Hosted("/d1"))
    hosted.on_log_dir_failed("/d1")
    assert hosted.on_log_dir_failed("/d1") == (FailedReplicas((), (), ()), [])
    assert hosted.offline_count == 1


@pytest.mark.kafka_bug("offline-replica-count")
@pytest.mark.scenario(75, 222)
def test_offline_partitions_are_counted_as_hosted_and_as_offline() -> None:
    hosted = table(t0=Hosted("/d1"), t1=Hosted("/d2"))
    hosted.on_log_dir_failed("/d1")
    assert (hosted.partition_count, hosted.offline_count) == (2, 1)
    assert hosted.is_offline(T0)
    assert not hosted.is_offline(T1)


@pytest.mark.scenario(76)
def test_an_offline_partition_keeps_its_topic_id() -> None:
    hosted = table(t0=Hosted("/d1"))
    hosted.on_log_dir_failed("/d1")
    assert hosted.offline_replica(T0) == OfflineReplica(ID, "/d1")
    assert hosted.view(T0).topic_id == ID
    assert hosted.put_offline(T1, ZERO_UUID, None) is None
    assert dict(hosted.iterate_offline()).keys() == {T0, T1}


def test_the_epoch_that_a_failed_replica_had_is_known_until_it_is_online_again() -> None:
    hosted = table(t0=Hosted(), t1=Hosted())
    hosted.on_log_dir_failed("/d1")
    assert hosted.view(T0).failed_epoch == 3
    hosted.on_log_dir_returned("/d1", {T0: Idle()}, ReturnRule())
    assert (hosted.view(T0).failed_epoch, hosted.view(T1).failed_epoch) == (3, 3)
    hosted.put_online(T0, Hosted())
    hosted.put_offline(T0, ID, "/d1")
    assert hosted.remove(T1) is None
    assert (hosted.view(T0).failed_epoch, hosted.view(T1).failed_epoch) == (3, -1)


def test_going_offline_gives_the_partition_back_to_be_ended() -> None:
    hosted = table(t0=Hosted())
    assert hosted.put_offline(T0, ID, "/d1") == Hosted()
    assert hosted.online_replica(T0) is None


def test_removing_leaves_an_offline_entry() -> None:
    hosted = table(t0=Hosted(), t1=Hosted("/d2"))
    hosted.put_offline(T1, ID, "/d2")
    assert hosted.remove(T0) == Hosted()
    assert hosted.remove(T1) is None
    assert hosted.is_offline(T1)
    assert hosted.partition_count == 1


@pytest.mark.kafka_bug("KAFKA-16157")
@pytest.mark.scenario(88)
def test_a_re_created_topic_replaces_the_offline_entry() -> None:
    hosted = table()
    hosted.put_offline(T0, ID, "/d1")
    hosted.put_online(T0, Hosted("/d2", topic_id=bytes(16)))
    assert hosted.offline_count == 0


def test_an_idle_log_of_a_hosted_partition_is_a_bug() -> None:
    hosted = table(t0=Hosted())
    with pytest.raises(AssertionError):
        hosted.put_idle(T0, Idle())
    hosted.put_idle(T1, Idle())
    assert dict(hosted.iterate_idle()) == {T1: Idle()}


def offline_in(path: str, *tps: TopicPartition) -> HostedPartitions[Hosted, Idle]:
    hosted = table()
    for tp in tps:
        hosted.put_online(tp, Hosted(path))
    hosted.on_log_dir_failed(path)
    return hosted


def test_logs_of_a_log_dir_that_came_back_wait_and_the_missing_ones_are_lost() -> None:
    hosted = offline_in("/d1", T0, T1)
    returned = hosted.on_log_dir_returned("/d1", {T0: Idle()}, ReturnRule(Loss.ACCEPTED))
    assert returned == ReturnedReplicas((T0,), (T1,), (), belonging=(T1,))
    assert hosted.view(T0) == ReplicaView(
        HostedState.ABSENT, topic_id=ID, log_dir="/d1", failed_epoch=3
    )
    assert hosted.view(T1).loss is Loss.ACCEPTED


def test_what_is_lost_is_awaited_until_it_is_made_anew_or_deleted() -> None:
    hosted = table(t0=Hosted(), t1=Hosted(), t2=Hosted("/d2"))
    hosted.on_log_dir_failed("/d1")
    assert hosted.awaited("/d1") == ()
    hosted.on_log_dir_returned("/d1", {}, ReturnRule())
    assert (hosted.awaited("/d1"), hosted.awaited("/d2")) == ((T0, T1), ())
    hosted.put_online(T0, Hosted())
    assert hosted.awaited("/d1") == (T1,)
    hosted.put_offline(T1, ID, None)
    assert hosted.awaited("/d1") == ()


def test_the_loss_of_what_is_lost_can_be_accepted_and_of_nothing_else() -> None:
    hosted = table(t0=Hosted(), t1=Hosted("/d2"))
    hosted.on_log_dir_failed("/d1")
    assert hosted.accept_loss([T0, T1, T2]) == ()
    hosted.on_log_dir_returned("/d1", {}, ReturnRule())
    assert hosted.accept_loss([T0, T1, T2]) == (T0,)
    offline = hosted.offline_replica(T0)
    assert offline is not None
    assert (offline.loss, offline.log_dir) == (Loss.ACCEPTED, "/d1")


def test_a_log_never_found_is_lost_only_when_no_other_log_dir_is_offline() -> None:
    for is_last, lost in ((False, ()), (True, (T2,))):
        hosted = offline_in("/d1")
        hosted.put_offline(T2, ID, None)
        returned = hosted.on_log_dir_returned("/d1", {}, ReturnRule(is_last=is_last))
        assert returned.lost == lost
        assert returned.belonging == ()  # It goes where new replicas go.


def test_what_is_not_there_is_lost_though_its_log_dir_came_back_for_another_alone() -> None:
    """As a log that could not be made as its log dir failed, or one that somebody removed."""
    hosted = offline_in("/d1", T0, T1)
    hosted.put_offline(T2, ID, None)
    rule = ReturnRule(Loss.ACCEPTED, only=T1)
    returned = hosted.on_log_dir_returned("/d1", {T1: Idle()}, rule)
    assert returned == ReturnedReplicas((T1,), (T0, T2), (), belonging=(T0,))
    for tp in (T0, T2):
        assert hosted.view(tp).loss is Loss.REBUILD  # Nobody accepted that one.
        hosted.remove(tp)
        assert hosted.state_of(tp) is HostedState.ABSENT


def test_the_loss_is_accepted_of_the_one_that_the_log_dir_came_back_for() -> None:
    hosted = offline_in("/d1", T0)
    hosted.on_log_dir_returned("/d1", {}, ReturnRule(Loss.ACCEPTED, only=T0))
    assert hosted.view(T0).loss is Loss.ACCEPTED


def test_an_old_log_of_a_topic_made_anew_is_a_stray_though_the_new_one_is_offline() -> None:
    for found_id, strays in ((bytes(16 * [9]), (T0,)), (ID, ()), (ZERO_UUID, ())):
        hosted = table()
        hosted.put_offline(T0, ID, None)
        returned = hosted.on_log_dir_returned("/d1", {T0: Idle(topic_id=found_id)}, ReturnRule())
        assert returned.strays == strays
        assert hosted.is_offline(T0) == bool(strays)
        assert dict(hosted.iterate_idle()).keys() == ({T0} - set(strays))


def test_a_log_is_a_stray_while_another_one_waits_elsewhere() -> None:
    """As the one that a move had promoted when its source failed."""
    hosted = offline_in("/d1", T0)
    hosted.put_idle(T0, Idle("/d2"))
    assert hosted.release((T0,)) == (T0,)
    assert hosted.on_log_dir_returned("/d1", {T0: Idle()}, ReturnRule()).strays == (T0,)
    assert hosted.view(T0).log_dir == "/d2"


def test_a_log_of_no_replica_is_a_stray_unless_its_log_dir_was_unread() -> None:
    for is_unread, strays in ((False, (T0,)), (True, ())):
        hosted = table()
        rule = ReturnRule(is_unread=is_unread)
        returned = hosted.on_log_dir_returned("/d1", {T0: Idle()}, rule)
        assert returned.strays == strays
        assert returned.found == (() if strays else (T0,))
        assert (hosted.idle_replica(T0) is None) == bool(strays)


def test_an_older_log_of_what_was_deleted_meanwhile_is_a_stray() -> None:
    """A reassignment adds it, its disk fails, a new process makes it elsewhere and deletes it."""
    for any_unread, found_id, strays in (
        (True, ID, (T0,)),
        (True, ZERO_UUID, (T0,)),  # A power cut emptied its partition.metadata.
        (True, bytes(16 * [9]), ()),
        (False, ID, ()),
        (False, ZERO_UUID, ()),
    ):
        hosted = table()
        hosted.put_online(T0, Hosted("/d2"))
        hosted.remove(T0, any_unread=any_unread)
        for rule in (ReturnRule(is_last=False), ReturnRule()):
            found = {T0: Idle(topic_id=found_id)}
            assert hosted.on_log_dir_returned("/d1", found, rule).strays == strays
            hosted.remove(T0)
        assert hosted.on_log_dir_returned("/d1", {T0: Idle()}, ReturnRule()).strays == ()


def test_an_older_log_of_what_was_deleted_before_anybody_named_it_is_a_stray() -> None:
    hosted = table()
    hosted.put_idle(T0, Idle("/d2"))
    hosted.remove(T0, any_unread=True)
    assert hosted.on_log_dir_returned("/d1", {T0: Idle()}, ReturnRule()).strays == (T0,)


def test_a_lost_replica_whose_log_dir_fails_again_is_offline_as_any_other() -> None:
    hosted = offline_in("/d1", T0)
    hosted.on_log_dir_returned("/d1", {}, ReturnRule())
    hosted.on_log_dir_failed("/d1")
    assert hosted.view(T0) == ReplicaView(HostedState.OFFLINE, topic_id=ID, failed_epoch=3)


def test_what_is_lost_can_be_deleted_and_what_is_offline_cannot() -> None:
    hosted = offline_in("/d1", T0)
    hosted.remove(T0)
    assert hosted.is_offline(T0)
    hosted.on_log_dir_returned("/d1", {}, ReturnRule())
    hosted.remove(T0)
    assert hosted.view(T0) == ReplicaView(HostedState.ABSENT)


def test_what_waits_for_its_own_return_on_a_good_log_dir_can_be_deleted() -> None:
    hosted = offline_in("/d1", T0, T1)
    hosted.on_log_dir_returned("/d1", {T0: Idle(), T1: Idle()}, ReturnRule(only=T1))
    held_back = ReplicaView(HostedState.OFFLINE, topic_id=ID, log_dir="/d1", failed_epoch=3)
    assert hosted.view(T0) == held_back
    hosted.remove(T0)
    assert hosted.view(T0) == ReplicaView(HostedState.ABSENT)


def test_each_change_of_how_a_broker_stands_to_a_partition_has_a_witness() -> None:
    seen: list[tuple[object, object]] = []

    def witness(before: object, after: object) -> None:
        seen.append((before, after))

    absent, online, offline = HostedState.ABSENT, HostedState.ONLINE, HostedState.OFFLINE
    hosted: HostedPartitions[Hosted, Idle] = HostedPartitions(witness)
    hosted.put_online(T0, Hosted())
    hosted.put_online(T1, Hosted())
    hosted.on_log_dir_failed("/d1")
    hosted.on_log_dir_returned("/d1", {T0: Idle()}, ReturnRule())
    hosted.put_online(T1, Hosted())
    hosted.remove(T1)
    hosted.remove(T0)
    assert seen == [
        (absent, online),
        (absent, online),
        (online, offline),
        (online, offline),
        (offline, absent),
        (offline, online),
        (online, absent),
        (absent, absent),
    ]


def test_a_log_that_is_put_offline_waits_no_more_and_one_that_is_hosted_neither() -> None:
    hosted = table()
    hosted.put_idle(T0, Idle())
    hosted.put_offline(T0, ID, "/d2")
    assert hosted.idle_replica(T0) is None
    hosted.put_lost(T1, "/d1")
    assert hosted.offline_replica(T1) == OfflineReplica(ZERO_UUID, "/d1", Loss.REBUILD)
    assert (hosted.is_lost(T0), hosted.is_lost(T1), hosted.is_lost(T2)) == (False, True, False)
    assert hosted.release((T0, T1, T2)) == ()
