"""Progress of reassignments, from the sizes that brokers tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.asking.reassignments import (
    ReassignmentProgress,
    look,
    measure,
    progress_of,
    with_rates,
)
from protocol.admin.cluster import ClusterView, PartitionView
from protocol.admin.log_dirs import LogDirView, ReplicaView
from protocol.admin.reassignments import ReassignmentView
from protocol.ids import ZERO_UUID
from protocol.messages.log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from tests.jbodlab.asking.test_admin import admin_of
from tests.jbodlab.fake_node import Answer
from tests.protocol.admin.views import cluster_of

UNDER_WAY = ReassignmentView(
    topic="t", partition=0, replicas=(3, 2, 1), adding=(2, 3), removing=(1,)
)


def log_dir(broker: int, size_bytes: int, *, is_future: bool = False) -> LogDirView:
    replica = ReplicaView(
        topic="t", partition=0, size_bytes=size_bytes, offset_lag=0, is_future=is_future
    )
    return LogDirView(
        broker=broker,
        path=f"/d{broker}",
        error_code=0,
        total_bytes=-1,
        usable_bytes=-1,
        replicas=(replica,),
    )


def cluster(leader: int) -> ClusterView:
    view = PartitionView(
        topic="t",
        partition=0,
        leader=leader,
        leader_epoch=1,
        replicas=(3, 2, 1),
        isr=(1,),
        offline_replicas=(),
        error_code=0,
    )
    return cluster_of((view,), brokers=(1, 2, 3))


@pytest.mark.parametrize(
    ("sizes", "copied", "total"),
    [
        ({1: 100, 2: 30, 3: 0}, 30, 200),
        ({1: 100, 2: 100, 3: 120}, 200, 200),
        ({1: 100}, 0, 200),
        ({2: 30}, 0, 0),
    ],
)
def test_added_replicas_are_compared_with_their_leader(
    sizes: dict[int, int], copied: int, total: int
) -> None:
    log_dirs = [log_dir(broker, size) for broker, size in sizes.items()]

    (progress,) = progress_of([UNDER_WAY], cluster(leader=1), log_dirs)

    assert (progress.copied_bytes, progress.total_bytes) == (copied, total)
    assert (progress.bytes_per_second, progress.seconds_left) == (None, None)


def test_without_a_leader_nothing_can_be_compared() -> None:
    (progress,) = progress_of([UNDER_WAY], cluster(leader=-1), [log_dir(2, 10)])

    assert (progress.copied_bytes, progress.total_bytes) == (0, 0)


def test_a_copy_on_its_way_between_log_dirs_does_not_count() -> None:
    log_dirs = [log_dir(1, 100), log_dir(2, 40), log_dir(2, 90, is_future=True)]

    (progress,) = progress_of([UNDER_WAY], cluster(leader=1), log_dirs)

    assert progress.copied_bytes == 40


def growing(sizes: list[int]) -> dict[type, Answer]:
    """Answer for t-0, which goes from broker 1 to broker 2; broker 1 tells these sizes."""

    def listed(_request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        partition = OngoingPartitionReassignment(
            partition_index=0, replicas=[2, 1], adding_replicas=[2], removing_replicas=[1]
        )
        topics = [OngoingTopicReassignment(name="t", partitions=[partition])] if sizes else []
        return ListPartitionReassignmentsResponse(error_message="", topics=topics)

    def metadata(_request: MetadataRequest) -> MetadataResponse:
        partition = MetadataResponsePartition(
            partition_index=0, leader_id=2, replica_nodes=[2, 1], isr_nodes=[2]
        )
        topic = MetadataResponseTopic(name="t", topic_id=ZERO_UUID, partitions=[partition])
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host="h", port=1)], topics=[topic]
        )

    def described(_request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        partition = DescribeLogDirsPartition(
            partition_index=0, partition_size=sizes.pop(0), offset_lag=0
        )
        topic = DescribeLogDirsTopic(name="t", partitions=[partition])
        return DescribeLogDirsResponse(
            results=[DescribeLogDirsResult(log_dir="/d", topics=[topic])]
        )

    return {
        ListPartitionReassignmentsRequest: listed,
        MetadataRequest: metadata,
        DescribeLogDirsRequest: described,
    }


def test_the_rate_is_what_was_copied_between_two_looks() -> None:
    def seen(partition: int, copied_bytes: int) -> ReassignmentProgress:
        return ReassignmentProgress(
            topic="t",
            partition=partition,
            replicas=(2, 1),
            adding=(2,),
            removing=(1,),
            copied_bytes=copied_bytes,
            total_bytes=1000,
        )

    first = [seen(0, 300), seen(1, 400), seen(2, 50)]
    rated = with_rates(first, [seen(0, 700), seen(1, 300), seen(3, 9)], 2.0)

    assert [each.bytes_per_second for each in rated] == [200, 0, None]
    assert [each.seconds_left for each in rated] == [1.5, None, None]


def test_two_looks_are_apart_by_the_interval(tmp_path: Path) -> None:
    ticks = iter([10.0, 12.0])
    slept: list[float] = []
    with admin_of(tmp_path, growing([300, 700])) as admin:
        (progress,) = measure(admin, 1500, slept.append, lambda: next(ticks))

    assert slept == [1.5]
    assert progress.bytes_per_second == 0


def test_no_interval_measures_no_rate(tmp_path: Path) -> None:
    with admin_of(tmp_path, growing([300, 700])) as admin:
        (progress,) = measure(admin, 0)

    assert progress.bytes_per_second is None


def test_nothing_under_way_is_an_empty_list(tmp_path: Path) -> None:
    with admin_of(tmp_path, growing([])) as admin:
        assert look(admin) == []
