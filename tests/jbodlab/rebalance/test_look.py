from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.rebalance.core.plan_file import ANY, Wanted
from jbodlab.rebalance.core.situation import UNKNOWN_PATH, LogDirId
from jbodlab.rebalance.core.steps import Host
from jbodlab.rebalance.look import look_at_cluster, look_at_plan, situation_of
from protocol.admin.cluster import ClusterView, PartitionView
from protocol.admin.log_dirs import LogDirView, ReplicaView
from protocol.admin.reassignments import ReassignmentView
from protocol.ids import TopicPartition
from protocol.messages.log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from protocol.messages.metadata import MetadataRequest
from tests.jbodlab.asking.test_admin import admin_of, metadata
from tests.jbodlab.asking.test_reassignments import growing
from tests.protocol.admin.views import cluster_of

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def log_dir(broker: int, path: str, *replicas: ReplicaView, error_code: int = 0) -> LogDirView:
    return LogDirView(
        broker=broker,
        path=path,
        error_code=error_code,
        total_bytes=1000,
        usable_bytes=400,
        replicas=replicas,
        is_cordoned=path == "/cordoned",
    )


def replica(partition: int, size_bytes: int, *, is_future: bool = False) -> ReplicaView:
    return ReplicaView(
        topic="t",
        partition=partition,
        size_bytes=size_bytes,
        offset_lag=0,
        is_future=is_future,
    )


def cluster(replicas: tuple[int, ...], offline: tuple[int, ...] = ()) -> ClusterView:
    views = tuple(
        PartitionView(
            topic="t",
            partition=partition,
            leader=replicas[0],
            leader_epoch=0,
            replicas=replicas,
            isr=replicas,
            offline_replicas=offline,
            error_code=0,
        )
        for partition in (0, 1)
    )
    return cluster_of(views, brokers=replicas, racks={1: "r1"})


def adding_broker_2(tp: TopicPartition) -> ReassignmentView:
    """Return the reassignment of a partition from broker 1 to broker 2."""
    return ReassignmentView(
        topic=tp.topic, partition=tp.partition, replicas=(2, 1), adding=(2,), removing=(1,)
    )


def test_metadata_and_log_dirs_become_a_situation() -> None:
    log_dirs = [log_dir(1, "/d1", replica(0, 50), replica(1, 7)), log_dir(1, "/cordoned")]
    situation = situation_of(cluster((1,)), log_dirs, [adding_broker_2(T1)], {T0: 2.5})
    first, second = situation.log_dirs
    assert (first.rack, first.accepts, first.usable_bytes) == ("r1", True, 400)
    assert second.is_cordoned
    t0, t1 = situation.partitions
    assert [(each.at, each.size_bytes) for each in t0.replicas] == [(LogDirId(1, "/d1"), 50)]
    assert (t0.write_rate, t0.is_changing, t0.is_whole) == (2.5, False, True)
    assert (t1.write_rate, t1.is_changing) == (0.0, True)


def test_a_replica_on_its_way_to_another_log_dir_is_changing() -> None:
    log_dirs = [log_dir(1, "/d1", replica(0, 50)), log_dir(1, "/d2", replica(0, 9, is_future=True))]
    situation = situation_of(cluster((1,)), log_dirs, [], {})
    assert situation.partitions[0].is_changing
    assert situation.partitions[0].replicas[0].at.path == "/d1"
    (ends,) = situation.settled().partitions[0].replicas
    assert (ends.at, ends.size_bytes, ends.coming_bytes) == (LogDirId(1, "/d2"), 50, 41)


def test_a_reassignment_ends_with_whole_replicas_where_they_are_being_added() -> None:
    log_dirs = [log_dir(1, "/d1", replica(0, 50)), log_dir(2, "/d2", replica(0, 20))]
    situation = situation_of(cluster((2, 1)), log_dirs, [adding_broker_2(T0)], {})
    assert [each.at.broker for each in situation.partitions[0].replicas] == [1], "as it was"
    (ends,) = situation.settled().partitions[0].replicas
    assert (ends.at, ends.size_bytes, ends.coming_bytes) == (LogDirId(2, "/d2"), 50, 30)


def test_what_nobody_tells_of_lies_in_the_only_broken_log_dir() -> None:
    broken = log_dir(2, "/broken", error_code=56)
    log_dirs = [log_dir(1, "/d1", replica(0, 50)), broken]
    (one, _) = situation_of(cluster((1, 2), (2,)), log_dirs, [], {}).partitions
    assert one.replicas[1].at == LogDirId(2, "/broken")
    assert (one.replicas[1].size_bytes, one.replicas[1].is_online) == (50, False)
    two_broken = [*log_dirs, log_dir(2, "/d2", error_code=56)]
    (one, _) = situation_of(cluster((1, 2), (2,)), two_broken, [], {}).partitions
    assert one.replicas[1].at == LogDirId(2, "")


@pytest.mark.scenario(97)
def test_a_broker_that_does_not_answer_costs_its_own_replicas_only(tmp_path: Path) -> None:
    """Broker 2 is down; broker 1 has t-0, lacks t-1, and tells of a topic that nobody knows."""

    def described(_request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        log = DescribeLogDirsPartition(partition_index=0, partition_size=50, offset_lag=0)
        topics = [DescribeLogDirsTopic(name=name, partitions=[log]) for name in ("t", "stray")]
        return DescribeLogDirsResponse(results=[DescribeLogDirsResult(log_dir="/d", topics=topics)])

    answers = {**growing([]), MetadataRequest: metadata, DescribeLogDirsRequest: described}
    with admin_of(tmp_path, answers) as admin:
        situation = look_at_cluster(admin)

    assert [each.id.broker for each in situation.log_dirs] == [1]
    t0, t1 = (each.replicas for each in situation.partitions)
    assert [each.at for each in t0] == [LogDirId(1, "/d"), LogDirId(2, UNKNOWN_PATH)]
    assert [each.at for each in t1] == [LogDirId(1, UNKNOWN_PATH), LogDirId(2, UNKNOWN_PATH)]
    assert not any(each.is_online for each in (t0[1], *t1))


def test_a_replica_being_added_is_not_there_yet(tmp_path: Path) -> None:
    with admin_of(tmp_path, growing([30, 30])) as admin:
        seen = look_at_plan(admin, [Wanted(tp=T0, brokers=(2,), log_dirs=(ANY,))])
        situation = look_at_cluster(admin)
    assert seen.replicas == {T0: (1,)}
    assert seen.targets == {T0: (2,)}
    place = seen.places[Host(T0, 1)]
    assert (place.path, place.size_bytes, place.future_path) == ("/d", 30, "")
    assert situation.partitions[0].is_changing
