"""Partitions move by the table, get leaders in one batch, and may stay without one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.effects import Note, Send
from controller.core.election import Strategy
from controller.core.partition_moves import (
    bring_online,
    elect_leaderless,
    move_partitions,
    raise_leader_epochs,
    write_leaderships,
)
from controller.core.phases import PartitionPhase
from controller.core.records import DeletionQueued, LeadershipChanged
from controller.core.step import Step
from protocol.messages.control import LeaderAndIsrRequest
from tests.controller.core.cluster import Cluster, settings, three_brokers, tp

T0, T1 = tp("t-0"), tp("t-1")


def step_of(cluster: Cluster) -> Step:
    class NoChance:
        def randrange(self, stop: int, /) -> int:
            return 0 * stop

        def randbytes(self, n: int, /) -> bytes:
            return bytes(n)

    return Step(cluster.state, cluster.machine.run, settings(), NoChance(), cluster.now_ms)


def cluster_with_topic() -> Cluster:
    cluster = three_brokers()
    cluster.create("t", [1, 2], [2, 1])
    return cluster


@pytest.mark.scenario(166)
def test_an_undeclared_move_is_skipped_and_the_others_are_made() -> None:
    cluster = cluster_with_topic()
    step = step_of(cluster)
    move_partitions(step, [T0], PartitionPhase.OFFLINE)

    move_partitions(step, [T0, T1], PartitionPhase.NON_EXISTENT)

    assert step.run.phase_of(T0) is PartitionPhase.NON_EXISTENT
    assert step.run.phase_of(T1) is PartitionPhase.ONLINE
    assert [note.text for note in step.notes] == [
        "t-1: no move from ONLINE to NON_EXISTENT, skipped"
    ]


@pytest.mark.scenario(170)
def test_going_offline_changes_no_leadership_and_tells_nobody() -> None:
    cluster = cluster_with_topic()
    step = step_of(cluster)

    move_partitions(step, [T0], PartitionPhase.OFFLINE)

    assert (step.records, step.effects) == ([], [])
    assert list(step.run.leaderless) == [T0]


def test_an_election_raises_both_epochs_by_one_and_is_one_record() -> None:
    cluster = cluster_with_topic()
    step = step_of(cluster)
    move_partitions(step, [T0, T1], PartitionPhase.OFFLINE)

    assert bring_online(step, [T0, T1]) == {T0: True, T1: True}

    assert [type(record) for record in step.records] == [LeadershipChanged]
    partition = cluster.state.partition(T0)
    assert (partition.leader_epoch, partition.partition_epoch) == (1, 1)


def test_a_new_partition_without_an_online_replica_stays_new_until_one_comes() -> None:
    cluster = three_brokers()
    cluster.expire(1)
    cluster.create("t", [1])
    assert cluster.machine.run.phase_of(T0) is PartitionPhase.NEW
    assert not cluster.state.partition(T0).has_leadership

    cluster.start_broker(1)

    assert cluster.machine.run.phase_of(T0) is PartitionPhase.ONLINE
    assert cluster.state.partition(T0).leader_epoch == 0


def test_topics_being_deleted_get_no_leaders() -> None:
    cluster = cluster_with_topic()
    step = step_of(cluster)
    move_partitions(step, [T0], PartitionPhase.OFFLINE)
    step.change(DeletionQueued("t"))

    assert elect_leaderless(step) == {}


def test_a_leader_goes_on_by_the_next_epoch_when_a_followers_log_dir_is_back() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2, 3])
    cluster.fail_log_dir(2, 1, ["t-0"])
    before = cluster.partition("t-0")
    cluster.return_log_dirs(2, [1, 2])
    after = cluster.partition("t-0")
    assert (after.leader, after.isr) == (before.leader, before.isr) == (1, (1, 3))
    assert after.leader_epoch == before.leader_epoch + 1


def test_who_comes_back_is_not_told_of_the_next_epoch_with_the_others() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2, 3])
    step = step_of(cluster)
    raise_leader_epochs(step, [T0], 2)
    told = [e for e in step.effects if isinstance(e, Send)]
    leaders = [e.broker_id for e in told if isinstance(e.request, LeaderAndIsrRequest)]
    assert leaders == [1, 3]


@pytest.mark.parametrize(("leader", "broker_id"), [(-1, 2), (2, 2)])
def test_nobody_leads_in_a_next_epoch_where_only_who_comes_back_could(
    leader: int, broker_id: int
) -> None:
    cluster = cluster_with_topic()
    partitions = cluster.state.topics["t"].partitions
    partitions[0] = replace(partitions[0], leader=leader)
    step = step_of(cluster)
    raise_leader_epochs(step, [T0], broker_id)
    assert (step.records, step.effects) == ([], [])


@pytest.mark.parametrize(
    ("allowed", "strategy", "is_elected"),
    [
        ("false", Strategy.OFFLINE, False),
        ("true", Strategy.OFFLINE, True),
        ("false", Strategy.OFFLINE_UNCLEAN, True),
        ("true", Strategy.PREFERRED, False),
    ],
)
def test_an_unclean_election_is_for_who_allows_or_asks_for_it_and_is_counted_and_said(
    allowed: str, strategy: Strategy, *, is_elected: bool
) -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2], configs={"unclean.leader.election.enable": allowed})
    cluster.expire(2)
    partitions = cluster.state.topics["t"].partitions
    partitions[0] = replace(partitions[0], leader=-1, isr=(2,))
    step = step_of(cluster)
    step.run.set_phase(T0, PartitionPhase.OFFLINE)

    assert bring_online(step, [T0], strategy) == {T0: is_elected}

    said = ["t-0 leader -1 -> 1, epoch 1 -> 2, isr [2] -> [1]: unclean election"]
    assert [note.text for note in step.notes] == (said if is_elected else [])
    assert step.run.unclean_elections_count == is_elected
    assert len(step.records) == is_elected


def test_the_log_says_who_was_elected_and_why_an_epoch_began() -> None:
    step = step_of(cluster_with_topic())
    raise_leader_epochs(step, [T0], 2)
    cluster = cluster_with_topic()
    cluster.expire(1)
    assert [note.text for note in step.notes] == [
        "t-0 epoch 0 -> 1, isr [1, 2] -> [1, 2]: replica on broker 2 comes back"
    ]
    assert Note("t-0 leader 1 -> 2, epoch 0 -> 1, isr [1, 2] -> [2]: election") in cluster.notes
    assert not [note for note in cluster.notes if "-> 0" in note.text], (
        "a first leader is no change"
    )


def test_who_leads_is_in_the_isr() -> None:
    step = step_of(cluster_with_topic())
    with pytest.raises(AssertionError):
        write_leaderships(step, {T0: replace(step.state.partition(T0), isr=(2,))})
