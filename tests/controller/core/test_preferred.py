"""Leadership returns to preferred replicas by itself."""

from __future__ import annotations

from dataclasses import replace

from controller.core.preferred import FIRST_BALANCE_AFTER_MS
from tests.controller.core.cluster import HEARTBEAT_MS, Cluster, settings, three_brokers


def unbalanced(cluster: Cluster, count: int = 10, led_elsewhere: int = 2) -> None:
    """All partitions prefer broker 1; some are led by broker 2."""
    cluster.create("t", *[[1, 2]] * count)
    partitions = cluster.state.topics["t"].partitions
    for number in range(led_elsewhere):
        partitions[number] = replace(partitions[number], leader=2)


def leaders(cluster: Cluster) -> list[int]:
    return [partition.leader for partition in cluster.state.topics["t"].partitions]


def live_on(cluster: Cluster, ms: int) -> None:
    """Let time pass while the brokers heartbeat."""
    for _ in range(ms // HEARTBEAT_MS):
        cluster.advance(HEARTBEAT_MS)
        for broker_id in cluster.state.reachable_brokers():
            cluster.beat(broker_id)
    cluster.settle()


def test_more_than_the_tolerated_share_is_given_back_soon_after_the_start() -> None:
    cluster = three_brokers()
    unbalanced(cluster)

    live_on(cluster, FIRST_BALANCE_AFTER_MS)

    assert leaders(cluster) == [1] * 10


def test_a_tolerated_share_stays() -> None:
    cluster = three_brokers()
    unbalanced(cluster, led_elsewhere=1)

    live_on(cluster, FIRST_BALANCE_AFTER_MS)

    assert leaders(cluster) == [2] + [1] * 9


def test_it_looks_again_after_the_interval() -> None:
    cluster = three_brokers(config=settings(leader_imbalance_check_interval_seconds="2"))
    live_on(cluster, FIRST_BALANCE_AFTER_MS)
    unbalanced(cluster)

    live_on(cluster, 2000)

    assert leaders(cluster) == [1] * 10


def test_it_can_be_switched_off() -> None:
    cluster = three_brokers(config=settings(auto_leader_rebalance_enable="false"))
    unbalanced(cluster)

    live_on(cluster, FIRST_BALANCE_AFTER_MS)

    assert leaders(cluster)[:2] == [2, 2]


def test_only_replicas_in_the_isr_on_good_log_dirs_of_live_brokers_get_it() -> None:
    cluster = three_brokers()
    unbalanced(cluster)
    partitions = cluster.state.topics["t"].partitions
    partitions[0] = replace(partitions[0], isr=(2,))
    cluster.state.offline[1] = {cluster.state.topics["t"].keys[1]: None}

    live_on(cluster, FIRST_BALANCE_AFTER_MS)

    assert leaders(cluster)[:2] == [2, 2]
