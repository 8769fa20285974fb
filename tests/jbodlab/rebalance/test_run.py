"""Runs of plans against a node that carries out orders at its next answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.rebalance.core.plan_file import Wanted
from jbodlab.rebalance.run import Run, RunOptions, RunProgress
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
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
)
from tests.jbodlab.asking.test_admin import admin_of
from tests.jbodlab.fake_node import Answer

T0 = TopicPartition("t", 0)
TO_D2 = [Wanted(tp=T0, brokers=(1,), log_dirs=("/d2",))]


class Node:
    """Broker 1 with t-0; a move takes ``looks`` looks at the log dirs, or never ends."""

    def __init__(self, looks: int = 2, code: ErrorCode = ErrorCode.NONE) -> None:
        self.path = "/d1"
        self.future = ""
        self.orders: list[str] = []
        self._looks = looks
        self._left = looks
        self._code = code

    @property
    def answers(self) -> dict[type, Answer]:
        return {
            MetadataRequest: self.metadata,
            DescribeLogDirsRequest: self.describe,
            AlterReplicaLogDirsRequest: self.alter,
            ListPartitionReassignmentsRequest: lambda _: ListPartitionReassignmentsResponse(
                error_message="", topics=[]
            ),
        }

    def metadata(self, _request: MetadataRequest) -> MetadataResponse:
        partition = MetadataResponsePartition(
            partition_index=0, leader_id=1, replica_nodes=[1], isr_nodes=[1]
        )
        topic = MetadataResponseTopic(name="t", topic_id=ZERO_UUID, partitions=[partition])
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host="h", port=1)], topics=[topic]
        )

    def describe(self, _request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        if self.future:
            self._left -= 1
            if not self._left:
                self.path, self.future = self.future, ""
        results = [self._log_dir(path) for path in ("/d1", "/d2")]
        return DescribeLogDirsResponse(results=results)

    def _log_dir(self, path: str) -> DescribeLogDirsResult:
        logs = [
            DescribeLogDirsPartition(
                partition_index=0, partition_size=size, offset_lag=0, is_future_key=is_future
            )
            for at, size, is_future in ((self.path, 100, False), (self.future, 40, True))
            if at == path
        ]
        topics = [DescribeLogDirsTopic(name="t", partitions=logs)]
        return DescribeLogDirsResult(log_dir=path, topics=topics)

    def alter(self, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
        (log_dir,) = request.dirs
        self.orders.append(log_dir.path)
        if self._code is ErrorCode.NONE:
            self.future = "" if log_dir.path == self.path else log_dir.path
            self._left = self._looks
        result = AlterReplicaLogDirPartitionResult(partition_index=0, error_code=self._code)
        topic = AlterReplicaLogDirTopicResult(topic_name="t", partitions=[result])
        return AlterReplicaLogDirsResponse(results=[topic])


def run(
    folder: Path,
    node: Node,
    options: RunOptions | None = None,
    pause: Callable[[float], bool] = lambda _: False,
    plan: list[Wanted] = TO_D2,
) -> list[RunProgress]:
    with admin_of(folder, node.answers) as admin:
        return list(Run(admin, plan, options or RunOptions(), pause).progress())


def test_a_run_orders_once_shows_progress_and_ends(tmp_path: Path) -> None:
    node = Node(looks=3)
    progress = run(tmp_path, node)
    assert node.orders == ["/d2"]
    assert node.path == "/d2"
    assert [each.copied_bytes for each in progress] == [0, 40, 40, 100]
    last = progress[-1]
    assert (last.total_bytes, last.left_count, last.replica_count) == (100, 0, 1)


def test_what_is_in_place_already_needs_no_order(tmp_path: Path) -> None:
    node = Node()
    node.path = "/d2"
    (progress,) = run(tmp_path, node)
    assert (progress.replica_count, node.orders) == (0, [])


def test_a_run_that_is_stopped_takes_back_what_is_under_way(tmp_path: Path) -> None:
    node = Node(looks=99)
    with pytest.raises(LabError, match="run it again to go on") as caught:
        run(tmp_path, node, pause=lambda _: True)
    assert caught.value.exit_code == ExitCode.STOPPED
    assert node.orders == ["/d2", "/d1"]
    assert (node.path, node.future) == ("/d1", "")


def test_a_run_that_stands_still_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="nothing changed for 0 ms") as caught:
        run(tmp_path, Node(looks=99), RunOptions(stall_ms=0))
    assert caught.value.exit_code == ExitCode.TIMED_OUT


def test_a_refusal_ends_the_run_with_the_clusters_words(tmp_path: Path) -> None:
    node = Node(code=ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    with pytest.raises(LabError, match=r"INVALID_REPLICA_ASSIGNMENT.*t-0 of broker 1"):
        run(tmp_path, node)


def test_a_plan_for_partitions_that_do_not_exist_does_nothing(tmp_path: Path) -> None:
    gone = Wanted(tp=TopicPartition("gone", 1), brokers=(1,), log_dirs=("/d2",))
    node = Node()
    with pytest.raises(LabError, match="the cluster has no gone-1"):
        run(tmp_path, node, plan=[gone])
    assert node.orders == []
