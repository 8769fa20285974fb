"""Log dirs that fail and come back in the same process, and what their broker is told then."""

from __future__ import annotations

import pytest

from controller.core.records import LeadershipChanged, LogDirsFailed
from protocol.messages.control import LeaderAndIsrRequest
from protocol.messages.lifecycle import BrokerHeartbeatRequest
from tests.controller.core.cluster import log_dir, three_brokers, tp
from tests.controller.core.registration import registration


def test_a_log_dir_that_is_gone_without_a_word_has_failed() -> None:
    """Its disk was replaced before the failure could be told, as when this controller was away."""
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.brokers[2].bad = [tp("t-0")]

    again = registration(
        2,
        incarnation=cluster.state.brokers[2].incarnation,
        log_dirs=(log_dir(2, 2), log_dir(2, 9)),
    )
    cluster.call(again, 4)
    cluster.settle()

    assert cluster.state.partition(tp("t-0")).isr == (1,)
    assert tp("t-0") in cluster.state.offline[2]
    assert cluster.state.brokers[2].log_dirs == (log_dir(2, 2), log_dir(2, 9))
    cluster.brokers[2].bad = []
    cluster.call(again, 4)
    cluster.settle()
    assert cluster.state.offline.get(2, {}) == {}


def test_what_stays_offline_after_a_return_is_asked_about_once() -> None:
    cluster = three_brokers()
    cluster.create("t", [1])
    cluster.held = [1]
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.return_log_dirs(1, [1, 2], still_bad=["t-0"])
    cluster.take()
    cluster.held = []
    cluster.settle()
    assert cluster.state.offline_replicas(tp("t-0")) == [1]
    asked = [type(r).__name__ for r in cluster.take()[1]]
    assert asked.count("LeaderAndIsrRequest") == 1


def test_a_registration_sent_twice_brings_nothing_back() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.take()
    cluster.return_log_dirs(1, [1, 2])
    assert cluster.take() == {}


def test_what_comes_back_is_told_of_replicas_of_which_nobody_heard_that_they_were_offline() -> None:
    """The log dir failed again while it counted as failed: its first return came late."""
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.create("u", [2, 1])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.settle()
    cluster.take()

    cluster.return_log_dirs(1, [1, 2])

    asked = [r for r in cluster.take()[1] if isinstance(r, LeaderAndIsrRequest)]
    told = [topic.topic_name for request in asked for topic in request.topic_states]
    assert sorted(told) == ["t", "u"]


def test_a_leader_that_was_offline_unheard_leads_again_in_a_later_epoch() -> None:
    """It answers that it is offline in the epoch in which its log dir failed."""
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.create("u", [1])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.settle()
    epoch = cluster.state.partition(tp("u-0")).leader_epoch
    cluster.brokers[1].bad = [tp("u-0")]
    cluster.held = [1]
    cluster.return_log_dirs(1, [1, 2], still_bad=["u-0"])
    cluster.held = []
    cluster.settle()

    assert cluster.state.partition(tp("u-0")).leader_epoch > epoch


def test_log_dirs_that_were_not_registered_are_no_news() -> None:
    cluster = three_brokers()
    cluster.take()
    cluster.beat(1, offline=[9])
    assert cluster.state.brokers[1].offline_log_dirs == ()
    assert cluster.take() == {}


@pytest.mark.scenario(228)
def test_a_heartbeat_changes_only_replicas_on_its_own_brokers_failed_log_dirs() -> None:
    cluster = three_brokers()
    cluster.create("a", [1, 2], [2, 1])
    cluster.create("b", [1, 3])
    cluster.brokers[1].bad = [tp("a-0"), tp("b-0")]
    before = len(cluster.records)

    cluster.call(
        BrokerHeartbeatRequest(
            broker_id=1, broker_epoch=1, offline_log_dirs=[log_dir(1, 1), log_dir(2, 1)]
        ),
        2,
    )

    noted = [record for record in cluster.records[before:] if isinstance(record, LogDirsFailed)]
    assert noted == [LogDirsFailed(1, (log_dir(1, 1),))]
    assert cluster.state.brokers[2].offline_log_dirs == ()
    changed = {
        (leadership.topic, leadership.partition): (leadership.leader, leadership.isr)
        for record in cluster.records[before:]
        if isinstance(record, LeadershipChanged)
        for leadership in record.changes
    }
    assert changed == {("a", 0): (2, (2,)), ("b", 0): (3, (3,))}


@pytest.mark.scenario(238)
def test_the_next_controller_knows_which_log_dirs_are_online() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])
    after = cluster.restart()
    after.settle()
    broker = after.state.brokers[1]
    assert (broker.log_dirs, broker.offline_log_dirs) == (
        (log_dir(1, 1), log_dir(1, 2)),
        (log_dir(1, 1),),
    )
    known = len(after.records)
    after.beat(1, offline=[1])
    assert len(after.records) == known, "the failure is no news"
    after.start_broker(1)
    assert after.state.brokers[1].offline_log_dirs == ()


@pytest.mark.scenario(248)
def test_cordoned_log_dirs_are_kept_and_null_keeps_the_last() -> None:
    cluster = three_brokers()
    cluster.beat(1, cordoned=[2])
    records = len(cluster.records)
    cluster.beat(1, cordoned=[2])
    cluster.beat(1)
    assert cluster.state.brokers[1].cordoned_log_dirs == (log_dir(1, 2),)
    assert len(cluster.records) == records
    cluster.beat(1, cordoned=[])
    assert cluster.state.brokers[1].cordoned_log_dirs == ()
