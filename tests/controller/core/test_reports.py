"""What brokers report of the journal, after this controller began to act."""

from __future__ import annotations

from dataclasses import replace

from controller.core.decision import Durable
from controller.core.effects import Effect, End
from controller.core.events import RequestArrived
from controller.core.reports import PRODUCER_IDS_GAP
from controller.core.settings import Settings
from protocol.errors import ErrorCode
from protocol.ids import NO_LEADER
from protocol.messages.control import LeaderAndIsrRequest
from protocol.messages.journal import JournalReport, asks_for_replicas, put_report
from protocol.messages.lifecycle import BrokerRegistrationRequest, Listener
from protocol.messages.producer_ids import AllocateProducerIdsRequest
from tests.controller.core.cluster import CLUSTER_ID, Cluster, log_dir, settings, three_brokers, tp
from tests.controller.core.heard import cold, heartbeat, led, reported

OTHER = bytes([8]) * 16


def registration(broker_id: int, report: JournalReport | None = None) -> BrokerRegistrationRequest:
    request = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=CLUSTER_ID,
        incarnation_id=bytes([9]) * 16,
        listeners=[Listener(name="PLAINTEXT", host="h", port=9092, security_protocol=0)],
        log_dirs=[log_dir(broker_id, 1), log_dir(broker_id, 2)],
    )
    if report is not None:
        put_report(request, report)
    return request


def effects_of(cluster: Cluster, request: BrokerRegistrationRequest) -> list[Effect]:
    decision = cluster.machine.step(RequestArrived(99, request, 4), cluster.now_ms)
    return list(decision.effects(Durable(decision.journal_number)))


def test_an_empty_journal_beside_a_broker_with_data_ends_the_controller_and_names_the_option() -> (
    None
):
    cluster = Cluster()
    effects = effects_of(cluster, registration(1, JournalReport(journal_id=OTHER)))
    (end,) = [effect for effect in effects if isinstance(effect, End)]
    assert "--accept-new-journal" in end.reason
    assert 1 not in cluster.state.brokers


def test_a_broker_of_another_journal_is_turned_away_while_the_cluster_goes_on() -> None:
    cluster = three_brokers()
    token = cluster.ask(registration(4, JournalReport(journal_id=OTHER, topics=[])), 4)
    assert cluster.answers[token].error_code == ErrorCode.NOT_CONTROLLER
    assert 4 not in cluster.state.brokers


def test_with_consent_a_broker_of_another_journal_is_taken_in_above_all_it_knows() -> None:
    cluster = Cluster(config=accepting())
    report = JournalReport(
        journal_id=OTHER,
        controller_epoch=8,
        journal_number=500,
        producer_ids_end=9000,
        topics=[reported("lost", led(1, (3, 3), (1,)))],
    )
    token = cluster.ask(registration(1, report), 4)
    assert cluster.answers[token].error_code == ErrorCode.NONE
    state = cluster.state
    assert (state.controller_epoch, state.next_producer_id) == (9, 9000)
    assert any("lost-0" in note.text for note in cluster.notes if note.is_warning)


def test_a_block_that_a_heartbeat_tells_of_is_given_to_nobody_else() -> None:
    cluster = three_brokers()
    for broker_id in (1, 2, 3):
        report = JournalReport(journal_id=cluster.state.journal_id, producer_ids_end=5000)
        cluster.ask(heartbeat(cluster.state, broker_id, report), 2)
    epoch = cluster.state.brokers[1].broker_epoch
    answer = cluster.call(AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch))
    assert answer.producer_id_start == 5000
    assert PRODUCER_IDS_GAP % 1000 == 0


def test_a_gap_for_blocks_of_who_was_not_heard_is_left_once() -> None:
    cluster = three_brokers()
    epoch = cluster.state.brokers[1].broker_epoch
    starts: list[int] = []
    for unheard in (3, 2):
        del cluster.machine.run.reports[unheard]
        asked = AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch)
        starts.append(cluster.call(asked).producer_id_start)
    assert starts == [PRODUCER_IDS_GAP, PRODUCER_IDS_GAP + 1000]


def test_a_broker_with_a_log_dir_that_is_offline_does_not_tell_what_is_in_it() -> None:
    cluster = three_brokers()
    untold = cluster.machine.run.untold
    report = JournalReport(journal_id=cluster.state.journal_id)
    request = heartbeat(cluster.state, 2, report)
    request.offline_log_dirs = [log_dir(2, 1)]
    cluster.ask(request, 2)
    assert list(untold) == [2]
    cluster.ask(heartbeat(cluster.state, 2, report), 2)
    assert not untold

    late = registration(3, report)
    late.log_dirs = [log_dir(3, 1)]
    cluster.ask(late, 3)
    assert list(untold) == [3]
    late.incarnation_id = bytes([10]) * 16
    late.log_dirs = [log_dir(3, 1), log_dir(3, 7)]  # the other disk was replaced
    cluster.ask(late, 3)
    assert not untold


def test_a_broker_that_comes_late_is_learned_from_and_a_leader_that_is_live_stays() -> None:
    cluster = three_brokers()
    cluster.create("orders", [1, 2])
    cluster.take()
    topic_id = cluster.state.topics["orders"].topic_id
    before = cluster.partition("orders-0")
    topic = reported("orders", led(3, (before.leader_epoch + 5, 9), (3,)))
    topic.topic_id = topic_id
    report = JournalReport(
        journal_id=cluster.state.journal_id,
        controller_epoch=cluster.state.controller_epoch + 4,
        journal_number=cluster.state.journal_number + 1,
        topics=[topic],
    )
    epoch = cluster.state.controller_epoch
    cluster.ask(registration(3, report), 4)

    after = cluster.partition("orders-0")
    assert (after.leader, after.isr) == (before.leader, before.isr)
    assert after.leader_epoch == before.leader_epoch + 6
    assert cluster.state.controller_epoch == epoch + 5
    assert {1, 2} <= set(cluster.take())


def test_who_is_live_and_registers_with_what_is_unknown_is_told_that_nobody_leads_it() -> None:
    cluster = three_brokers()
    cluster.take()
    topic = reported("lost", led(3, (4, 9), (3,)))
    topic.topic_id = bytes([7]) * 16
    report = JournalReport(
        journal_id=cluster.state.journal_id,
        controller_epoch=cluster.state.controller_epoch + 4,
        journal_number=cluster.state.journal_number + 1,
        topics=[topic],
    )
    request = registration(3, report)
    request.incarnation_id = cluster.state.brokers[3].incarnation
    cluster.ask(request, 4)

    assert list(cluster.state.unknown_replicas) == [3]
    (told,) = (each for each in cluster.take()[3] if isinstance(each, LeaderAndIsrRequest))
    (state,) = told.topic_states[0].partition_states
    assert (state.leader, state.leader_epoch) == (NO_LEADER, 5)


def test_a_leader_that_comes_late_with_other_replicas_is_elected_once_it_is_live() -> None:
    cluster = three_brokers()
    cluster.create("orders", [1, 2])
    cluster.expire(1, 2)
    before = cluster.partition("orders-0")
    assert before.leader == NO_LEADER
    topic = reported("orders", led(3, (before.leader_epoch + 5, 9), (3,), replicas=(3,)))
    topic.topic_id = cluster.state.topics["orders"].topic_id
    report = JournalReport(
        journal_id=cluster.state.journal_id,
        controller_epoch=cluster.state.controller_epoch + 4,
        journal_number=cluster.state.journal_number + 1,
        topics=[topic],
    )
    cluster.ask(registration(3, report), 4)

    after = cluster.partition("orders-0")
    assert (after.leader, after.isr, after.replicas) == (NO_LEADER, (3,), (3,))
    assert after.leader_epoch == before.leader_epoch + 6
    assert list(cluster.machine.run.replica_phases[tp("orders-0")]) == [3]
    cluster.ask(heartbeat(cluster.state, 3), 2)
    assert cluster.partition("orders-0").leader == 3


def test_a_broker_that_was_not_heard_tells_its_replicas_before_it_is_taken_in_again() -> None:
    """It led in the same epoch as another one: nobody asked it (after seed 785104)."""
    cluster = three_brokers()
    cluster.create("orders", [3])
    cluster.expire(3)
    state = cluster.state
    before = cluster.partition("orders-0")
    told = JournalReport(
        journal_id=state.journal_id,
        controller_epoch=state.controller_epoch,
        journal_number=state.journal_number + 1,
    )
    token = cluster.ask(heartbeat(state, 3, told), 2)
    assert cluster.answers[token].is_fenced
    assert asks_for_replicas(cluster.answers[token])

    topic = reported("orders", led(3, (before.leader_epoch + 5, 9), (3,), replicas=(3,)))
    topic.topic_id = state.topics["orders"].topic_id
    # It has heard of this controller since, by the answer.
    known = replace(told, journal_number=state.journal_number, topics=[topic])
    token = cluster.ask(heartbeat(state, 3, known), 2)
    assert not cluster.answers[token].is_fenced
    after = cluster.partition("orders-0")
    assert (after.leader, after.leader_epoch) == (3, before.leader_epoch + 7)


def test_where_nobody_of_an_isr_has_a_log_brokers_that_are_live_are_asked_for_theirs() -> None:
    """Broker 3 comes late, of a journal that goes on behind this one, and has no log any more."""
    cluster = three_brokers()
    cluster.create("orders", [3])
    cluster.expire(3)
    state = cluster.state
    report = JournalReport(
        journal_id=state.journal_id,
        controller_epoch=state.controller_epoch,
        journal_number=state.journal_number + 5,
        topics=[],
    )
    cluster.ask(registration(3, report), 4)
    cluster.ask(heartbeat(state, 3), 2)
    assert cluster.partition("orders-0").isr == ()
    assert cluster.partition("orders-0").leader == NO_LEADER

    topic = reported("orders", cold(2, 80))
    topic.topic_id = state.topics["orders"].topic_id
    told = JournalReport(journal_id=state.journal_id)
    for broker_id, topics in ((1, []), (2, [topic])):
        token = cluster.ask(heartbeat(state, broker_id, told), 2)
        assert asks_for_replicas(cluster.answers[token])
        token = cluster.ask(heartbeat(state, broker_id, replace(told, topics=topics)), 2)
        assert not asks_for_replicas(cluster.answers[token])
    after = cluster.partition("orders-0")
    assert (after.replicas, after.leader, after.isr) == ((2,), 2, (2,))
    token = cluster.ask(heartbeat(state, 1, told), 2)
    assert not asks_for_replicas(cluster.answers[token])


def accepting() -> Settings:
    return replace(settings(), accepts_other_journals=True)
