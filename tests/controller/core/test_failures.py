"""Log dirs and brokers that come and go: leaders, Isrs, offline replicas, what is told."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.effects import Note
from controller.core.state import UnknownReplica
from protocol.errors import ErrorCode
from protocol.messages.control import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.metrics.rows import FailoverStep
from tests.controller.core.altering import SET, TOPIC
from tests.controller.core.altering import alter as configure
from tests.controller.core.cluster import leadership, settings, three_brokers, tp
from tests.controller.core.reassigning import alter, deleted_on, with_topic


def only(requests: list[Any], kind: type[Any]) -> list[Any]:
    return [request for request in requests if isinstance(request, kind)]


@pytest.mark.scenario(2, 174)
def test_a_leader_on_a_failed_log_dir_is_replaced_and_costs_one_epoch() -> None:
    cluster = with_topic([1, 2], [1, 3])
    cluster.fail_log_dir(1, 1, ["t-0"])
    assert leadership(cluster, "t-0") == (2, 1, (2,))
    assert leadership(cluster, "t-1") == (1, 0, (1, 3))
    # Elected, then told again unchanged when the replica goes offline: as Kafka does.
    to_two = only(cluster.take()[2], LeaderAndIsrRequest)
    assert [r.topic_states[0].partition_states[0].leader_epoch for r in to_two] == [1, 1]


@pytest.mark.scenario(3)
def test_a_follower_on_a_failed_log_dir_leaves_the_isr() -> None:
    cluster = with_topic([1, 2, 3])
    cluster.fail_log_dir(3, 1, ["t-0"])
    assert leadership(cluster, "t-0") == (1, 1, (1, 2))
    assert cluster.state.offline_replicas(tp("t-0")) == [3]
    assert Note("offline on broker 3, by its log dirs: t-0", is_warning=True) in cluster.notes


def test_a_healthy_leader_stays_when_the_log_dir_of_a_follower_fails() -> None:
    cluster = with_topic([1, 2, 3])
    alter(cluster, ("t-0", [2, 1, 3]))
    assert cluster.partition("t-0").leader == 1, "not the preferred one"
    cluster.fail_log_dir(3, 1, ["t-0"])
    assert leadership(cluster, "t-0")[::2] == (1, (1, 2))


@pytest.mark.scenario(162, 174)
def test_the_only_replica_stays_in_the_isr_without_a_leader() -> None:
    cluster = with_topic([1])
    cluster.fail_log_dir(1, 1, ["t-0"])
    assert leadership(cluster, "t-0") == (-1, 1, (1,))
    sent = cluster.take()
    metadata = only(sent[2], UpdateMetadataRequest)[-1]
    assert list(metadata.topic_states[0].partition_states[0].offline_replicas) == [1]
    assert isinstance(sent[1][-1], StopReplicaRequest)


@pytest.mark.scenario(175)
def test_the_last_isr_member_is_followed_by_another_replica_only_if_unclean() -> None:
    for allowed, expected in (("false", (-1, 2, (1,))), ("true", (2, 2, (2,)))):
        cluster = three_brokers()
        cluster.create("t", [1, 2], configs={"unclean.leader.election.enable": allowed})
        cluster.expire(2)
        cluster.start_broker(2)
        assert leadership(cluster, "t-0") == (1, 1, (1,))
        cluster.fail_log_dir(1, 1, ["t-0"])
        assert leadership(cluster, "t-0") == expected
        assert cluster.partition("t-0").is_recovering == (allowed == "true")
        assert cluster.machine.run.unclean_elections_count == (allowed == "true")


@pytest.mark.scenario(175)
def test_the_cluster_may_allow_unclean_elections_for_all_topics() -> None:
    cluster = three_brokers(config=settings(unclean_leader_election_enable="true"))
    cluster.create("t", [1, 2])
    cluster.expire(2)
    cluster.start_broker(2)
    cluster.fail_log_dir(1, 1, ["t-0"])
    assert leadership(cluster, "t-0") == (2, 2, (2,))


@pytest.mark.scenario(172)
def test_two_log_dirs_of_two_brokers_at_once() -> None:
    cluster = with_topic([1, 2, 3], [2, 1, 3])
    cluster.brokers[1].bad = [tp("t-0")]
    cluster.brokers[2].bad = [tp("t-0")]
    for broker_id in (1, 2):
        cluster.beat(broker_id, offline=[1])
    assert leadership(cluster, "t-0") == (3, 2, (3,))
    assert leadership(cluster, "t-1") == (2, 0, (2, 1, 3))


@pytest.mark.scenario(171)
def test_healthy_replicas_of_the_same_broker_are_not_touched() -> None:
    cluster = with_topic([1, 2], [1, 2])
    cluster.fail_log_dir(1, 1, ["t-1"])
    assert leadership(cluster, "t-0") == (1, 0, (1, 2))
    assert list(cluster.state.offline[1]) == [tp("t-1")]


@pytest.mark.scenario(173)
def test_a_refused_probe_changes_nothing() -> None:
    cluster = with_topic([1, 2])
    cluster.brokers[1].code = ErrorCode.STALE_BROKER_EPOCH
    cluster.fail_log_dir(1, 1, ["t-0"])
    assert leadership(cluster, "t-0") == (1, 0, (1, 2))
    assert cluster.state.offline == {}


@pytest.mark.scenario(239)
def test_the_same_failure_reported_again_is_no_news() -> None:
    cluster = with_topic([1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.take()
    records = len(cluster.records)
    cluster.beat(1, offline=[1])
    assert cluster.take() == {}
    assert len(cluster.records) == records


@pytest.mark.scenario(176, 181)
def test_a_restarted_broker_is_asked_anew() -> None:
    cluster = with_topic([1, 2], [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0", "t-1"])
    cluster.take()
    cluster.start_broker(1, dirs=[2], bad=["t-0"])
    assert list(cluster.state.offline[1]) == [tp("t-0")]
    cluster.start_broker(1)
    assert cluster.state.offline == {}
    assert cluster.state.offline_replicas(tp("t-0")) == []


@pytest.mark.scenario(164)
def test_a_bounced_broker_is_dead_and_then_new() -> None:
    cluster = with_topic([1, 2])
    cluster.start_broker(1)
    assert leadership(cluster, "t-0") == (2, 1, (2,))
    to_one = cluster.take()[1]
    assert isinstance(to_one[0], UpdateMetadataRequest)
    assert [t.topic_name for t in to_one[0].topic_states] == ["t"]
    assert not to_one[1].topic_states[0].partition_states[0].is_new


@pytest.mark.kafka_bug("KAFKA-3143", "KAFKA-8152")
@pytest.mark.scenario(157)
def test_all_brokers_dead_leaves_the_last_isr_and_offline_replicas() -> None:
    cluster = with_topic([2])
    cluster.expire(1, 2, 3)
    after = cluster.restart()
    assert leadership(after, "t-0")[0] == -1
    assert leadership(after, "t-0")[2] == (2,)
    after.start_broker(3)
    metadata = after.take()[3][0]
    partition = metadata.topic_states[0].partition_states[0]
    assert (partition.leader, list(partition.offline_replicas)) == (-1, [2])


@pytest.mark.scenario(158)
def test_a_topic_created_with_its_first_replica_dead_starts_at_the_second() -> None:
    cluster = three_brokers()
    cluster.expire(1)
    cluster.create("t", [1, 2, 3])
    assert leadership(cluster, "t-0") == (2, 0, (2, 3))


def test_leaders_return_when_their_broker_does() -> None:
    cluster = with_topic([1])
    cluster.expire(1)
    assert leadership(cluster, "t-0") == (-1, 1, (1,))
    cluster.start_broker(1)
    assert leadership(cluster, "t-0") == (1, 2, (1,))


def test_a_dead_broker_without_replicas_is_still_told_to_the_others() -> None:
    cluster = three_brokers()
    cluster.take()
    cluster.expire(3)
    (request,) = cluster.take()[1]
    assert [broker.id for broker in request.live_brokers] == [1, 2]
    cluster.beat(2, want_shut_down=True)
    ends = [(n.text, n.is_warning) for n in cluster.notes if n.text.startswith("broker")]
    assert ends[-3] == ("broker 3 is dead: no heartbeat for 3000 ms", True)
    assert ends[-1] == ("broker 2 left: controlled shutdown", False)


def test_each_step_of_a_failover_is_reported_under_one_failure_id() -> None:
    cluster = with_topic([1, 2], [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0", "t-1"])
    assert [(r.step, r.partition_count) for r in cluster.reports] == [
        (FailoverStep.CONTROLLER_NOTICED, -1),
        (FailoverStep.REPLICAS_OFFLINE, 2),
        (FailoverStep.LEADERS_ELECTED, 2),
        (FailoverStep.BROKERS_TOLD, -1),
    ]
    assert len({r.failure_id for r in cluster.reports}) == 1


def test_brokers_are_told_only_when_the_slowest_has_answered() -> None:
    cluster = with_topic([1, 2])
    cluster.held = [3]
    cluster.fail_log_dir(1, 1, ["t-0"])
    assert [r.step for r in cluster.reports][-1] is FailoverStep.LEADERS_ELECTED
    cluster.held = []
    cluster.settle()
    assert [r.step for r in cluster.reports][-1] is FailoverStep.BROKERS_TOLD


def test_a_log_dir_without_replicas_costs_no_request_and_one_decision_as_it_is_back() -> None:
    cluster = three_brokers()
    cluster.fail_log_dir(1, 1, [])
    assert cluster.take() == {}
    before = len(cluster.records)
    cluster.return_log_dirs(1, [1, 2])
    assert [type(record).__name__ for record in cluster.records[before:]] == ["LogDirsReturned"]
    assert [r.step for r in cluster.reports][-1] is FailoverStep.BROKERS_TOLD


@pytest.mark.scenario(272)
def test_a_thousand_replicas_take_one_probe_and_one_batch() -> None:
    cluster = with_topic(*[[1, 2, 3]] * 1000)
    cluster.fail_log_dir(1, 1, [f"t-{number}" for number in range(1000)])
    sent = cluster.take()
    assert [type(r) for r in sent[1]] == [
        LeaderAndIsrRequest,
        *[UpdateMetadataRequest] * 3,
        StopReplicaRequest,
    ]
    assert len(sent[2]) == len(sent[3]) == 5


@pytest.mark.scenario(260)
def test_offline_replicas_are_those_whose_last_answer_was_a_storage_error() -> None:
    cluster = with_topic([1, 2], [1, 3], [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.fail_log_dir(1, 2, ["t-2"])
    assert list(cluster.state.offline[1]) == [tp("t-0"), tp("t-2")]
    assert cluster.replay() == cluster.state


def test_answers_of_an_older_incarnation_are_ignored() -> None:
    cluster = with_topic([1, 2])
    cluster.held = [1]
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.start_broker(1)
    cluster.held = []
    cluster.settle()
    assert cluster.state.offline == {}


@pytest.mark.kafka_bug("KAFKA-16757")
def test_log_dirs_that_came_back_are_asked_for_what_was_offline_and_leaders_are_elected() -> None:
    cluster = with_topic([1])
    cluster.create("u", [1, 2], [2, 3])
    cluster.fail_log_dir(1, 1, ["t-0", "u-0"])
    assert leadership(cluster, "t-0") == (-1, 1, (1,))
    epoch = cluster.state.brokers[1].broker_epoch
    cluster.take()
    cluster.return_log_dirs(1, [1, 2])
    assert cluster.state.brokers[1].broker_epoch == epoch
    assert cluster.offline_numbers(1) == []
    assert leadership(cluster, "t-0") == (1, 2, (1,))
    assert cluster.state.offline_replicas(tp("u-0")) == []
    sent = cluster.take()
    asked = next(r for r in sent[1] if isinstance(r, LeaderAndIsrRequest))
    states = [(t.topic_name, s) for t in asked.topic_states for s in t.partition_states]
    assert [(name, s.partition_index) for name, s in states] == [("t", 0), ("u", 0)]
    assert not any(s.is_new for _, s in states)
    told = {t.topic_name: t for r in only(sent[3], UpdateMetadataRequest) for t in r.topic_states}
    assert list(told["u"].partition_states[0].offline_replicas) == []


def test_a_replica_that_comes_back_during_an_election_is_told_of_it_afterwards() -> None:
    cluster = with_topic([1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.expire(2)
    cluster.held.append(1)
    cluster.return_log_dirs(1, [1, 2])
    cluster.start_broker(2)
    assert leadership(cluster, "t-0") == (2, 3, (2,))
    cluster.held.clear()
    cluster.settle()
    told = only(cluster.take()[1], LeaderAndIsrRequest)
    assert told[-1].topic_states[0].partition_states[0].leader_epoch == 3


def test_a_replica_that_is_stopped_after_it_came_back_is_told_again() -> None:
    """As when a log dir of a broker that has just come live is replaced at once."""
    cluster = with_topic([1, 2])
    cluster.expire(2)
    cluster.held = [2]
    cluster.start_broker(2, bad=["t-0"])
    cluster.beat(2, offline=[1])
    cluster.take()
    while "t-0" not in map(str, cluster.state.offline.get(2, {})):
        cluster.answer_next(2)
    cluster.brokers[2].bad = []
    cluster.held = []
    cluster.settle()
    assert cluster.state.offline.get(2, {}) == {}
    control = [r for r in cluster.take()[2] if not isinstance(r, UpdateMetadataRequest)]
    assert [type(r) for r in control] == [StopReplicaRequest, LeaderAndIsrRequest]


def test_replicas_on_a_log_dir_that_is_still_offline_stay_offline() -> None:
    cluster = with_topic([1, 2], [1, 3], [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.fail_log_dir(1, 2, ["t-1"])
    cluster.return_log_dirs(1, [1], still_bad=["t-1"])
    cluster.beat(1, offline=[2])
    assert cluster.state.offline_replicas(tp("t-0")) == []
    assert cluster.state.offline_replicas(tp("t-1")) == [1]
    assert leadership(cluster, "t-2") == (1, 0, (1, 2)), "it was online all the time"


def test_a_storage_error_that_a_return_overtook_is_asked_about_again() -> None:
    cluster = with_topic([1])
    cluster.held = [1]
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.return_log_dirs(1, [1, 2], still_bad=["t-0"])
    cluster.answer_next(1)
    assert leadership(cluster, "t-0") == (-1, 1, (1,))
    cluster.brokers[1].bad = []
    cluster.held = []
    cluster.settle()
    assert cluster.state.offline_replicas(tp("t-0")) == []
    assert leadership(cluster, "t-0") == (1, 2, (1,))


def test_what_comes_back_of_a_topic_that_is_being_deleted_is_only_told_so_again() -> None:
    cluster = with_topic([1, 2])
    cluster.create("u", [2, 1])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.delete("t")
    cluster.take()
    cluster.return_log_dirs(1, [1, 2])
    asked = only(cluster.take()[1], LeaderAndIsrRequest)
    assert [t.topic_name for r in asked for t in r.topic_states] == ["u"]
    assert "t" not in cluster.state.topics
    assert leadership(cluster, "u-0") == (2, 0, (2, 1)), "it was online all the time"


def test_all_hear_that_a_broker_without_replicas_is_back() -> None:
    cluster = three_brokers()
    cluster.expire(3)
    cluster.take()
    cluster.start_broker(3)
    (request,) = only(cluster.take()[1], UpdateMetadataRequest)
    assert [broker.id for broker in request.live_brokers] == [1, 2, 3]


def test_a_broker_that_is_back_hears_what_it_missed_and_deletes_what_was_taken_from_it() -> None:
    cluster = with_topic([1, 2], [1, 2])
    cluster.expire(2)
    configure(cluster, TOPIC, "t", ("retention.ms", SET, "9"))
    unknown = {tp("later-0"): UnknownReplica(b"later".ljust(16, b"-"), 4)}
    cluster.state.unknown_replicas[1] = unknown
    alter(cluster, ("t-0", [1]))
    cluster.take()
    cluster.start_broker(2)
    told = only(cluster.sent[2], UpdateMetadataRequest)
    rows = [(t.topic_name, len(t.partition_states)) for r in told for t in r.topic_states]
    assert rows[:3] == [("t", 2), ("t", 0), ("later", 1)]
    assert deleted_on(cluster, 2) == ["t-0"]


def test_a_reassignment_goes_on_with_its_target_in_the_next_leader_epoch() -> None:
    cluster = with_topic([1])
    alter(cluster, ("t-0", [3]))
    cluster.expire(3)
    epoch = cluster.partition("t-0").leader_epoch
    cluster.start_broker(3)
    assert cluster.partition("t-0").leader_epoch == epoch + 1


def test_a_deletion_goes_on_when_the_broker_that_it_waits_for_is_back() -> None:
    cluster = with_topic([1, 2])
    cluster.expire(2)
    cluster.delete("t")
    assert cluster.state.is_deleting("t")
    cluster.start_broker(2)
    assert cluster.state.topics == {}


def test_a_deletion_goes_on_with_one_log_dir_that_is_back_while_another_is_offline() -> None:
    cluster = with_topic([1], [1])
    cluster.create("u", [1])
    cluster.fail_log_dir(1, 1, ["t-0", "t-1"])
    cluster.fail_log_dir(1, 2, ["u-0"])
    cluster.delete("t")
    cluster.return_log_dirs(1, [1], still_bad=["u-0"])
    assert list(cluster.state.topics) == ["u"]
