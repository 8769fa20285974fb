"""A controller that takes over."""

from __future__ import annotations

import pytest

from controller.core.phases import PartitionPhase, ReplicaPhase
from controller.core.records import BrokerFenced, ReplicasProbed
from controller.core.startup import set_phases
from controller.core.state import Partition
from protocol.messages.control import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.topics import DeleteTopicsRequest
from tests.controller.core.cluster import (
    HEARTBEAT_MS,
    SESSION_MS,
    Cluster,
    registered,
    three_brokers,
    topic_records,
    tp,
)
from tests.controller.core.heard import nothing_newer
from tests.controller.core.reassigning import alter, deleted_on, set_isr, told_new, with_topic
from tests.controller.core.test_partition_moves import step_of

T0 = tp("t-0")


def test_each_controller_has_an_epoch_of_its_own() -> None:
    first = three_brokers()
    second = first.restart()
    third = second.restart()

    epochs = [c.state.controller_epoch for c in (first, second, third)]
    assert epochs == [1, 2, 3]


def test_the_first_metadata_names_every_topic() -> None:
    """A broker that was started while no controller was there opens to clients with it."""
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.create("u", [3])
    cluster.expire(3)

    after = cluster.restart()

    for broker_id in (1, 2):
        first = next(r for r in after.sent[broker_id] if isinstance(r, UpdateMetadataRequest))
        assert [topic.topic_name for topic in first.topic_states] == ["t", "u"]


@pytest.mark.scenario(178)
def test_an_unprocessed_log_dir_failure_is_found_by_the_first_requests() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.held = [1]
    cluster.fail_log_dir(1, 1, ["t-0"])

    after = cluster.restart()
    after.settle()

    assert (after.partition("t-0").leader, after.partition("t-0").isr) == (2, (2,))


@pytest.mark.kafka_bug("KAFKA-3143")
@pytest.mark.scenario(181, 262)
def test_replicas_on_offline_log_dirs_are_known_from_the_journal() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.create("u", [1])
    cluster.fail_log_dir(1, 1, ["t-0", "u-0"])

    after = cluster.restart()
    first_metadata = [r for r in after.sent[2] if isinstance(r, UpdateMetadataRequest)][1:]
    after.settle()

    for request in first_metadata:
        for topic in request.topic_states:
            for partition in topic.partition_states:
                assert 1 in partition.offline_replicas
    leaders = [
        state.leader
        for request in after.take()[1]
        if isinstance(request, LeaderAndIsrRequest)
        for topic in request.topic_states
        for state in topic.partition_states
    ]
    assert leaders == [2, -1], "it is asked whether they are back, and leads none"
    assert after.partition("u-0").leader == -1
    assert after.machine.run.phase_of(tp("u-0")) is PartitionPhase.OFFLINE
    assert list(after.state.offline[1]) == [tp("t-0"), tp("u-0")]


def test_a_replica_that_came_back_unnoticed_is_asked_and_not_stopped() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.return_log_dirs(1, [1, 2])
    assert isinstance(cluster.records.pop(), ReplicasProbed), "its answer was the last decision"

    after = cluster.restart()
    after.settle()

    assert not any(isinstance(request, StopReplicaRequest) for request in after.take()[1])
    assert after.state.offline == {}


def test_a_replica_of_a_topic_being_deleted_is_not_asked_for_while_it_is_offline() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.delete("t")

    after = cluster.restart()
    after.settle()

    assert after.machine.run.replica_phase_of(tp("t-0"), 1) is ReplicaPhase.OFFLINE
    after.return_log_dirs(1, [1, 2])
    assert after.state.topics == {}


@pytest.mark.scenario(165, 262)
def test_decisions_that_were_not_sent_yet_are_sent_by_the_next_controller() -> None:
    cluster = three_brokers()
    cluster.held = [1, 2, 3]
    cluster.create_and_forget("t", [1, 2])

    after = cluster.restart()
    after.held = []
    after.settle()

    sent = [r for r in after.take()[2] if isinstance(r, LeaderAndIsrRequest)]
    assert sent[0].topic_states[0].topic_name == "t"
    assert after.partition("t-0").leader_epoch == 0


def test_brokers_get_a_fresh_session() -> None:
    cluster = three_brokers()

    after = cluster.restart()
    after.advance(SESSION_MS - 1)
    assert after.state.reachable_brokers() == [1, 2, 3]
    after.advance(1)

    assert after.state.reachable_brokers() == []


def test_a_partition_without_any_leadership_is_new() -> None:
    cluster = three_brokers()
    cluster.expire(1)
    cluster.create("t", [1])

    after = cluster.restart()

    assert after.machine.run.phase_of(tp("t-0")) is PartitionPhase.NEW
    after.start_broker(1)
    assert after.partition("t-0").leader == 1


def test_a_session_begins_when_the_controller_acts() -> None:
    records = [record for broker_id in (1, 2) for record in registered(broker_id, broker_id)]
    after = Cluster(records, is_heard=False)
    after.now_ms += HEARTBEAT_MS
    for request in nothing_newer(after.machine):
        after.ask(request, 1)

    after.advance(SESSION_MS - 1)

    assert after.state.reachable_brokers() == [1, 2]


def test_a_leader_whose_death_nobody_followed_up_is_replaced() -> None:
    led = Partition(replicas=(1, 2), leader=1, leader_epoch=0, isr=(1, 2), partition_epoch=0)
    brokers = [record for broker_id in (1, 2) for record in registered(broker_id, broker_id)]
    after = Cluster([*brokers, *topic_records("t", [led]), BrokerFenced(1)])
    after.settle()

    assert (after.partition("t-0").leader, after.partition("t-0").isr) == (2, (2,))
    assert after.machine.run.replica_phase_of(T0, 1) is ReplicaPhase.OFFLINE


def test_a_deletion_that_cannot_end_is_held_until_the_broker_is_back() -> None:
    """Source: KafkaController.fetchTopicDeletionsInProgress."""
    cluster = with_topic([1, 2])
    cluster.create("u", [1, 2])
    cluster.expire(2)
    cluster.delete("t")

    after = cluster.restart()
    after.settle()

    assert list(after.machine.run.deletion_ineligible) == ["t"], "nobody deletes u"
    assert deleted_on(after, 1) == []
    after.start_broker(2)
    assert list(after.state.topics) == ["u"]


def test_a_deletion_is_held_until_a_reassignment_is_over() -> None:
    cluster = with_topic([1])
    alter(cluster, ("t-0", [3]))
    cluster.delete("t")

    after = cluster.restart()
    after.settle()

    assert T0 in after.brokers[1].files
    set_isr(after, "t-0", [1, 3])
    assert after.state.topics == {}


def test_a_deletion_that_can_end_is_ended() -> None:
    cluster = with_topic([1, 2])
    cluster.held = [1, 2, 3]
    cluster.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=60_000), 5)

    after = cluster.restart()
    assert after.machine.run.deletion_ineligible == {}
    after.settle()

    assert after.state.topics == {}


def test_replicas_that_were_to_go_are_told_again() -> None:
    cluster = with_topic([1, 2])
    cluster.held = [2]
    alter(cluster, ("t-0", [1]))

    after = cluster.restart()
    after.settle()

    assert deleted_on(after, 2) == ["t-0"]
    assert after.state.removed == {}


def test_a_reassignment_goes_on_and_is_told_of() -> None:
    cluster = with_topic([1])
    alter(cluster, ("t-0", [3]))
    epoch = cluster.partition("t-0").leader_epoch

    after = cluster.restart()
    after.settle()

    assert [(row.tp, row.state.value) for row in after.reassignments] == [(T0, "under_way")]
    assert after.partition("t-0").leader_epoch == epoch + 1
    assert all(told_new(after, 3))


def test_preferred_leaders_are_looked_after_five_seconds_later() -> None:
    """Source: KafkaController.onControllerFailover."""
    after = three_brokers().restart()
    assert after.machine.run.balance_at_ms == after.now_ms + 5_000


@pytest.mark.parametrize(
    ("leader", "phase"),
    [
        (3, PartitionPhase.ONLINE),
        (2, PartitionPhase.OFFLINE),
        (-1, PartitionPhase.OFFLINE),
    ],
)
def test_a_partition_that_became_another_has_the_phases_of_what_it_is(
    leader: int, phase: PartitionPhase
) -> None:
    cluster = with_topic([1, 2], [1, 3])
    cluster.expire(2)
    step = step_of(cluster)
    step.state.topics["t"].partitions[0] = Partition(
        replicas=(2, 3), leader=leader, leader_epoch=7, isr=(2, 3), partition_epoch=1
    )
    step.run.set_phase(T0, PartitionPhase.NEW)
    set_phases(step, [T0])

    assert step.run.replica_phases[T0] == {2: ReplicaPhase.OFFLINE, 3: ReplicaPhase.ONLINE}
    assert step.run.phase_of(T0) is phase
    assert step.run.replica_phase_of(tp("t-1"), 1) is ReplicaPhase.ONLINE
