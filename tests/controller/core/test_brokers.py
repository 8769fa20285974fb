"""Registration, heartbeats, sessions, controlled shutdown, producer ids."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.events import RequestAnswered, Tick
from controller.core.records import LeadershipChanged, LogDirsFailed
from protocol.errors import ErrorCode
from protocol.messages.control import LeaderAndIsrRequest
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControlledShutdownRequest,
)
from protocol.messages.producer_ids import AllocateProducerIdsRequest
from tests.controller.core.altering import BROKER, GROUP, SET, alter, incremental
from tests.controller.core.cluster import (
    HEARTBEAT_MS,
    SESSION_MS,
    Cluster,
    log_dir,
    settings,
    three_brokers,
    tp,
)
from tests.controller.core.registration import registration


def test_a_registered_broker_is_fenced_until_it_heartbeats() -> None:
    cluster = three_brokers()

    epoch = cluster.call(registration(), 4).broker_epoch

    assert epoch == 4
    assert cluster.state.brokers[4].is_fenced
    assert cluster.take() == {}
    assert not cluster.beat(4).is_fenced
    assert cluster.state.is_live(4)


def test_a_broker_hears_what_changed_while_it_was_away_before_its_roles() -> None:
    """It put a replica into a log dir that had been cordoned meanwhile (seed 785494).

    And one that was paused, and did not notice that it was away, went on by old rights (770501).
    """
    cluster = three_brokers()
    cluster.expire(1)
    alter(cluster, BROKER, "1", ("log.segment.bytes", SET, "100"))
    alter(cluster, GROUP, "readers", ("consumer.session.timeout.ms", SET, "50000"))
    cluster.create("t", [1, 2])
    cluster.take()

    cluster.start_broker(1)

    everything, changed, roles = cluster.take()[1][:3]
    assert [t.topic_name for t in everything.topic_states] == ["t"]
    rows = [(t.topic_name, list(t.partition_states)) for t in changed.topic_states]
    assert rows == [("", []), (":groups", [])]
    assert isinstance(roles, LeaderAndIsrRequest)
    cluster.expire(1)
    cluster.take()
    cluster.start_broker(1)
    assert isinstance(cluster.take()[1][1], LeaderAndIsrRequest)


@pytest.mark.parametrize(("held", "told_again"), [([1], [""]), ([], [])])
def test_a_broker_that_was_gone_before_it_answered_is_told_again(
    held: list[int], told_again: list[str]
) -> None:
    """It was paused, and did not get what had been sent to it (seed 770657)."""
    cluster = three_brokers()
    cluster.held = held
    cluster.ask(incremental((BROKER, "1", [("log.segment.bytes", SET, "100")])), 1)
    cluster.settle()
    cluster.expire(1)
    cluster.held = []
    cluster.take()

    cluster.start_broker(1)
    rows = [t.topic_name for request in cluster.take()[1][1:] for t in request.topic_states]
    assert rows == told_again


def test_the_same_incarnation_keeps_its_epoch_and_its_life() -> None:
    cluster = three_brokers()
    first = cluster.call(registration(), 4).broker_epoch
    cluster.beat(4)

    again = cluster.call(registration(), 4).broker_epoch

    assert again == first
    assert cluster.state.is_live(4)


@pytest.mark.scenario(229)
@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (registration(cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (registration(log_dirs=(log_dir(4, 1),) * 2), ErrorCode.INVALID_REGISTRATION),
        (registration(log_dirs=(log_dir(1, 1),)), ErrorCode.INVALID_REGISTRATION),
        (registration(log_dirs=(bytes(15) + b"\x02",)), ErrorCode.INVALID_REGISTRATION),
        (registration(listeners=()), ErrorCode.INVALID_REGISTRATION),
        (registration(log_dirs=()), ErrorCode.NONE),
    ],
)
def test_contradictions_refuse_a_registration(
    request_: BrokerRegistrationRequest, code: ErrorCode
) -> None:
    response = three_brokers().call(request_, 4)

    assert response.error_code == code
    assert (response.broker_epoch == -1) == (code is not ErrorCode.NONE)


@pytest.mark.scenario(24)
def test_a_second_broker_with_the_id_of_a_live_one_is_refused_until_that_one_is_gone() -> None:
    cluster = three_brokers()
    second = registration(1, log_dirs=(log_dir(4, 1),))

    assert cluster.call(second, 1).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert cluster.beat(1).error_code == ErrorCode.NONE
    cluster.advance(SESSION_MS)
    assert cluster.call(second, 1).error_code == ErrorCode.NONE


def test_a_restarted_broker_is_known_by_any_of_its_log_dirs() -> None:
    cluster = three_brokers()
    restarted = registration(1, log_dirs=(log_dir(1, 2), log_dir(4, 1)))

    assert cluster.call(restarted, 1).error_code == ErrorCode.NONE


@pytest.mark.parametrize("broker_epoch", [0, 99])
def test_a_heartbeat_with_another_epoch_is_stale(broker_epoch: int) -> None:
    cluster = three_brokers()
    request = BrokerHeartbeatRequest(broker_id=1, broker_epoch=broker_epoch)

    assert cluster.call(request, 1).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert cluster.beat(9).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_a_silent_broker_is_fenced_and_lives_again_when_it_speaks() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])

    cluster.expire(1)
    assert cluster.state.brokers[1].is_fenced
    assert cluster.partition("t-0").leader == 2
    epoch = cluster.state.brokers[1].broker_epoch

    assert not cluster.beat(1).is_fenced
    assert cluster.state.brokers[1].broker_epoch == epoch


def test_answers_on_the_channel_of_before_count_for_nothing() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    epoch = cluster.state.brokers[1].broker_epoch
    late = RequestAnswered(1, epoch, cluster.machine.run.channels[1].sent, None, None)

    cluster.expire(1)
    cluster.beat(1)
    cluster.feed(late)

    progress = cluster.machine.run.channels[1]
    assert late.sequence <= progress.answered <= progress.sent
    assert cluster.state.brokers[1].broker_epoch == epoch


def test_a_session_ends_exactly_after_its_timeout() -> None:
    cluster = three_brokers()
    cluster.beat(1)

    cluster.advance(SESSION_MS - 1)
    assert cluster.state.is_live(1)
    cluster.advance(1)

    assert cluster.state.reachable_brokers() == []


def test_brokers_that_die_together_cost_one_election() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2, 3])

    cluster.expire(1, 2)

    assert (cluster.partition("t-0").leader, cluster.partition("t-0").isr) == (3, (3,))


def test_a_controller_that_was_stopped_itself_blames_nobody() -> None:
    cluster = three_brokers(config=settings(auto_leader_rebalance_enable="false"))
    due_ms = cluster.machine.next_deadline_ms()
    assert due_ms is not None

    cluster.now_ms = due_ms + HEARTBEAT_MS + 1
    cluster.feed(Tick(due_ms))

    assert cluster.state.reachable_brokers() == [1, 2, 3]
    assert cluster.machine.next_deadline_ms() == cluster.now_ms + SESSION_MS


def test_a_broker_may_ask_to_be_fenced() -> None:
    cluster = three_brokers()

    assert cluster.beat(1, want_fence=True).is_fenced
    assert not cluster.state.is_reachable(1)
    assert cluster.beat(1, want_fence=True).is_fenced


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


@pytest.mark.scenario(163)
@pytest.mark.parametrize(
    ("broker_id", "broker_epoch", "code"),
    [
        (2, 1, ErrorCode.STALE_BROKER_EPOCH),
        (9, 5, ErrorCode.UNKNOWN_SERVER_ERROR),
        (9, -1, ErrorCode.BROKER_NOT_AVAILABLE),
        (2, -1, ErrorCode.NONE),
        (2, 2, ErrorCode.NONE),
    ],
)
def test_controlled_shutdown_checks_who_asks(
    broker_id: int, broker_epoch: int, code: ErrorCode
) -> None:
    request = ControlledShutdownRequest(broker_id=broker_id, broker_epoch=broker_epoch)

    assert three_brokers().call(request, 3).error_code == code


@pytest.mark.scenario(163)
def test_what_cannot_move_remains_and_single_replicas_do_not_count() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2], [2, 1])
    cluster.create("alone", [1])
    cluster.expire(2)

    response = cluster.shut_down(1)

    assert [(p.topic_name, p.partition_index) for p in response.remaining_partitions] == [
        ("t", 0),
        ("t", 1),
    ]
    assert cluster.partition("alone-0").leader == 1


def test_nobody_waits_for_a_leaving_follower_while_it_has_to_stay_as_a_leader() -> None:
    cluster = three_brokers()
    cluster.create("stays", [1, 3])
    cluster.create("followed", [2, 1])
    cluster.expire(3)

    (remaining,) = cluster.shut_down(1).remaining_partitions

    assert remaining.topic_name == "stays"
    assert cluster.partition("followed-0").isr == (2,)
    told = [r for r in cluster.take()[2] if isinstance(r, LeaderAndIsrRequest)][-1]
    assert list(told.topic_states[0].partition_states[0].isr) == [2]


def test_a_leaving_broker_is_let_go_once_it_leads_nothing() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.create("alone", [1])

    assert list(cluster.shut_down(1).remaining_partitions) == []
    assert cluster.state.is_reachable(1)
    cluster.take()
    response = cluster.beat(1, want_shut_down=True)

    assert (response.should_shut_down, response.is_fenced) == (True, True)
    assert cluster.partition("alone-0").leader == -1
    assert cluster.beat(1, want_shut_down=True).should_shut_down


def test_a_heartbeat_alone_can_hand_over_as_well() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])

    assert cluster.beat(1, want_shut_down=True).should_shut_down
    assert cluster.partition("t-0").leader == 2


def test_a_broker_that_still_leads_is_not_let_go() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.expire(2)

    assert not cluster.beat(1, want_shut_down=True).should_shut_down
    assert cluster.state.is_shutting_down(1)
    cluster.start_broker(2)
    partition = cluster.partition("t-0")
    cluster.state.topics["t"].partitions[0] = replace(partition, isr=(1, 2))

    assert cluster.beat(1, want_shut_down=True).should_shut_down
    assert cluster.partition("t-0").leader == 2


def test_producer_ids_come_in_blocks_that_nobody_gets_twice() -> None:
    cluster = three_brokers()
    first = cluster.call(AllocateProducerIdsRequest(broker_id=1, broker_epoch=1))
    second = cluster.call(AllocateProducerIdsRequest(broker_id=2, broker_epoch=2))
    stale = cluster.call(AllocateProducerIdsRequest(broker_id=2, broker_epoch=1))

    assert (first.producer_id_start, first.producer_id_len) == (0, 1000)
    assert second.producer_id_start == 1000
    assert stale.error_code == ErrorCode.STALE_BROKER_EPOCH
    after = cluster.restart()
    third = after.call(AllocateProducerIdsRequest(broker_id=1, broker_epoch=1))
    assert third.producer_id_start == 2000


def test_a_new_cluster_has_no_deadline_but_the_look_for_preferred_leaders() -> None:
    cluster = Cluster()
    assert cluster.machine.next_deadline_ms() == cluster.now_ms + 5000
