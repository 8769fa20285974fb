"""Brokers that have logs of topics that the journal has lost, and that were made anew by name."""

from __future__ import annotations

from controller.core.effects import Note
from controller.core.journal_records import DecisionsLost
from protocol.messages.control import LeaderAndIsrRequest
from tests.controller.core.cluster import Cluster, three_brokers, tp

TOLD = Note(
    "broker 3 has logs of older topics of the same names, which the journal lost: t-0; they stay "
    "as strays, and new ones are made",
    is_warning=True,
)


def comes_back(*replicas: list[int], lost_after: int = 0) -> Cluster:
    """Return a cluster whose broker 3 died before it heard of a topic, and has an older one's log.

    Decisions behind ``lost_after`` were lost since.
    """
    cluster = three_brokers()
    cluster.brokers[3].older[tp("t-0")] = None
    cluster.held = [3]
    cluster.create_and_forget("t", *replicas)
    cluster.expire(3)
    cluster.held = []
    DecisionsLost(lost_after).apply(cluster.state)
    cluster.take()
    cluster.start_broker(3)
    return cluster


def were_new(cluster: Cluster) -> list[bool]:
    return [
        state.is_new
        for request in cluster.take().get(3, [])
        if isinstance(request, LeaderAndIsrRequest)
        for topic in request.topic_states
        for state in topic.partition_states
    ]


def test_who_is_to_lead_a_new_topic_and_has_an_older_one_is_told_that_it_is_new() -> None:
    cluster = comes_back([3])
    assert tp("t-0") in cluster.brokers[3].files
    assert (cluster.partition("t-0").leader, cluster.notes.count(TOLD)) == (3, 1)
    assert were_new(cluster) == [False, False, True], "before and after the election, and once new"


def test_what_may_be_newer_than_the_topic_of_the_journal_stays() -> None:
    cluster = comes_back([3], lost_after=10_000)
    assert tp("t-0") not in cluster.brokers[3].files
    assert (True in were_new(cluster), TOLD in cluster.notes) == (False, False)


def test_only_topics_made_behind_the_last_lost_decision_are_newest() -> None:
    decision = comes_back([3]).state.topics["t"].decision
    assert decision > 0
    assert tp("t-0") not in comes_back([3], lost_after=decision).brokers[3].files
    assert tp("t-0") in comes_back([3], lost_after=decision - 1).brokers[3].files


def test_a_later_life_of_the_broker_is_told_so_again() -> None:
    cluster = comes_back([3])
    cluster.expire(3)
    cluster.brokers[3].older[tp("t-0")] = None
    cluster.start_broker(3)
    assert cluster.notes.count(TOLD) == 2
    assert tp("t-0") not in cluster.brokers[3].older


def test_who_was_taken_for_dead_before_it_heard_that_it_is_new_is_told_again() -> None:
    """What was under way to it is gone, and it is in the same broker epoch still (seed 1151858)."""
    cluster = comes_back([3])
    cluster.brokers[3].older[tp("t-0")] = None
    cluster.expire(3)
    cluster.beat(3)
    assert cluster.notes.count(TOLD) == 2
    assert tp("t-0") not in cluster.brokers[3].older


def test_a_topic_that_is_being_deleted_is_not_made() -> None:
    cluster = three_brokers()
    cluster.brokers[3].older[tp("t-0")] = None
    cluster.held = [3]
    cluster.create_and_forget("t", [1, 3])
    cluster.expire(3)
    cluster.held = []
    cluster.delete("t")
    cluster.take()
    cluster.start_broker(3)
    assert True not in were_new(cluster)
