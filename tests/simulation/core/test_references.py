from __future__ import annotations

from protocol.ids import TopicPartition
from simulation.core.observation import (
    Observation,
    ObservedLogDir,
    ObservedPartition,
    ObservedReplica,
)
from simulation.core.references import broker_meant, log_dir_meant, node_meant, partitions_meant

ORDERS_0 = TopicPartition("orders", 0)


def seen(leader: int) -> Observation:
    partition = ObservedPartition(
        leader=leader, leader_epoch=0, replicas=(1, 2, 3), isr=(1, 2, 3), offline_replicas=()
    )
    replica = {ORDERS_0: ObservedReplica(size_bytes=0, offset_lag=0)}
    return Observation(
        now_ms=0,
        metadata={2: {ORDERS_0: partition}},
        log_dirs={
            (1, "d1"): ObservedLogDir(error="NONE"),
            (1, "d2"): ObservedLogDir(error="NONE", replicas=replica),
        },
    )


def test_a_plain_name_means_itself() -> None:
    assert node_meant("controller", seen(1)) == "controller"
    assert broker_meant("broker-3", seen(1)) == 3
    assert log_dir_meant("d1", 1, seen(1)) == "d1"


def test_the_controller_is_no_broker() -> None:
    assert broker_meant("controller", seen(1)) is None


def test_a_role_means_who_has_it_now() -> None:
    assert node_meant("leader of orders-0", seen(2)) == "broker-2"
    assert node_meant("follower of orders-0", seen(1)) == "broker-2"
    assert broker_meant("follower of orders-0", seen(2)) == 1


def test_a_role_that_nobody_has_means_nobody() -> None:
    assert node_meant("leader of orders-0", seen(-1)) is None
    assert node_meant("leader of orders-1", seen(1)) is None


def test_the_log_dir_of_a_partition_is_where_its_replica_lies() -> None:
    assert log_dir_meant("of orders-0", 1, seen(1)) == "d2"
    assert log_dir_meant("of orders-0", 2, seen(1)) is None


def test_partitions_are_named_alone_by_topic_or_all_together() -> None:
    known = [TopicPartition("b", 0), TopicPartition("a", 1), TopicPartition("a", 0)]

    assert partitions_meant("c-7", known) == (TopicPartition("c", 7),)
    assert partitions_meant("a", known) == (TopicPartition("a", 0), TopicPartition("a", 1))
    assert partitions_meant("*", known) == tuple(sorted(known))
