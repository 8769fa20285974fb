"""Who is in an Isr of which nobody has a log, by a journal that is behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core import catch_up, missing_logs
from controller.core.election import Strategy, elect
from controller.core.reassignment_records import RemovalsPending
from controller.core.records import Record
from protocol.ids import NO_LEADER
from protocol.messages.journal import JournalReport, ReportedReplica
from tests.controller.core.cluster import Cluster, registered, tp
from tests.controller.core.heard import cold, led, reported
from tests.controller.core.test_catch_up import JOURNAL, cluster_of, learned, step_of


def four(*more: Record) -> Cluster:
    """Orders-0 is on brokers 1 and 2, and led by 1 in epoch 4; 3 and 4 are known, too."""
    return cluster_of(*registered(3, 3), *registered(4, 4), *more)


def has(*replicas: ReportedReplica) -> JournalReport:
    """What a broker tells that has these replicas of orders-0, or none."""
    topics = [reported("orders", *replicas)] if replicas else []
    return JournalReport(journal_id=JOURNAL, topics=topics)


def settled(cluster: Cluster, reports: dict[int, JournalReport]) -> list[str]:
    step = step_of(cluster)
    missing_logs.note(step, reports)
    return list(map(str, catch_up.settle(step)))


def known_of(cluster: Cluster) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    after = cluster.partition("orders-0")
    return after.replicas, after.leader, after.isr


def test_nobody_leads_while_somebody_who_was_not_heard_may_have_the_log() -> None:
    cluster = four()
    assert learned(cluster, {1: has(), 2: has(), 3: has()}) == ["orders-0"]
    assert known_of(cluster) == ((1, 2), NO_LEADER, ())
    assert cluster.partition("orders-0").leader_epoch == 5
    assert missing_logs.are_awaited(cluster.state)
    assert cluster.machine.run.awaits_logs


def test_only_an_unclean_election_gives_a_leader_meanwhile() -> None:
    cluster = four()
    learned(cluster, {1: has(), 2: has()})
    found = [
        elect(cluster.state, tp("orders-0"), strategy, is_unclean_allowed=allowed)
        for strategy in (Strategy.OFFLINE, Strategy.PREFERRED)
        for allowed in (False, True)
    ]
    assert [each and each.partition.leader for each in found] == [None, 1, None, None]


def test_who_waits_and_for_whom_is_said_once() -> None:
    cluster = four()
    step = step_of(cluster)
    catch_up.learn(step, {1: has(), 2: has()}, lost=0)
    catch_up.settle(step)
    (said,) = [note.text for note in step.notes if "orders-0: nobody leads" in note.text]
    assert "until brokers [3, 4] have told" in said


def test_a_broker_that_has_the_log_becomes_the_replica_when_all_have_told() -> None:
    cluster = four()
    reports = {1: has(), 2: has(), 3: has(cold(6, 90)), 4: has(cold(6, 80))}
    assert learned(cluster, reports) == ["orders-0"]
    assert known_of(cluster) == ((3, 4), NO_LEADER, (3,))
    assert cluster.partition("orders-0").leader_epoch > 6
    assert cluster.state.removed == {}, "nobody is sure enough to delete"
    assert cluster.state.hosted_by(3) == [tp("orders-0")]


def test_of_logs_that_are_told_one_after_the_other_the_longest_is_taken() -> None:
    cluster = four()
    learned(cluster, {1: has(), 2: has(), 3: has(cold(6, 80))})
    assert known_of(cluster) == ((3,), NO_LEADER, ()), "an unclean election may still elect it"
    assert settled(cluster, {4: has(cold(6, 90))}) == ["orders-0"]
    assert known_of(cluster) == ((3, 4), NO_LEADER, (4,))
    assert not missing_logs.are_awaited(cluster.state)
    assert not cluster.machine.run.awaits_logs


def test_a_replica_with_the_longest_log_is_preferred_to_others() -> None:
    cluster = four()
    learned(cluster, {1: has()})
    assert known_of(cluster)[2] == (2,), "it has not told, and is in the Isr"
    learned(cluster, {2: has()})
    assert known_of(cluster)[2] == ()
    settled(cluster, {1: has(cold(4, 80)), 3: has(cold(4, 80)), 4: has()})
    assert known_of(cluster) == ((1, 2), NO_LEADER, (1,))


def test_what_nobody_has_is_led_anew_above_all_epochs_it_may_have_come_to() -> None:
    cluster = four()
    learned(cluster, {1: has(), 2: has(), 3: has()})
    lost = cluster.state.journal_number - cluster.state.lost_after
    assert settled(cluster, {4: has()}) == ["orders-0"]
    assert known_of(cluster)[2] == (1, 2)
    assert cluster.partition("orders-0").leader_epoch >= 5 + 4 * lost


@pytest.mark.parametrize("made", [cold(-1, 0), led(NO_LEADER, (5, 8), ())])
def test_an_empty_log_that_was_made_since_says_nothing(made: ReportedReplica) -> None:
    """Replicas that are told that nobody leads make one; the next controller hears of it."""
    cluster = four()
    learned(cluster, {1: has(), 2: has()})
    empty = replace(made, log_epoch=-1, log_end_offset=0)
    assert learned(cluster, {1: has(empty), 2: has(empty)}) == []
    assert known_of(cluster) == ((1, 2), NO_LEADER, ())


def test_a_leader_that_comes_late_is_believed_before_all_have_told() -> None:
    cluster = four()
    learned(cluster, {1: has(), 2: has()})
    learned(cluster, {3: has(led(3, (8, 20), (3,), replicas=(3,)))})
    assert known_of(cluster) == ((3,), 3, (3,))


def test_a_log_that_is_to_be_deleted_or_of_another_topic_is_not_taken() -> None:
    cluster = four(RemovalsPending(3, (tp("orders-0"),)))
    other = has(cold(6, 90))
    for topic in other.topics or ():
        topic.topic_id = bytes([5]) * 16
    cluster.machine.run.hearing_is_over = True
    step = step_of(cluster)
    catch_up.learn(step, {1: has(), 2: has(), 3: has(cold(6, 90)), 4: other}, lost=0)
    assert known_of(cluster)[0] == (1, 2)


def test_who_runs_without_a_log_dir_may_have_it_there() -> None:
    cluster = four()
    cluster.machine.run.untold[4] = None
    nobody = {each: has() for each in (1, 2, 3, 4)}
    learned(cluster, nobody)
    assert known_of(cluster)[2] == ()
    del cluster.machine.run.untold[4]
    settled(cluster, {4: has(cold(4, 80))})
    assert known_of(cluster) == ((4,), NO_LEADER, (4,))


def test_who_does_not_say_which_replicas_it_has_keeps_nobody_from_being_heard() -> None:
    cluster = four()
    silent = JournalReport(journal_id=JOURNAL, topics=None)
    missing_logs.note(step_of(cluster), {1: silent, 2: has(cold(4, 80))})
    assert list(cluster.machine.run.logs_told) == [2]
    assert list(cluster.machine.run.have_told) == [2]


def test_what_no_replica_has_by_now_goes_on_above_all_epochs_it_may_have_had() -> None:
    """Its topic was deleted since; each of the three lost decisions gave it four at most."""
    cluster = cluster_of()
    assert learned(cluster, {1: has(), 2: has()}, lost=3) == ["orders-0"]
    assert known_of(cluster) == ((1, 2), 1, (1, 2))
    assert cluster.partition("orders-0").leader_epoch == 4 + 3 * 4


def test_what_waits_for_a_log_is_left_as_it_is_by_who_has_none() -> None:
    cluster = four()
    learned(cluster, {1: has(), 2: has()})
    assert learned(cluster, {1: has(), 2: has()}) == []
