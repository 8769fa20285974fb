"""A new controller listens before it acts."""

from __future__ import annotations

from dataclasses import replace

from controller.core.events import Tick
from controller.core.journal_records import JournalBegun
from controller.core.records import BrokerFenced, ControllerStarted
from protocol.errors import ErrorCode
from protocol.ids import NO_LEADER
from protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.control import UpdateMetadataRequest
from protocol.messages.journal import JournalReport, asks_for_replicas, put_report
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    Listener,
)
from protocol.messages.producer_ids import AllocateProducerIdsRequest
from tests.controller.core.cluster import (
    HEARTBEAT_MS,
    SESSION_MS,
    Cluster,
    log_dir,
    registered,
    settings,
    topic_records,
)
from tests.controller.core.heard import cold, heartbeat, led, reported
from tests.controller.core.test_catch_up import JOURNAL, partition


def started(*, decisions: int = 5, leader: int = 1, isr: tuple[int, ...] = (1, 2)) -> Cluster:
    """Return a controller that replayed a journal with two live brokers and has heard nobody."""
    records = [
        JournalBegun(JOURNAL),
        ControllerStarted("cluster", 3, decisions),
        *registered(1, 1),
        *registered(2, 2),
        *topic_records("orders", [partition(leader, (4, 7), isr)]),
    ]
    return Cluster(records, is_heard=False)


def report(number: int, epoch: int = 3, **more: object) -> JournalReport:
    made = JournalReport(journal_id=JOURNAL, controller_epoch=epoch, journal_number=number)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_nobody_is_told_anything_until_every_live_broker_was_heard() -> None:
    cluster = started()
    assert cluster.sent == {}

    cluster.ask(heartbeat(cluster.state, 1, report(5)), 2)
    assert cluster.sent == {}
    assert cluster.state.controller_epoch == 3

    cluster.ask(heartbeat(cluster.state, 2, report(4)), 2)
    assert sorted(cluster.sent) == [1, 2]
    assert cluster.state.controller_epoch == 4
    assert cluster.state.partition(next(cluster.state.partitions())).leader_epoch == 4


def test_live_brokers_are_waited_for_and_all_that_are_known_where_none_is_live() -> None:
    awaited: list[list[int]] = []
    for dead in ((), (2,), (1, 2)):
        cluster = Cluster(
            [
                JournalBegun(JOURNAL),
                *registered(1, 1),
                *registered(2, 2),
                *(BrokerFenced(broker_id) for broker_id in dead),
            ],
            is_heard=False,
        )
        hearing = cluster.machine.run.hearing
        assert hearing is not None
        awaited.append(list(hearing.awaited))
    assert awaited == [[1, 2], [1], [1, 2]]


def test_who_asks_meanwhile_is_answered_once_the_controller_acts() -> None:
    cluster = started()
    token = cluster.ask(AllocateProducerIdsRequest(broker_id=1, broker_epoch=1))
    assert token not in cluster.answers

    cluster.ask(heartbeat(cluster.state, 1, report(5, producer_ids_end=7000)), 2)
    cluster.ask(heartbeat(cluster.state, 2, report(5, producer_ids_end=3000)), 2)

    gap = 1_000_000_000  # The cluster file names a broker 3 that nobody has heard of.
    assert cluster.answers[token].producer_id_start == 7000 + gap


def test_a_journal_that_is_behind_has_every_broker_asked_for_its_replicas() -> None:
    cluster = started()
    first = cluster.ask(heartbeat(cluster.state, 1, report(5)), 2)
    assert not asks_for_replicas(cluster.answers[first])

    second = cluster.ask(heartbeat(cluster.state, 2, report(9)), 2)
    assert asks_for_replicas(cluster.answers[second])
    topics = [reported("orders", led(1, (4, 9), (1,)))]
    cluster.ask(heartbeat(cluster.state, 2, report(9, topics=[])), 2)
    again = cluster.ask(heartbeat(cluster.state, 1, report(5)), 2)
    assert asks_for_replicas(cluster.answers[again])
    assert cluster.sent == {}
    cluster.ask(heartbeat(cluster.state, 1, report(5, topics=topics)), 2)

    assert sorted(cluster.sent) == [1, 2]
    after = cluster.state.partition(next(cluster.state.partitions()))
    assert (after.leader, after.isr, after.partition_epoch) == (1, (1,), 10)
    assert after.leader_epoch == 4 + 4 * 4, "four decisions are lost, of four epochs each at most"
    assert cluster.state.journal_number > 9
    assert any("the journal is behind" in note.text for note in cluster.notes if note.is_warning)


def test_the_next_controller_asks_for_logs_that_are_waited_for() -> None:
    cluster = started(leader=NO_LEADER, isr=())
    for broker_id in (1, 2):
        token = cluster.ask(heartbeat(cluster.state, broker_id, report(5)), 2)
        assert asks_for_replicas(cluster.answers[token])
    topics = [reported("orders", cold(4, 90))]
    cluster.ask(heartbeat(cluster.state, 1, report(5, topics=topics)), 2)
    cluster.ask(heartbeat(cluster.state, 2, report(5, topics=[])), 2)
    after = cluster.partition("orders-0")
    assert (after.leader, after.isr) == (1, (1,))


def test_a_broker_that_is_not_heard_in_time_is_dead_and_costs_a_gap() -> None:
    cluster = started()
    cluster.ask(heartbeat(cluster.state, 1, report(5)), 2)

    cluster.now_ms += SESSION_MS
    cluster.feed(Tick(cluster.now_ms))

    assert cluster.state.brokers[2].is_fenced
    assert sorted(cluster.sent) == [1]
    answer = cluster.call(AllocateProducerIdsRequest(broker_id=1, broker_epoch=1))
    assert answer.producer_id_start == 1_000_000_000
    again = cluster.call(AllocateProducerIdsRequest(broker_id=1, broker_epoch=1))
    assert again.producer_id_start == 1_000_001_000, "the gap is left once"


def test_a_controller_that_was_late_itself_listens_once_more() -> None:
    cluster = started()

    cluster.now_ms += 5 * SESSION_MS
    cluster.feed(Tick(1_000 + SESSION_MS))

    assert not cluster.state.brokers[1].is_fenced
    assert cluster.machine.run.hearing is not None


def test_a_registration_counts_as_heard_and_keeps_broker_epochs_rising() -> None:
    cluster = started()
    request = BrokerRegistrationRequest(
        broker_id=2,
        cluster_id="cluster",
        incarnation_id=bytes([9]) * 16,
        listeners=[Listener(name="PLAINTEXT", host="host2", port=9092, security_protocol=0)],
        log_dirs=[log_dir(2, 1)],
        previous_broker_epoch=40,
    )
    request.cluster_id = cluster.config.cluster_id
    put_report(request, report(5, topics=[]))
    token = cluster.ask(request, 4)
    assert token not in cluster.answers

    cluster.ask(heartbeat(cluster.state, 1, report(5)), 2)

    assert cluster.answers[token].broker_epoch == 41
    assert cluster.state.brokers[2].is_fenced, "it has to heartbeat first"


def test_who_is_known_no_more_or_had_a_life_since_has_to_register_anew() -> None:
    cluster = started()
    for broker_id, epoch in ((9, 1), (2, 0), (2, 7)):
        request = BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=epoch)
        answer = cluster.call(request, 2)
        assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH

    cluster.ask(heartbeat(cluster.state, 1, report(5)), 2)
    assert cluster.machine.run.hearing is not None, "broker 2 was not heard"


def test_an_empty_journal_names_itself_and_waits_for_nobody() -> None:
    cluster = Cluster(is_heard=False)

    assert cluster.machine.run.hearing is None
    assert len(cluster.state.journal_id) == 16
    assert cluster.machine.run.is_new_journal


def tick(cluster: Cluster, due_ms: int) -> None:
    cluster.now_ms = due_ms
    cluster.feed(Tick(due_ms))


def test_a_controller_whose_journal_is_zookeeper_acts_at_once() -> None:
    config = replace(settings(), has_zookeeper=True)
    cluster = Cluster(registered(1, 1), config=config, is_heard=False)
    assert cluster.machine.run.hearing is None
    assert list(cluster.sent) == [1]


def test_brokers_have_a_whole_session_to_be_heard() -> None:
    cluster = started()
    begin_ms = cluster.now_ms
    assert cluster.machine.run.last_seen_ms == {1: begin_ms, 2: begin_ms}
    assert cluster.machine.next_deadline_ms() == begin_ms + SESSION_MS
    tick(cluster, begin_ms + SESSION_MS - 1)
    assert cluster.state.reachable_brokers() == [1, 2]
    tick(cluster, begin_ms + SESSION_MS)
    assert cluster.state.reachable_brokers() == []


def test_a_controller_that_is_late_by_no_more_than_a_heartbeat_waits_no_longer() -> None:
    cluster = started()
    due_ms = cluster.now_ms + SESSION_MS
    cluster.now_ms = due_ms + HEARTBEAT_MS
    cluster.feed(Tick(due_ms))
    assert cluster.state.reachable_brokers() == []


def test_configurations_are_told_meanwhile() -> None:
    cluster = started()
    own = DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)
    answer = cluster.call(DescribeConfigsRequest(resources=[own]), 4)
    assert answer.results[0].error_code == ErrorCode.NONE
    assert cluster.machine.run.hearing is not None


def test_heartbeats_are_answered_meanwhile_as_by_one_that_acts() -> None:
    cluster = started()
    answer = cluster.call(heartbeat(cluster.state, 1, report(5)), 2)
    assert (answer.error_code, answer.is_caught_up, answer.is_fenced) == (0, True, False)


def test_who_was_heard_but_did_not_tell_its_replicas_in_time_is_not_dead() -> None:
    cluster = started()
    cluster.ask(heartbeat(cluster.state, 2, report(9)), 2)
    tick(cluster, cluster.now_ms + SESSION_MS)
    assert cluster.machine.run.hearing is None
    assert cluster.state.reachable_brokers() == [2]


def test_who_was_dead_before_dies_no_second_time() -> None:
    fenced = [BrokerFenced(broker_id) for broker_id in (1, 2)]
    cluster = Cluster(
        [JournalBegun(JOURNAL), *registered(1, 1), *registered(2, 2), *fenced], is_heard=False
    )
    tick(cluster, cluster.now_ms + SESSION_MS)
    assert cluster.machine.run.hearing is None
    assert [record for record in cluster.records if isinstance(record, BrokerFenced)] == fenced
    assert not [note for note in cluster.notes if "is dead" in note.text]


def test_a_journal_that_is_not_behind_knows_better_than_brokers() -> None:
    cluster = started()
    newer = [reported("orders", led(2, (9, 9), (2,)))]
    cluster.ask(heartbeat(cluster.state, 1, report(5)), 2)
    cluster.ask(heartbeat(cluster.state, 2, report(5, topics=newer)), 2)
    after = cluster.partition("orders-0")
    assert (after.leader, after.leader_epoch, after.isr) == (1, 4, (1, 2))


def test_what_a_journal_that_is_behind_does_not_know_is_noted_and_told() -> None:
    cluster = started()
    topics = [reported("later", led(1, (0, 0), (1, 2)))]
    for broker_id in (1, 2):
        cluster.ask(heartbeat(cluster.state, broker_id, report(9, topics=topics)), 2)
    run = cluster.machine.run
    assert run.hearing_is_over
    assert sorted(cluster.state.unknown_replicas) == [1, 2]
    assert [r.topics for r in run.reports.values()] == [(), ()], "what was told holds once"
    told = [r for r in cluster.sent[1] if isinstance(r, UpdateMetadataRequest)]
    assert "later" in [topic.topic_name for r in told for topic in r.topic_states]
