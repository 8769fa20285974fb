"""The answers of ElectLeaders."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from tests.controller.core.cluster import Cluster, three_brokers, tp

PREFERRED, UNCLEAN = 0, 1


def request(
    names: list[str] | None, kind: int = PREFERRED, *, timeout_ms: int = 60_000
) -> ElectLeadersRequest:
    return ElectLeadersRequest(
        election_type=kind,
        topic_partitions=None
        if names is None
        else [
            TopicPartitions(topic=tp(name).topic, partitions=[tp(name).partition]) for name in names
        ],
        timeout_ms=timeout_ms,
    )


def codes(response: ElectLeadersResponse) -> dict[str, int]:
    return {
        f"{topic.topic}-{entry.partition_id}": entry.error_code
        for topic in response.replica_election_results
        for entry in topic.partition_result
    }


def cluster_after_a_bounce() -> Cluster:
    """t-0 and t-2 prefer broker 1 and are led by broker 2; broker 1 is in the Isr of t-0 only."""
    cluster = three_brokers()
    cluster.create("t", [1, 2], [2, 1], [1, 2])
    cluster.expire(1)
    cluster.start_broker(1)
    partition = cluster.partition("t-0")
    cluster.state.topics["t"].partitions[0] = type(partition)(
        replicas=(1, 2),
        leader=2,
        leader_epoch=1,
        isr=(2, 1),
        partition_epoch=2,
        controller_epoch=1,
    )
    cluster.take()
    return cluster


@pytest.mark.scenario(161)
def test_preferred_leaders_are_elected_where_that_is_possible() -> None:
    cluster = cluster_after_a_bounce()

    response = cluster.call(request(["t-0", "t-1", "t-2", "u-0", "t-9"]), 2)

    assert codes(response) == {
        "t-0": ErrorCode.NONE,
        "t-1": ErrorCode.ELECTION_NOT_NEEDED,
        "t-2": ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        "u-0": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "t-9": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert (cluster.partition("t-0").leader, cluster.partition("t-0").leader_epoch) == (1, 2)
    assert cluster.partition("t-2").leader == 2


def test_for_all_partitions_those_that_need_nothing_are_left_out() -> None:
    response = cluster_after_a_bounce().call(request(None), 2)

    assert codes(response) == {"t-0": 0, "t-2": ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}


@pytest.mark.parametrize(("version", "code"), [(0, 0), (1, ErrorCode.ELECTION_NOT_NEEDED)])
def test_version_0_is_always_preferred(version: int, code: int) -> None:
    cluster = cluster_after_a_bounce()
    assert codes(cluster.call(request(["t-0"], UNCLEAN), version)) == {"t-0": code}


def test_an_unclean_election_is_for_partitions_without_a_live_leader() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2], [2, 3])
    cluster.expire(2)
    cluster.start_broker(2)
    cluster.expire(1)
    assert cluster.partition("t-0").leader == -1

    response = cluster.call(request(["t-0", "t-1"], UNCLEAN), 2)

    assert codes(response) == {"t-0": 0, "t-1": ErrorCode.ELECTION_NOT_NEEDED}
    assert (cluster.partition("t-0").leader, cluster.partition("t-0").isr) == (2, (2,))


def test_an_unclean_election_without_any_replica_fails() -> None:
    cluster = three_brokers()
    cluster.create("t", [1])
    cluster.fail_log_dir(1, 1, ["t-0"])

    response = cluster.call(request(["t-0"], UNCLEAN), 2)

    assert codes(response) == {"t-0": ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}


@pytest.mark.scenario(177)
def test_a_log_dir_failure_that_is_not_known_yet_needs_no_election() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.brokers[1].bad = [tp("t-0")]

    response = cluster.call(request(["t-0"], UNCLEAN), 2)

    assert codes(response) == {"t-0": ErrorCode.ELECTION_NOT_NEEDED}


def test_the_preferred_replica_on_an_offline_log_dir_is_not_available() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])

    response = cluster.call(request(["t-0"]), 2)

    assert codes(response) == {"t-0": ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}


def test_a_topic_being_deleted_is_refused() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.fail_log_dir(1, 1, ["t-0"])
    cluster.delete("t")

    response = cluster.call(request(["t-0"]), 2)

    assert codes(response) == {"t-0": ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_an_unknown_type_is_refused() -> None:
    response = cluster_after_a_bounce().call(request(["t-0"], 7), 2)

    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert codes(response) == {"t-0": ErrorCode.INVALID_REQUEST}


@pytest.mark.parametrize("timeout_ms", [0, 400])
def test_the_answer_is_late_when_a_broker_does_not_follow(timeout_ms: int) -> None:
    cluster = cluster_after_a_bounce()
    cluster.held = [3]
    token = cluster.ask(request(["t-0", "t-1"], timeout_ms=timeout_ms), 2)

    cluster.advance(400)

    assert codes(cluster.answers[token]) == {
        "t-0": ErrorCode.REQUEST_TIMED_OUT,
        "t-1": ErrorCode.ELECTION_NOT_NEEDED,
    }
