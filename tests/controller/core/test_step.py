"""A step keeps state, journal and channels together."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from controller.core.config_records import BrokerConfigsChanged
from controller.core.effects import Answer, ConnectBroker, DisconnectBroker, Note, Report, Send
from controller.core.events import Endpoint
from controller.core.records import BrokerFenced, BrokerRegistered, ProducerIdsAllocated
from controller.core.run_state import NOT_SENT, Probe, RunState, Waiting
from controller.core.state import ClusterState, Partition
from controller.core.step import Step
from protocol.configs.types import ALL_BROKERS
from protocol.errors import ErrorCode
from protocol.messages.control import StopReplicaRequest, UpdateMetadataRequest
from protocol.metrics.rows import FailoverStep
from tests.controller.core.cluster import (
    HEARTBEAT_MS,
    SESSION_MS,
    registered,
    settings,
    three_brokers,
    topic_records,
    tp,
)


def step() -> Step:
    state = ClusterState()
    for record in (*registered(1, 1), *registered(2, 2)):
        record.apply(state)
    begun = Step(state, RunState(), settings(), Random(0), now_ms=100)
    begun.connect(1)
    begun.connect(2)
    begun.effects.clear()
    return begun


def test_a_change_is_applied_and_journaled() -> None:
    begun = step()
    begun.change(ProducerIdsAllocated(5))

    assert begun.state.next_producer_id == 5
    assert begun.records == [ProducerIdsAllocated(5)]


def test_the_channel_leads_to_the_listener_of_the_control_plane_where_a_broker_has_it() -> None:
    begun, plain = step(), registered(1, 1)[0]
    assert isinstance(plain, BrokerRegistered)
    control = Endpoint("CONTROL", "inside", 9093, 3)
    replace(plain, broker_epoch=5, endpoints=(*plain.endpoints, control)).apply(begun.state)
    begun.settings = replace(begun.settings, control_plane_listener="CONTROL")
    for broker_id in (1, 2):
        begun.connect(broker_id)
    assert begun.effects == [
        ConnectBroker(1, 5, "inside", 9093),
        ConnectBroker(2, 2, "host2", 9092),
    ]


def test_what_is_set_for_all_brokers_counts_at_once_for_topics_that_say_nothing() -> None:
    begun = step()
    begun.settings = settings(num_partitions="3", default_replication_factor="2")

    def defaults() -> tuple[int, int]:
        return begun.defaults.num_partitions, begun.defaults.default_replication_factor

    seen = [defaults()]
    for value in ("7", "8", None):
        begun.change(BrokerConfigsChanged(ALL_BROKERS, {"num.partitions": value}))
        seen.append(defaults())
    assert seen == [(3, 2), (7, 2), (8, 2), (3, 2)]


def test_requests_are_numbered_per_channel() -> None:
    begun = step()
    first, second = UpdateMetadataRequest(), StopReplicaRequest()

    assert [begun.send(1, first), begun.send(1, second), begun.send(2, first)] == [1, 2, 1]
    assert begun.effects == [Send(1, 1, first), Send(1, 2, second), Send(2, 1, first)]


def test_metadata_alone_is_sent_to_those_who_are_named() -> None:
    begun = step()
    for record in topic_records("t", [Partition(replicas=(1,), leader=1, leader_epoch=0)]):
        record.apply(begun.state)

    begun.send_metadata((2,), [tp("t-0")])

    (sent,) = begun.effects
    assert isinstance(sent, Send)
    assert isinstance(sent.request, UpdateMetadataRequest)
    assert sent.broker_id == 2
    assert [broker.id for broker in sent.request.live_brokers] == [1, 2]
    assert [topic.topic_name for topic in sent.request.topic_states] == ["t"]


def test_what_waits_for_nobody_is_done_at_once() -> None:
    begun = step()
    begun.send(1, StopReplicaRequest())

    begun.when_told(Answer(7, "done"))

    assert Answer(7, "done") in begun.effects
    assert begun.run.waiting == []


def test_what_waits_is_told_when_metadata_was_taken() -> None:
    begun = step()
    begun.send(1, UpdateMetadataRequest())
    begun.send(1, StopReplicaRequest())

    begun.when_told(Answer(7, "done"), late=Answer(7, "late"), deadline_ms=200)

    assert Answer(7, "done") not in begun.effects
    assert begun.run.waiting[0].told == {1: (1, 1)}


def test_channels_open_and_close_with_their_brokers() -> None:
    begun = step()
    begun.connect(1)
    begun.disconnect(2)

    assert begun.effects == [ConnectBroker(1, 1, "host1", 9092), DisconnectBroker(2)]
    assert list(begun.run.channels) == [1]


def test_counts_that_a_failover_step_does_not_have_are_minus_one_in_its_metric_row() -> None:
    begun = step()
    begun.report("f", FailoverStep.BROKERS_TOLD)
    begun.report("f", FailoverStep.LEADERS_ELECTED, topics=2, partitions=3)

    assert [(r.topic_count, r.partition_count) for r in begun.effects if isinstance(r, Report)] == [
        (-1, -1),
        (2, 3),
    ]


def test_log_lines_wait_for_the_work() -> None:
    begun = step()
    begun.note("as planned")
    begun.warn("not planned")

    assert begun.effects == []
    assert begun.notes == [Note("as planned"), Note("not planned", is_warning=True)]


@pytest.mark.scenario(163)
def test_a_leaving_broker_has_all_that_it_is_told_before_it_may_leave() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2], [2, 1])
    cluster.take()
    cluster.held.extend((1, 2))

    token = cluster.ask_to_shut_down(1)
    for _ in cluster.take()[1]:
        assert token not in cluster.answers
        cluster.answer_next(1)

    assert cluster.answers[token].error_code == ErrorCode.NONE


def test_a_leaving_broker_that_answers_nothing_waits_for_a_session_at_most() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.held.append(1)

    token = cluster.ask_to_shut_down(1)
    beaten_ms = cluster.now_ms
    while token not in cluster.answers:
        assert cluster.now_ms <= beaten_ms + SESSION_MS
        for broker_id in (1, 2, 3):
            cluster.beat(broker_id)
        cluster.advance(HEARTBEAT_MS)

    assert cluster.answers[token].error_code == ErrorCode.NONE


def test_a_row_that_tells_when_brokers_were_told_counts_nothing() -> None:
    begun = step()
    begun.report_when_told("f", FailoverStep.BROKERS_TOLD)
    assert begun.effects == [Report("f", FailoverStep.BROKERS_TOLD, -1, -1, "")]


def test_who_is_away_hears_of_a_change_later_and_who_is_there_by_one_request() -> None:
    begun = step()
    BrokerFenced(2).apply(begun.state)
    for broker_id in (1, 2):
        begun.send(broker_id, StopReplicaRequest())
    begun.send_changed_configs((1, 2), ("t",))
    assert begun.run.unheard_configs == {1: {"t": 2}, 2: {"t": NOT_SENT}}
    assert [each.broker_id for each in begun.effects if isinstance(each, Send)] == [1, 2, 1]


def test_what_is_kept_in_zookeeper_brokers_see_there() -> None:
    begun = step()
    begun.settings = replace(begun.settings, has_zookeeper=True)
    begun.send_changed_configs((1, 2), ("t",))
    assert (begun.effects, begun.run.unheard_configs) == ([], {})


def test_a_change_for_one_broker_is_told_to_no_other() -> None:
    begun = step()
    begun.send_changed_configs((1,), ("t",))
    assert [each.broker_id for each in begun.effects if isinstance(each, Send)] == [1]


def test_configurations_are_made_once_of_what_is_set() -> None:
    begun = step()
    begun.change(BrokerConfigsChanged(ALL_BROKERS, {"num.partitions": "7"}))
    assert begun.defaults is begun.defaults


def test_a_session_begins_now_but_where_zookeeper_has_it() -> None:
    begun = step()
    begun.begin_session(1)
    begun.settings = replace(begun.settings, has_zookeeper=True)
    begun.begin_session(2)
    assert begun.run.last_seen_ms == {1: 100}


def test_nobody_waits_for_the_probes_of_who_is_dead() -> None:
    begun = step()
    begun.run.probes[2] = [Probe(1, ("f",))]
    begun.disconnect(2)
    assert begun.run.probes == {}


def test_what_changed_is_said_and_told_to_all() -> None:
    begun = step()
    begun.tell_all(":acls", "2 changed")
    assert begun.notes == [Note("2 changed")]
    assert [each.broker_id for each in begun.effects if isinstance(each, Send)] == [1, 2]


def test_a_change_is_answered_two_seconds_later_if_brokers_cannot_be_told() -> None:
    begun = step()
    begun.send(1, UpdateMetadataRequest())
    begun.answer_when_told(7, "done")
    assert begun.run.waiting == [Waiting({1: (1, 1)}, 2_100, Answer(7, "done"), Answer(7, "done"))]


def test_who_has_answered_all_or_is_gone_is_not_waited_for() -> None:
    begun = step()
    for broker_id in (1, 9):
        begun.when_answered(broker_id, Answer(broker_id, "done"), deadline_ms=200)
    assert begun.effects == [Answer(1, "done"), Answer(9, "done")]
    assert begun.run.waiting == []
