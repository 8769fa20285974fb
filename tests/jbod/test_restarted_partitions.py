"""KIP-18's table: what a restarted replica does to leader and Isr, by what its broker was.

The failure takes the replica out of leader and Isr, its return asks for it again; the assignment
stays in both, so that the replica is filled from the others.
"""

from __future__ import annotations

import pytest

from controller.core.state import Partition
from protocol.messages.control import LeaderAndIsrRequest
from protocol.messages.lifecycle import BrokerRegistrationRequest, Listener
from tests.controller.core.cluster import CLUSTER_ID, Cluster, log_dir, three_brokers

LISTENER = Listener(name="PLAINTEXT", host="h", port=9092, security_protocol=0)


def standing(partition: Partition) -> tuple[int, tuple[int, ...]]:
    return partition.leader, tuple(partition.isr)


def asked(cluster: Cluster, broker_id: int) -> list[tuple[int, bool]]:
    """Return leader and isNew of each partition that a broker was told its role of."""
    return [
        (state.leader, state.is_new)
        for request in cluster.take().get(broker_id, [])
        if isinstance(request, LeaderAndIsrRequest)
        for topic in request.topic_states
        for state in topic.partition_states
    ]


@pytest.mark.scenario(10)
@pytest.mark.parametrize(
    ("replicas", "failed", "returned"),
    [
        pytest.param([1, 2, 3], (2, (2, 3)), (2, (2, 3)), id="leader"),
        pytest.param([2, 1, 3], (2, (2, 3)), (2, (2, 3)), id="follower"),
        pytest.param([1], (-1, (1,)), (1, (1,)), id="the last of the Isr"),
    ],
)
def test_a_restarted_replica_by_its_role(
    replicas: list[int], failed: tuple[int, tuple[int, ...]], returned: tuple[int, tuple[int, ...]]
) -> None:
    cluster = three_brokers()
    cluster.create("t", replicas)
    cluster.fail_log_dir(1, 1, ["t-0"])
    assert standing(cluster.partition("t-0")) == failed
    cluster.take()
    cluster.return_log_dirs(1, [1, 2])
    assert standing(cluster.partition("t-0")) == returned
    assert list(cluster.partition("t-0").replicas) == replicas
    assert asked(cluster, 1)[-1] == (returned[0], False), "asked for its log, not for a new one"


@pytest.mark.scenario(10)
def test_who_has_no_replica_restarts_none() -> None:
    cluster = three_brokers()
    cluster.create("t", [2, 3])
    before = standing(cluster.partition("t-0"))
    cluster.fail_log_dir(1, 1, [])
    cluster.return_log_dirs(1, [1, 2])
    assert standing(cluster.partition("t-0")) == before
    assert asked(cluster, 1) == []


@pytest.mark.scenario(10)
def test_a_broker_that_nobody_knew_restarts_none() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    before = standing(cluster.partition("t-0"))
    registration = BrokerRegistrationRequest(
        broker_id=9,
        cluster_id=CLUSTER_ID,
        incarnation_id=b"n" * 16,
        listeners=[LISTENER],
        log_dirs=[log_dir(9, 1)],
        rack=None,
    )
    assert cluster.call(registration, 4).error_code == 0
    assert standing(cluster.partition("t-0")) == before
