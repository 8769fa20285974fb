"""What brokers answer becomes views; what they refuse becomes an error."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.errors import BrokerAwayError
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import ClusterSpec, TopicSpec, parse_cluster_spec
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID
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
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from tests.jbodlab.fake_node import Answer, fake_node

TOPIC = TopicSpec(name="t", partitions=2, replication_factor=1, configs={"retention.ms": "5"})


def spec_of(port: int, folder: Path) -> ClusterSpec:
    text = write_lab_spec(folder, LabShape(brokers=2)).read_text()
    spec = parse_cluster_spec(text, base_dir=folder, source="lab")
    first = f"port: {spec.broker(1).port}\n"
    return parse_cluster_spec(text.replace(first, f"port: {port}\n"), base_dir=folder, source="lab")


@contextmanager
def admin_of(folder: Path, answers: dict[type, Answer]) -> Generator[ClusterAdmin]:
    with fake_node(answers) as port, ClusterAdmin(spec_of(port, folder)) as admin:
        yield admin


def metadata(_request: MetadataRequest) -> MetadataResponse:
    partitions = [
        MetadataResponsePartition(
            error_code=code,
            partition_index=index,
            leader_id=leader,
            leader_epoch=4,
            replica_nodes=[1, 2],
            isr_nodes=[2],
            offline_replicas=[1],
        )
        for index, leader, code in ((1, -1, 5), (0, 2, 0))
    ]
    topic = MetadataResponseTopic(
        error_code=0, name="t", topic_id=ZERO_UUID, is_internal=False, partitions=partitions
    )
    return MetadataResponse(
        throttle_time_ms=0,
        brokers=[
            MetadataResponseBroker(node_id=each, host="h", port=1, rack=rack)
            for each, rack in ((2, None), (1, "r1"))
        ],
        controller_id=1,
        topics=[topic],
        error_code=0,
    )


def test_metadata_becomes_a_view_in_order(tmp_path: Path) -> None:
    with admin_of(tmp_path, {MetadataRequest: metadata}) as admin:
        view = admin.any_view()
    assert view.broker_ids == (1, 2)
    assert view.racks == {1: "r1"}
    assert [(each.partition, each.leader) for each in view.partitions] == [(0, 2), (1, -1)]
    assert view.partition("t", 1).offline_replicas == (1,)
    with pytest.raises(KeyError, match="t-9"):
        view.partition("t", 9)


def test_the_next_broker_is_asked_when_one_does_not_answer(tmp_path: Path) -> None:
    with admin_of(tmp_path, {}) as admin, pytest.raises(ConnectionError, match="no broker answers"):
        admin.any_view()


def test_log_dirs_become_views(tmp_path: Path) -> None:
    partition = DescribeLogDirsPartition(
        partition_index=3, partition_size=10, offset_lag=2, is_future_key=True
    )
    results = [
        DescribeLogDirsResult(
            error_code=0,
            log_dir="/d1",
            topics=[DescribeLogDirsTopic(name="t", partitions=[partition])],
            total_bytes=100,
            usable_bytes=90,
        ),
        DescribeLogDirsResult(error_code=56, log_dir="/d2", topics=[], is_cordoned=True),
    ]
    asked: list[DescribeLogDirsRequest] = []

    def answer(request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        asked.append(request)
        return DescribeLogDirsResponse(throttle_time_ms=0, results=results)

    with admin_of(tmp_path, {DescribeLogDirsRequest: answer}) as admin:
        good, bad = admin.log_dirs(1)
        admin.log_dirs(1, {"t": [3]})
    assert asked[0].topics is None
    assert [(each.topic, list(each.partitions)) for each in asked[1].topics or ()] == [("t", [3])]
    assert (good.is_cordoned, bad.is_cordoned) == (False, True)
    assert (good.is_online, bad.is_online) == (True, False)
    assert good.replicas[0].is_future
    assert (good.replicas[0].size_bytes, good.replicas[0].offset_lag) == (10, 2)


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.LOG_DIR_NOT_FOUND])
def test_an_order_to_move_raises_the_partitions_error(tmp_path: Path, code: ErrorCode) -> None:
    asked: list[AlterReplicaLogDirsRequest] = []

    def answer(request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
        asked.append(request)
        result = AlterReplicaLogDirPartitionResult(partition_index=0, error_code=code)
        topic = AlterReplicaLogDirTopicResult(topic_name="t", partitions=[result])
        return AlterReplicaLogDirsResponse(throttle_time_ms=0, results=[topic])

    with admin_of(tmp_path, {AlterReplicaLogDirsRequest: answer}) as admin:
        if code is ErrorCode.NONE:
            admin.move_replicas(1, "/d2", {"t": [0]})
        else:
            with pytest.raises(KafkaError) as caught:
                admin.move_replicas(1, "/d2", {"t": [0]})
            assert caught.value.code == code
    assert asked[0].dirs[0].path == "/d2"
    assert asked[0].dirs[0].topics[0].partitions == [0]


@pytest.mark.parametrize("assignment", [None, {0: [2, 1], 1: [1, 2]}])
def test_a_topic_is_created_by_count_or_by_assignment(
    tmp_path: Path, assignment: dict[int, list[int]] | None
) -> None:
    asked: list[Any] = []

    def answer(request: CreateTopicsRequest) -> CreateTopicsResponse:
        asked.extend(request.topics)
        result = CreatableTopicResult(
            name="t", topic_id=ZERO_UUID, error_code=0, error_message=None, configs=[]
        )
        return CreateTopicsResponse(throttle_time_ms=0, topics=[result])

    with admin_of(tmp_path, {CreateTopicsRequest: answer}) as admin:
        admin.create_topic(TOPIC, assignment=assignment)
    (topic,) = asked
    assert topic.num_partitions == (2 if assignment is None else -1)
    assert {each.partition_index: each.broker_ids for each in topic.assignments} == (
        assignment or {}
    )
    assert [(each.name, each.value) for each in topic.configs] == [("retention.ms", "5")]


def test_a_refused_deletion_raises_with_the_code(tmp_path: Path) -> None:
    def answer(request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        result = DeletableTopicResult(
            name=request.topic_names[0], topic_id=ZERO_UUID, error_code=code, error_message=None
        )
        return DeleteTopicsResponse(throttle_time_ms=0, responses=[result])

    with (
        admin_of(tmp_path, {DeleteTopicsRequest: answer}) as admin,
        pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"),
    ):
        admin.delete_topic("t")


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.INVALID_REPLICA_ASSIGNMENT])
def test_a_refused_reassignment_raises_the_partitions_error(
    tmp_path: Path, code: ErrorCode
) -> None:
    asked: list[Any] = []

    def answer(request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
        asked.extend(request.topics)
        result = ReassignablePartitionResponse(
            partition_index=1, error_code=code, error_message="why" if code else None
        )
        return AlterPartitionReassignmentsResponse(
            error_message="", responses=[ReassignableTopicResponse(name="t", partitions=[result])]
        )

    with admin_of(tmp_path, {AlterPartitionReassignmentsRequest: answer}) as admin:
        if code is ErrorCode.NONE:
            admin.reassign({("t", 1): [3, 2], ("u", 0): None})
        else:
            with pytest.raises(KafkaError, match="INVALID_REPLICA_ASSIGNMENT: why"):
                admin.reassign({("t", 1): [3, 2], ("u", 0): None})
    wishes = [(t.name, p.partition_index, p.replicas) for t in asked for p in t.partitions]
    assert wishes == [("t", 1, [3, 2]), ("u", 0, None)]


def test_reassignments_become_views(tmp_path: Path) -> None:
    partition = OngoingPartitionReassignment(
        partition_index=2, replicas=[3, 1], adding_replicas=[3], removing_replicas=[1]
    )
    answers: dict[type, Answer] = {
        ListPartitionReassignmentsRequest: lambda _: ListPartitionReassignmentsResponse(
            error_message="", topics=[OngoingTopicReassignment(name="t", partitions=[partition])]
        )
    }
    with admin_of(tmp_path, answers) as admin:
        (view,) = admin.reassignments()
    assert (view.topic, view.partition, view.replicas) == ("t", 2, (3, 1))
    assert (view.adding, view.removing) == ((3,), (1,))


def test_a_broker_that_the_cluster_file_does_not_name_is_one_that_is_away(tmp_path: Path) -> None:
    """A leader may be Apache Kafka's, in a cluster that is not jbodlab's alone."""
    spec = parse_cluster_spec(
        write_lab_spec(tmp_path, LabShape()).read_text(), base_dir=tmp_path, source="f"
    )
    with (
        ClusterAdmin(spec) as admin,
        pytest.raises(BrokerAwayError, match="broker 77 is none of the cluster file's"),
    ):
        admin.ask(MetadataRequest(topics=[]), 12, 77)
