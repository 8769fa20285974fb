"""Reassignments from their beginning to their end, with everything that can come between."""

from __future__ import annotations

import pytest

from controller.core.effects import Note
from controller.core.phases import ReplicaPhase
from controller.core.reassignment_records import AssignmentChanged
from controller.core.state import Partition
from protocol.errors import ErrorCode
from protocol.messages.control import StopReplicaRequest
from tests.controller.core.cluster import Cluster, registered, topic_records, tp
from tests.controller.core.reassigning import (
    alter,
    codes,
    deleted_on,
    set_isr,
    told_new,
    under_way,
    with_topic,
)


def test_the_added_replica_begins_and_the_old_ones_stay_until_it_is_in_sync() -> None:
    cluster = with_topic([1, 2])

    alter(cluster, ("t-0", [3, 1]))

    assert under_way(cluster) == {"t-0": ([3, 1, 2], [3], [2])}
    assert cluster.partition("t-0").leader == 1
    assert cluster.partition("t-0").leader_epoch == 1
    assert told_new(cluster, 3) == [True, True]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ([1, 2, 3], "t-0 is reassigned: replicas [1, 2, 3], adding [3], removing []"),
        ([2], "t-0 is reassigned: replicas [2, 1], adding [], removing [1]"),
        ([2, 1], "t-0 replicas [1, 2] -> [2, 1]"),
    ],
)
def test_the_log_says_who_is_added_and_who_goes(wanted: list[int], said: str) -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", wanted))
    assert Note(said) in cluster.notes


def test_once_every_target_is_in_sync_only_the_targets_stay() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [3, 1]))
    assert set_isr(cluster, "t-0", [1, 2, 3]) == 0
    partition = cluster.partition("t-0")
    assert (partition.replicas, partition.isr) == ((3, 1), (1, 3))
    assert not partition.is_reassigning
    assert partition.leader == 1
    assert deleted_on(cluster, 2) == ["t-0"]
    assert cluster.state.removed == {}
    assert tp("t-0") not in cluster.brokers[2].files
    assert under_way(cluster) == {}


@pytest.mark.kafka_bug("KAFKA-15665")
def test_all_targets_have_to_be_in_sync() -> None:
    cluster = with_topic([1])
    alter(cluster, ("t-0", [2, 3]))
    set_isr(cluster, "t-0", [1, 2])
    assert under_way(cluster) == {"t-0": ([2, 3, 1], [2, 3], [1])}
    assert deleted_on(cluster, 1) == []


@pytest.mark.kafka_bug("KAFKA-10314")
@pytest.mark.scenario(159)
def test_a_target_with_an_offline_log_dir_makes_the_replica_all_the_same() -> None:
    cluster = with_topic([1], [3])
    cluster.fail_log_dir(3, 1, ["t-1"])
    before = cluster.partition("t-0").leader_epoch

    alter(cluster, ("t-0", [3]))
    assert tp("t-0") not in cluster.brokers[3].bad
    set_isr(cluster, "t-0", [1, 3])

    partition = cluster.partition("t-0")
    assert (partition.leader, partition.replicas, partition.isr) == (3, (3,), (3,))
    assert partition.leader_epoch == before + 3
    assert under_way(cluster) == {}


@pytest.mark.scenario(160)
def test_a_reassignment_to_a_dead_broker_waits_for_it() -> None:
    """AlterPartitionReassignments refuses a dead target; one in the journal may have died since."""
    led = Partition(replicas=(1,), leader=1, leader_epoch=0, isr=(1,), partition_epoch=0)
    cluster = Cluster(
        [
            *registered(1, 1),
            *topic_records("t", [led]),
            AssignmentChanged("t", 0, (3, 1), (3,), (1,)),
        ]
    )
    cluster.settle()
    assert cluster.partition("t-0").leader_epoch == 1
    assert under_way(cluster) == {"t-0": ([3, 1], [3], [1])}

    cluster.start_broker(3)
    set_isr(cluster, "t-0", [1, 3])

    assert cluster.partition("t-0").replicas == (3,)
    assert cluster.partition("t-0").leader_epoch == 4


def test_a_target_that_died_and_comes_back_with_a_bad_log_dir_begins_anew() -> None:
    cluster = with_topic([1], [3])
    alter(cluster, ("t-0", [3]))
    cluster.expire(3)
    cluster.brokers[3].files.pop(tp("t-0"))

    cluster.start_broker(3, bad=["t-1"])

    assert cluster.brokers[3].bad == [tp("t-1")]
    assert set_isr(cluster, "t-0", [1, 3]) == 0
    assert cluster.partition("t-0").replicas == (3,)


def test_a_target_whose_log_dir_failed_holds_the_old_replicas() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [3, 2]))

    cluster.fail_log_dir(3, 1, ["t-0"])

    assert set_isr(cluster, "t-0", [1, 2, 3]) == ErrorCode.INELIGIBLE_REPLICA
    assert cluster.partition("t-0").isr == (1, 2)
    assert under_way(cluster) == {"t-0": ([3, 2, 1], [3], [1])}


def test_the_log_dir_of_a_replica_that_goes_may_fail_meanwhile() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [2, 3]))
    cluster.fail_log_dir(1, 1, ["t-0"])
    assert cluster.partition("t-0").leader == 2

    set_isr(cluster, "t-0", [2, 3])

    assert cluster.partition("t-0").replicas == (2, 3)
    assert cluster.state.removed == {1: {tp("t-0"): None}}


def test_without_an_online_target_the_old_replicas_are_kept() -> None:
    led = Partition(replicas=(1,), leader=3, leader_epoch=5, isr=(3,), partition_epoch=5)
    cluster = Cluster(
        [
            *registered(1, 1),
            *topic_records("t", [led]),
            AssignmentChanged("t", 0, (3, 1), (3,), (1,)),
        ]
    )
    cluster.settle()

    assert under_way(cluster) == {"t-0": ([3, 1], [3], [1])}
    cluster.start_broker(3)
    assert (cluster.partition("t-0").replicas, cluster.partition("t-0").leader) == ((3,), 3)


def test_the_present_assignment_asked_for_costs_one_leader_epoch() -> None:
    cluster = with_topic([1, 2])

    assert codes(alter(cluster, ("t-0", [1, 2]))) == {"t-0": 0}

    assert cluster.partition("t-0").leader_epoch == 1
    sent = cluster.take()
    assert [type(r).__name__ for r in sent[3]] == ["UpdateMetadataRequest"] * 2
    assert under_way(cluster) == {}


def test_another_order_makes_another_preferred_leader_and_elects_nobody() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [2, 1]))
    partition = cluster.partition("t-0")
    assert (partition.replicas, partition.leader) == ((2, 1), 1)


def test_fewer_replicas_shrink_at_once_and_the_leader_moves() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [2]))
    partition = cluster.partition("t-0")
    assert (partition.replicas, partition.leader, partition.isr) == ((2,), 2, (2,))
    assert deleted_on(cluster, 1) == ["t-0"]


def test_cancelling_deletes_what_was_added() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [3, 1]))
    cluster.take()

    assert codes(alter(cluster, ("t-0", None))) == {"t-0": 0}

    assert deleted_on(cluster, 3) == ["t-0"]
    assert cluster.partition("t-0").replicas == (1, 2)
    assert under_way(cluster) == {}
    assert codes(alter(cluster, ("t-0", None))) == {"t-0": ErrorCode.NO_REASSIGNMENT_IN_PROGRESS}


@pytest.mark.kafka_bug("KAFKA-13972")
@pytest.mark.scenario(202)
def test_cancelling_deletes_an_added_replica_that_is_in_sync_already() -> None:
    cluster = with_topic([1])
    alter(cluster, ("t-0", [2, 3]))
    set_isr(cluster, "t-0", [1, 2])
    cluster.take()

    alter(cluster, ("t-0", None))
    sent = cluster.take()[2]
    assert [isinstance(r, StopReplicaRequest) for r in sent].count(True) == 2
    assert tp("t-0") not in cluster.brokers[2].files
    assert tp("t-0") not in cluster.brokers[3].files
    partition = cluster.partition("t-0")
    assert (partition.replicas, partition.isr, partition.leader) == ((1,), (1,), 1)


def test_an_added_replica_that_leads_hands_over_when_the_reassignment_is_cancelled() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [3]))
    cluster.expire(2)
    cluster.state.topics["t"].partitions[0] = Partition(
        replicas=(3, 1, 2),
        adding_replicas=(3,),
        removing_replicas=(1, 2),
        leader=3,
        leader_epoch=7,
        isr=(3, 1),
        partition_epoch=7,
        controller_epoch=1,
    )

    alter(cluster, ("t-0", None))

    partition = cluster.partition("t-0")
    assert (partition.replicas, partition.leader, partition.isr) == ((1, 2), 1, (1,))
    assert partition.leader_epoch == 9


def test_a_reassignment_that_cannot_elect_leaves_the_partition_to_later_elections() -> None:
    cluster = with_topic([1, 2])
    cluster.expire(1)
    cluster.fail_log_dir(2, 1, ["t-0"])
    assert cluster.partition("t-0").leader == -1

    alter(cluster, ("t-0", [2, 1]))
    assert cluster.partition("t-0").leader == -1
    cluster.start_broker(2)

    assert cluster.partition("t-0").leader == 2


def test_a_new_wish_replaces_the_one_under_way() -> None:
    cluster = with_topic([1])
    alter(cluster, ("t-0", [2]))
    cluster.take()
    alter(cluster, ("t-0", [3]))
    assert under_way(cluster) == {"t-0": ([3, 1], [3], [1])}
    assert deleted_on(cluster, 2) == ["t-0"]


def test_a_new_wish_that_drops_the_leader_elects_another_at_once() -> None:
    """Seed 700146: nobody led it until a broker died."""
    cluster = with_topic([2])
    alter(cluster, ("t-0", [3, 1]))
    set_isr(cluster, "t-0", [2, 3])
    cluster.expire(2)
    assert cluster.partition("t-0").leader == 3
    cluster.start_broker(2)
    set_isr(cluster, "t-0", [3, 2])

    assert codes(alter(cluster, ("t-0", [1]))) == {"t-0": 0}

    partition = cluster.partition("t-0")
    assert under_way(cluster) == {"t-0": ([1, 2], [1], [2])}
    assert (partition.leader, partition.isr) == (2, (2,))


def test_a_new_wish_that_drops_the_leader_waits_for_a_member_of_the_isr() -> None:
    cluster = with_topic([2])
    alter(cluster, ("t-0", [3, 1]))
    set_isr(cluster, "t-0", [2, 3])
    cluster.expire(2)
    cluster.start_broker(2)
    set_isr(cluster, "t-0", [3, 2])
    cluster.state.offline.setdefault(2, {})[tp("t-0")] = None
    cluster.brokers[2].bad.append(tp("t-0"))

    assert codes(alter(cluster, ("t-0", [1]))) == {"t-0": 0}
    assert (cluster.partition("t-0").leader, cluster.partition("t-0").isr) == (-1, (2,))

    cluster.start_broker(2)
    assert cluster.partition("t-0").leader == 2


@pytest.mark.kafka_bug("KAFKA-10314")
def test_who_is_added_by_a_new_wish_is_never_told_of_it_as_of_one_it_has() -> None:
    """Seed 47: as the first target left it, and one with an offline log dir refused it then."""
    cluster = with_topic([1])
    alter(cluster, ("t-0", [2]))
    cluster.take()
    alter(cluster, ("t-0", [3]))
    assert told_new(cluster, 3) == [True, True, True]


def test_a_new_wish_keeps_what_both_add() -> None:
    cluster = with_topic([1])
    alter(cluster, ("t-0", [2]))
    cluster.take()

    alter(cluster, ("t-0", [2, 3]))

    assert under_way(cluster) == {"t-0": ([2, 3, 1], [2, 3], [1])}
    assert deleted_on(cluster, 2) == []


@pytest.mark.scenario(186)
def test_the_deletion_of_a_topic_waits_for_its_reassignments() -> None:
    cluster = with_topic([1], [1])
    alter(cluster, ("t-0", [3]), ("t-1", [2]))

    assert [r.error_code for r in cluster.delete("t")] == [0]
    set_isr(cluster, "t-0", [1, 3])
    assert "t" in cluster.state.topics
    set_isr(cluster, "t-1", [1, 2])

    assert "t" not in cluster.state.topics
    assert all(tp(n) not in cluster.brokers[b].files for n in ("t-0", "t-1") for b in (1, 2, 3))


def test_a_replica_that_was_added_twice_is_not_gone_with_the_first_of_it() -> None:
    cluster = with_topic([1, 2])
    cluster.held = [3]
    for target in ([2, 3], None, [2, 3], None):
        told = cluster.sent.get(3, [])[:]
        alter(cluster, ("t-0", target))
    for _ in told:
        cluster.answer_next(3)
    assert cluster.state.removed == {3: cluster.brokers[3].files}


def test_the_next_controller_goes_on() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [3, 1]))

    after = cluster.restart()
    after.settle()

    assert under_way(after) == {"t-0": ([3, 1, 2], [3], [2])}
    assert after.partition("t-0").leader_epoch == 2
    set_isr(after, "t-0", [1, 2, 3])
    assert after.partition("t-0").replicas == (3, 1)


def test_the_next_controller_completes_what_has_become_ready() -> None:
    led = Partition(replicas=(1,), leader=1, leader_epoch=5, isr=(1, 3), partition_epoch=5)
    cluster = Cluster(
        [
            *registered(1, 1),
            *registered(3, 2),
            *topic_records("t", [led]),
            AssignmentChanged("t", 0, (3, 1), (3,), (1,)),
        ]
    )
    cluster.settle()

    assert cluster.partition("t-0").replicas == (3,)
    assert deleted_on(cluster, 1) == ["t-0"]


def test_a_partition_that_never_had_a_leader_can_be_reassigned() -> None:
    cluster = with_topic()
    cluster.expire(1)
    cluster.create("u", [1])
    assert not cluster.partition("u-0").has_leadership

    alter(cluster, ("u-0", [2]))

    assert cluster.partition("u-0").replicas == (2, 1)


def test_many_partitions_share_their_requests() -> None:
    cluster = with_topic([1], [1], [1])
    alter(cluster, ("t-0", [1]), ("t-1", [3]), ("t-2", [2]))
    assert list(under_way(cluster)) == ["t-1", "t-2"]
    assert len(cluster.take()[1]) == 6, (
        "three for those that begin, three for the one that is there"
    )


def test_phases_of_removed_replicas_are_forgotten() -> None:
    cluster = with_topic([1])
    alter(cluster, ("t-0", [3]))
    set_isr(cluster, "t-0", [1, 3])

    run = cluster.machine.run
    assert run.replica_phase_of(tp("t-0"), 1) is ReplicaPhase.NON_EXISTENT
    assert run.replica_phase_of(tp("t-0"), 3) is ReplicaPhase.ONLINE
