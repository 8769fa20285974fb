"""Topic deletion with and without replicas that cannot be reached."""

from __future__ import annotations

import pytest

from controller.core.events import RequestAnswered
from controller.core.phases import PartitionPhase, ReplicaPhase
from protocol.errors import ErrorCode
from protocol.messages.control import StopReplicaRequest, UpdateMetadataRequest
from protocol.messages.topics import DeleteTopicsRequest
from tests.controller.core.cluster import Cluster, three_brokers, tp
from tests.controller.core.reassigning import alter, set_isr, under_way, with_topic

T0 = tp("t-0")


def phases(cluster: Cluster) -> dict[int, ReplicaPhase]:
    return {b: cluster.machine.run.replica_phase_of(T0, b) for b in (1, 2, 3)}


@pytest.mark.scenario(182)
def test_a_topic_passes_all_phases_and_is_gone() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2, 3])

    cluster.delete("t")

    run = cluster.machine.run
    assert "t" not in cluster.state.topics
    assert (run.partition_phases, run.replica_phases, run.leaderless) == ({}, {}, {})
    assert (run.deletion_begun, run.deletion_ineligible) == ({}, {})
    assert cluster.replay() == cluster.state


def test_topics_that_are_gone_at_the_same_time_are_all_forgotten() -> None:
    cluster = three_brokers()
    cluster.create("t", [1])
    cluster.create("u", [1])

    cluster.delete("t", "u")

    assert list(cluster.state.topics) == []


@pytest.mark.scenario(183)
def test_a_dead_broker_holds_a_deletion_until_it_returns() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2, 3])
    cluster.expire(2)
    cluster.held = [1, 3]

    token = cluster.ask(delete_request())
    assert phases(cluster) == {
        1: ReplicaPhase.DELETION_STARTED,
        2: ReplicaPhase.DELETION_INELIGIBLE,
        3: ReplicaPhase.DELETION_STARTED,
    }
    assert cluster.machine.run.phase_of(T0) is PartitionPhase.NON_EXISTENT
    cluster.held = []
    cluster.settle()
    assert cluster.answers[token].responses[0].error_code == 0
    assert phases(cluster) == {
        1: ReplicaPhase.DELETION_SUCCESSFUL,
        2: ReplicaPhase.OFFLINE,
        3: ReplicaPhase.DELETION_SUCCESSFUL,
    }

    cluster.start_broker(2)

    assert "t" not in cluster.state.topics


@pytest.mark.scenario(184)
def test_a_broker_that_fails_meanwhile_waits_for_the_others() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2, 3])
    cluster.held = [1, 2, 3]
    cluster.ask(delete_request())

    cluster.held = [1, 3]
    cluster.start_broker(2)
    assert phases(cluster)[2] in (ReplicaPhase.DELETION_INELIGIBLE, ReplicaPhase.ONLINE)
    cluster.held = []
    cluster.settle()

    assert "t" not in cluster.state.topics


@pytest.mark.scenario(185)
def test_a_replica_on_an_offline_log_dir_holds_the_name() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])

    (result,) = cluster.delete("t")

    assert result.error_code == ErrorCode.NONE
    metadata = [r for r in cluster.take()[3] if isinstance(r, UpdateMetadataRequest)][-1]
    assert metadata.topic_states[0].partition_states[0].leader == -2
    again = cluster.create("t", [2])
    assert again.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert again.error_message == "Topic 't' is marked for deletion."

    cluster.start_broker(1, dirs=[2])

    assert "t" not in cluster.state.topics
    assert cluster.create("t", [2]).error_code == ErrorCode.NONE


def test_a_log_dir_that_breaks_under_the_deletion_makes_it_wait() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.brokers[1].bad = [T0]

    cluster.delete("t")

    assert cluster.state.is_deleting("t")
    assert list(cluster.machine.run.deletion_ineligible) == ["t"]
    cluster.start_broker(1)
    assert "t" not in cluster.state.topics


def test_a_refused_request_fails_all_its_replicas() -> None:
    cluster = three_brokers()
    cluster.create("t", [1])
    cluster.brokers[1].code = ErrorCode.STALE_BROKER_EPOCH

    cluster.delete("t")

    assert cluster.state.is_deleting("t")
    cluster.start_broker(1)
    assert "t" not in cluster.state.topics


@pytest.mark.scenario(189)
def test_topics_of_a_dead_broker_are_deleted_when_it_returns() -> None:
    cluster = three_brokers()
    cluster.create("a", [1])
    cluster.create("b", [2])
    cluster.expire(1)

    assert [r.error_code for r in cluster.delete("a", "b")] == [0, 0]
    assert list(cluster.state.topics) == ["a"]
    cluster.take()
    cluster.start_broker(1)

    assert cluster.state.topics == {}
    full = next(r for r in cluster.take()[1] if isinstance(r, UpdateMetadataRequest))
    assert list(full.topic_states) == []


def test_a_deletion_goes_on_after_a_restart_of_the_controller() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.held = [1, 2, 3]
    cluster.ask(delete_request())

    after = cluster.restart()
    assert after.state.is_deleting("t")
    after.settle()

    assert "t" not in after.state.topics


def test_a_deletion_with_a_dead_broker_is_held_after_a_restart_too() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.expire(2)
    cluster.delete("t")

    after = cluster.restart()
    after.settle()
    assert after.state.is_deleting("t")
    after.start_broker(2)

    assert "t" not in after.state.topics


def test_a_late_answer_about_a_topic_that_is_gone_is_ignored() -> None:
    cluster = three_brokers()
    cluster.create("t", [1])
    cluster.take()
    cluster.delete("t")
    stop = next(
        r
        for r in cluster.take()[1]
        if isinstance(r, StopReplicaRequest)
        and r.topic_states[0].partition_states[0].delete_partition
    )
    cluster.create("t", [1])
    sequence = cluster.machine.run.channels[1].answered + 1
    cluster.machine.run.channels[1].sent += 1

    answer = cluster.brokers[1].answer(stop)
    epoch = cluster.state.brokers[1].broker_epoch
    cluster.feed(RequestAnswered(1, epoch, sequence, stop, answer))

    assert not cluster.state.is_deleting("t")
    assert cluster.partition("t-0").leader == 1


@pytest.mark.kafka_bug("KAFKA-8366")
@pytest.mark.scenario(170)
def test_partitions_that_are_being_deleted_do_not_count_as_offline() -> None:
    cluster = three_brokers()
    cluster.create("t", [1], [2])
    cluster.expire(1)
    assert list(cluster.machine.run.leaderless) == [T0]

    cluster.delete("t")

    assert cluster.state.is_deleting("t")
    assert cluster.machine.run.leaderless == {}


@pytest.mark.kafka_bug("KAFKA-14616")
def test_a_topic_made_again_in_the_absence_of_a_broker_is_made_there_when_it_returns() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.expire(2)
    cluster.delete("t")
    assert cluster.create("t", [1, 2]).error_code == ErrorCode.TOPIC_ALREADY_EXISTS

    cluster.start_broker(2)
    assert T0 not in cluster.brokers[2].files
    assert cluster.create("t", [1, 2]).error_code == ErrorCode.NONE

    assert T0 in cluster.brokers[2].files
    assert cluster.partition("t-0").isr == (1, 2)


def delete_request() -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topic_names=["t"], timeout_ms=60_000)


def held_by_a_reassignment() -> Cluster:
    """Return a cluster with t-0, 1 leads it, on its way to 2 and 3, which is dead."""
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    alter(cluster, ("t-0", [2, 3]))
    cluster.expire(3)
    cluster.delete("t")
    cluster.take()
    assert cluster.partition("t-0").is_reassigning
    return cluster


def test_a_topic_whose_deletion_waits_for_a_reassignment_is_known_to_brokers() -> None:
    """Without its id nobody could fetch it, and the reassignment would never end."""
    cluster = held_by_a_reassignment()

    cluster.start_broker(3)

    metadata = [r for r in cluster.take()[3] if isinstance(r, UpdateMetadataRequest)]
    leaders = [p.leader for r in metadata for t in r.topic_states for p in t.partition_states]
    assert leaders
    assert -2 not in leaders
    set_isr(cluster, "t-0", [*cluster.partition("t-0").isr, 3])
    assert "t" not in cluster.state.topics


def test_a_leader_that_dies_while_the_deletion_waits_for_a_reassignment_is_replaced() -> None:
    cluster = held_by_a_reassignment()

    cluster.expire(1)
    assert cluster.partition("t-0").leader == 2
    cluster.start_broker(3)
    set_isr(cluster, "t-0", [*cluster.partition("t-0").isr, 3])

    assert "t" not in cluster.state.topics


def test_a_log_dir_that_returns_while_the_deletion_waits_for_a_reassignment_is_asked() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.fail_log_dir(2, 1, ["t-0"])
    alter(cluster, ("t-0", [2, 3]))
    cluster.delete("t")
    set_isr(cluster, "t-0", [*cluster.partition("t-0").isr, 3])

    cluster.return_log_dirs(2, [1, 2])
    assert T0 not in cluster.state.offline.get(2, {})
    assert [r.__class__.__name__ for r in cluster.take()[2]].count("LeaderAndIsrRequest") > 0
    set_isr(cluster, "t-0", [*cluster.partition("t-0").isr, 2])

    assert "t" not in cluster.state.topics


def test_a_deletion_that_waited_for_a_log_dir_goes_on_when_it_is_back() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.delete("t")
    assert "t" in cluster.state.topics
    cluster.return_log_dirs(1, [1, 2])
    assert "t" not in cluster.state.topics


def test_a_deletion_goes_on_waiting_while_its_replica_is_offline() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.delete("t")
    cluster.return_log_dirs(1, [1, 2], still_bad=["t-0"])
    assert "t" in cluster.state.topics
    cluster.return_log_dirs(1, [1, 2])
    assert "t" not in cluster.state.topics


@pytest.mark.parametrize("restarts", [False, True])
def test_a_replica_left_offline_by_the_return_of_its_log_dir_is_told_of_its_deletion(
    restarts: bool,
) -> None:
    """Its broker, which brought another partition of the log dir back alone, has its log there."""
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.return_log_dirs(1, [1, 2], still_bad=["t-0"])
    cluster.brokers[1].bad = []
    cluster.held = [1] if restarts else []
    cluster.ask(delete_request())
    if restarts:
        cluster = cluster.restart()
    cluster.settle()
    assert "t" not in cluster.state.topics


def test_a_replica_that_is_still_offline_counts_so_and_is_skipped_by_no_deletion() -> None:
    cluster = three_brokers()
    cluster.create("t", [1])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.return_log_dirs(1, [1, 2], still_bad=["t-0"])
    assert cluster.machine.run.replica_phase_of(T0, 1) is ReplicaPhase.OFFLINE
    cluster.delete("t")
    assert not [note for note in cluster.notes if "no move from" in note.text]


def test_a_replica_whose_deletion_begins_while_it_is_asked_is_deleted_when_it_answers() -> None:
    cluster = three_brokers()
    cluster.create("t", [1], [2])
    cluster.fail_log_dir(2, 1, ["t-1"])
    alter(cluster, ("t-0", [1, 3]))
    cluster.ask(delete_request())
    cluster.held = [2]
    cluster.return_log_dirs(2, [1, 2])
    set_isr(cluster, "t-0", [1, 3])
    assert not cluster.state.is_reassigning("t")
    cluster.held = []
    cluster.settle()
    assert "t" not in cluster.state.topics


def test_a_broker_that_returns_does_not_begin_a_deletion_under_reassignment() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [3, 2]))
    cluster.delete("t")
    cluster.expire(2)

    cluster.start_broker(2)

    assert "t" in cluster.state.topics
    assert under_way(cluster) == {"t-0": ([3, 2, 1], [3], [1])}


def test_an_answer_of_before_the_return_of_a_log_dir_holds_no_deletion_that_began_anew() -> None:
    """What was asked since is answered behind it, and counts (seed 758231)."""
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.held = [1]
    cluster.ask(delete_request())
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.return_log_dirs(1, [1, 2])
    run = cluster.machine.run
    cluster.brokers[1].bad = [T0]
    while run.channels[1].answered < run.asked_before_return[1]:
        cluster.answer_next(1)
    cluster.brokers[1].bad = []
    cluster.held = []
    cluster.settle()
    assert "t" not in cluster.state.topics
