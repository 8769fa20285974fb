"""Registration, heartbeats, sessions, controlled shutdown, producer ids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.core.events import RequestAnswered, Tick
from controller.core.reports import PRODUCER_IDS_GAP
from protocol.errors import ErrorCode
from protocol.messages.control import LeaderAndIsrRequest
from protocol.messages.journal import JournalReport, asks_for_replicas, put_report
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
)
from tests.controller.core.heard import heartbeat
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
        (registration(log_dirs=((99).to_bytes(16),)), ErrorCode.INVALID_REGISTRATION),
        (registration(log_dirs=((100).to_bytes(16), (256).to_bytes(16))), ErrorCode.NONE),
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
    cluster.feed(Tick(cluster.now_ms))
    assert cluster.state.is_live(1)
    assert cluster.take() == {}, "nobody is told that nothing happened"
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


def test_a_controller_that_is_late_by_no_more_than_a_heartbeat_forgives_nobody() -> None:
    cluster = three_brokers(config=settings(auto_leader_rebalance_enable="false"))
    due_ms = cluster.now_ms + SESSION_MS
    cluster.now_ms = due_ms + HEARTBEAT_MS
    cluster.feed(Tick(due_ms))
    assert cluster.state.reachable_brokers() == []


def test_a_broker_may_ask_to_be_fenced() -> None:
    cluster = three_brokers()
    assert cluster.beat(1, want_fence=True).is_fenced
    assert not cluster.state.is_reachable(1)
    assert cluster.beat(1, want_fence=True).is_fenced


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


def test_a_log_dir_that_fails_and_is_back_in_the_same_process_is_noticed() -> None:
    cluster = three_brokers()
    cluster.fail_log_dir(1, 1, [])
    assert cluster.offline_numbers(1) == [1]
    cluster.return_log_dirs(1, [1, 2])
    assert cluster.offline_numbers(1) == []


def test_a_registration_puts_the_journal_above_what_the_broker_knows() -> None:
    cluster = three_brokers()
    request = registration()
    request.previous_broker_epoch = 4_000
    put_report(request, report_to(cluster, controller_epoch=9, producer_ids_end=5_000))
    assert cluster.call(request, 4).broker_epoch > 4_000
    assert (cluster.state.controller_epoch, cluster.state.next_producer_id) == (10, 5_000)


def report_to(cluster: Cluster, **told: Any) -> JournalReport:
    report = JournalReport(journal_id=cluster.state.journal_id, topics=[])
    for name, value in told.items():
        setattr(report, name, value)
    return report


def test_a_broker_of_another_journal_does_not_register() -> None:
    cluster = three_brokers()
    request = registration()
    put_report(request, report_to(cluster, journal_id=bytes([8]) * 16))
    assert cluster.call(request, 4).error_code == ErrorCode.NOT_CONTROLLER
    assert 4 not in cluster.state.brokers


def test_who_comes_back_knowing_more_than_the_journal_tells_its_replicas_first() -> None:
    cluster = three_brokers()
    cluster.expire(1)
    for is_asked in (True, False):
        newer = report_to(cluster, controller_epoch=9, producer_ids_end=5_000)
        newer.topics = None if is_asked else ()
        answer = cluster.call(heartbeat(cluster.state, 1, newer), 2)
        assert (answer.is_fenced, asks_for_replicas(answer)) == (is_asked, is_asked)
    assert cluster.state.next_producer_id == 5_000


def test_who_may_know_of_a_log_that_is_waited_for_is_asked_and_lives_on() -> None:
    cluster = three_brokers()
    cluster.machine.run.awaits_logs = True
    answer = cluster.call(heartbeat(cluster.state, 1, report_to(cluster, topics=None)), 2)
    assert (answer.is_fenced, asks_for_replicas(answer)) == (False, True)


def test_a_follower_that_leaves_is_stopped_before_it_leaves_the_isr() -> None:
    """Source: KafkaController.doControlledShutdown."""
    cluster = three_brokers()
    cluster.create("t", [2, 1])
    cluster.take()
    cluster.ask_to_shut_down(1)
    (state,) = cluster.take()[1][0].topic_states[0].partition_states
    assert (state.leader_epoch, state.delete_partition) == (0, False)
    assert cluster.partition("t-0").isr == (2,)


def test_a_leaving_broker_is_answered_a_session_later_if_it_answers_nothing() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.held.append(1)
    token, begin_ms = cluster.ask_to_shut_down(1), cluster.now_ms
    while cluster.now_ms < begin_ms + SESSION_MS:
        assert token not in cluster.answers
        for broker_id in (1, 2, 3):
            cluster.beat(broker_id)
        cluster.advance(HEARTBEAT_MS)
    assert token in cluster.answers


def test_blocks_of_producer_ids_that_a_broker_not_heard_may_have_are_left_out() -> None:
    cluster = three_brokers()
    del cluster.machine.run.reports[3]
    answer = cluster.call(AllocateProducerIdsRequest(broker_id=1, broker_epoch=1))
    assert answer.producer_id_start == PRODUCER_IDS_GAP
