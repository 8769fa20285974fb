"""Partitions that only brokers know are led by nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.core import unknown_replicas
from controller.core.effects import Send
from controller.core.journal_records import UnknownReplicasReported
from controller.core.snapshot import snapshot
from controller.core.state import Topic, UnknownReplica
from controller.journal import Entry, encode_entry, replay
from protocol.ids import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, NO_LEADER, TopicPartition
from protocol.messages.control import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.journal import JournalReport, ReportedReplica
from tests.controller.core.cluster import Cluster, three_brokers
from tests.controller.core.heard import cold, led, reported
from tests.controller.core.test_catch_up import step_of

LATER = b"later".ljust(16, b"-")
LATER_0 = TopicPartition("later", 0)


def noted(cluster: Cluster, **replicas: ReportedReplica) -> None:
    """Have brokers b1, b2, ... report their replica of later-0."""
    step = step_of(cluster)
    reports = {
        int(name[1:]): JournalReport(topics=[reported("later", replica)])
        for name, replica in replicas.items()
    }
    unknown_replicas.note(step, reports)


def told(cluster: Cluster, *broker_ids: int) -> list[tuple[int, str, int, int]]:
    """Return (broker, kind of request, leader, leader epoch) of what is told of later-0."""
    step = step_of(cluster)
    before = len(step.effects)
    unknown_replicas.tell(step, broker_ids)
    rows: list[tuple[int, str, int, int]] = []
    for effect in step.effects[before:]:
        request = getattr(effect, "request", None)
        assert isinstance(request, LeaderAndIsrRequest | UpdateMetadataRequest)
        (topic,) = request.topic_states
        (state,) = topic.partition_states
        if isinstance(request, LeaderAndIsrRequest):
            assert topic.topic_id == LATER
        assert topic.topic_name == "later"
        kind = type(request).__name__.removesuffix("Request")
        broker_id = getattr(effect, "broker_id", -1)
        rows.append((broker_id, kind, state.leader, state.leader_epoch))
    return rows


def test_who_goes_on_with_one_follows_nobody_and_all_hear_that_it_is_gone() -> None:
    cluster = three_brokers()
    noted(cluster, b1=led(1, (4, 7), (1, 2)), b2=cold(4, 10))

    assert told(cluster, 1, 2, 3) == [
        (1, "LeaderAndIsr", NO_LEADER, 5),
        *((broker, "UpdateMetadata", LEADER_DURING_DELETE, 0) for broker in (1, 2, 3)),
    ]


def test_what_a_new_process_loaded_nobody_is_told_of() -> None:
    cluster = three_brokers()
    noted(cluster, b1=led(1, (4, 7), (1, 2)))
    noted(cluster, b1=cold(4, 10))

    assert [row for row in told(cluster, 1) if row[1] == "LeaderAndIsr"] == []


def test_what_was_reported_before_it_was_deleted_nobody_goes_on_with() -> None:
    cluster = three_brokers()
    cluster.create("later", [1, 2])
    topic_id = cluster.state.topics["later"].topic_id
    cluster.delete("later")
    assert cluster.state.find(LATER_0) is None
    step = step_of(cluster)
    early, other = (reported("later", led(1, (0, 7), (1, 2))) for _ in range(2))
    early.topic_id = topic_id

    unknown_replicas.note(step, {1: JournalReport(topics=[early])})
    assert cluster.state.unknown_replicas == {}
    unknown_replicas.note(step, {1: JournalReport(topics=[other])})
    assert list(cluster.state.unknown_replicas[1]) == [LATER_0]


def test_one_that_was_made_anew_is_left_alone() -> None:
    cluster = three_brokers()
    noted(cluster, b1=led(1, (4, 7), (1, 2)))
    cluster.create("later", [1, 2])

    assert told(cluster, 1, 2, 3) == []


def test_one_that_was_made_anew_elsewhere_is_stopped_and_stays() -> None:
    cluster = three_brokers()
    noted(cluster, b1=led(1, (4, 7), (1, 3)), b3=led(1, (4, 7), (1, 3)))
    cluster.create("later", [1, 2])
    step = step_of(cluster)

    unknown_replicas.tell(step, (1, 2, 3))

    (effect,) = step.effects
    assert isinstance(effect, Send)
    assert effect.broker_id == 3
    (topic,) = effect.request.topic_states
    (state,) = topic.partition_states
    assert (topic.topic_name, state.partition_index) == LATER_0
    assert (state.leader_epoch, state.delete_partition) == (EPOCH_DURING_DELETE, False)


def test_one_of_a_topic_that_was_made_anew_with_fewer_partitions_is_stopped_and_stays() -> None:
    """Seed 981398: it was told of a partition of the new topic, which was not there yet."""
    cluster = three_brokers()
    beyond = led(1, (4, 7), (1, 3))
    beyond.partition = 1
    step = step_of(cluster)
    unknown_replicas.note(step, {3: JournalReport(topics=[reported("later", beyond)])})
    cluster.create("later", [1, 2])
    step = step_of(cluster)

    unknown_replicas.tell(step, (2, 3))

    (effect,) = step.effects
    assert isinstance(effect, Send)
    assert effect.broker_id == 3
    assert isinstance(effect.request, StopReplicaRequest)
    (topic,) = effect.request.topic_states
    (state,) = topic.partition_states
    assert (topic.topic_name, state.partition_index) == ("later", 1)
    assert (state.leader_epoch, state.delete_partition) == (EPOCH_DURING_DELETE, False)


def test_a_replica_that_is_none_any_more_is_noted_unless_it_is_to_be_deleted() -> None:
    cluster = three_brokers()
    cluster.create("later", [1, 2])
    goes_on = led(1, (4, 7), (1, 3))
    noted(cluster, b1=goes_on, b3=goes_on)
    assert cluster.state.unknown_replicas == {3: {LATER_0: (LATER, 4)}}

    cluster.state.removed[3] = {LATER_0: None}
    noted(cluster, b1=goes_on, b3=goes_on)
    assert cluster.state.unknown_replicas == {}


def test_what_a_broker_is_ordered_to_delete_is_not_begun_anew_behind_that_order() -> None:
    """Seed 1111121: a topic was deleted, and a broker hears late of its reassignment."""
    cluster = three_brokers()
    cluster.state.removed[3] = {LATER_0: None}
    noted(cluster, b3=led(1, (12, 14), (3, 1)))

    assert cluster.state.unknown_replicas == {}
    assert told(cluster, 3) == []


def test_who_comes_late_is_told_when_it_is_live() -> None:
    cluster = three_brokers()
    noted(cluster, b1=led(1, (4, 7), (1, 2)))
    cluster.take()
    cluster.start_broker(3)

    (gone,) = [
        request
        for request in cluster.take()[3]
        if isinstance(request, UpdateMetadataRequest)
        and [topic.topic_name for topic in request.topic_states] == ["later"]
    ]
    assert gone.topic_states[0].partition_states[0].leader == LEADER_DURING_DELETE


def test_the_next_controller_knows_them_from_its_journal() -> None:
    cluster = three_brokers()
    noted(cluster, b1=led(1, (4, 7), (1, 2)), b2=led(1, (4, 7), (1, 2)))
    known = cluster.state.unknown_replicas
    line = encode_entry(Entry(0, 0, snapshot(cluster.state)))

    state = replay(line, Path("journal")).state

    assert known == {1: {LATER_0: (LATER, 4)}, 2: {LATER_0: (LATER, 4)}}
    assert state.unknown_replicas == known


def test_what_was_reported_before_is_journaled_once() -> None:
    cluster = three_brokers()
    step = step_of(cluster)
    report = JournalReport(topics=[reported("later", led(1, (4, 7), (1, 2)))])

    for _ in range(2):
        unknown_replicas.note(step, {1: report, 2: JournalReport(topics=[])})

    assert step.records == [UnknownReplicasReported(1, ((LATER_0, UnknownReplica(LATER, 4)),))]


@pytest.mark.parametrize(("decision", "epoch"), [(40, 4 * 10), (41, 0)])
def test_one_that_is_added_to_a_topic_begins_above_all_that_lost_decisions_may_have_made(
    decision: int, epoch: int
) -> None:
    """A broker that was not heard led it in the first epoch, too (seed 1060736)."""
    cluster = three_brokers()
    step = step_of(cluster)
    later = Topic(name="later", topic_id=LATER, configs={}, decision=decision)
    step.state.topics["later"] = later
    step.state.lost_after, step.state.journal_number = 40, 50
    assert unknown_replicas.first_leader_epoch(step, LATER_0) == epoch


def test_one_that_is_added_anew_begins_above_what_its_brokers_were_told() -> None:
    cluster = three_brokers()
    noted(cluster, b1=led(1, (4, 7), (1, 2)))
    step = step_of(cluster)
    for topic_id, epoch in ((LATER, 6), (b"another".ljust(16, b"-"), 0)):
        step.state.topics["later"] = Topic(name="later", topic_id=topic_id, configs={})
        assert unknown_replicas.first_leader_epoch(step, LATER_0) == epoch
        assert unknown_replicas.first_leader_epoch(step, LATER_0._replace(partition=1)) == 0
