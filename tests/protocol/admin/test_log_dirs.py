"""What log dirs are asked for and moves ordered, and what the answers tell."""

from __future__ import annotations

from protocol.admin.log_dirs import (
    describe_log_dirs_request,
    log_dir_views,
    move_errors,
    move_request,
    move_requests,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def asked(request: AlterReplicaLogDirsRequest) -> list[tuple[str, dict[str, list[int]]]]:
    return [
        (one.path, {topic.name: list(topic.partitions) for topic in one.topics})
        for one in request.dirs
    ]


def test_all_replicas_or_some_are_asked_for() -> None:
    assert describe_log_dirs_request().topics is None
    some = describe_log_dirs_request({"t": (1, 3)}).topics
    assert [(each.topic, list(each.partitions)) for each in some or ()] == [("t", [1, 3])]


def test_log_dirs_are_told_with_their_replicas_and_their_broker() -> None:
    replica = DescribeLogDirsPartition(
        partition_index=1, partition_size=10, offset_lag=2, is_future_key=True
    )
    answer = DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                error_code=0,
                log_dir="/d1",
                topics=[DescribeLogDirsTopic(name="t", partitions=[replica])],
                total_bytes=100,
                usable_bytes=90,
            ),
            DescribeLogDirsResult(error_code=56, log_dir="/d2", topics=[], is_cordoned=True),
        ]
    )
    good, bad = log_dir_views(answer, broker=7)
    assert (good.broker, good.path, good.is_online, good.is_cordoned) == (7, "/d1", True, False)
    assert (good.total_bytes, good.usable_bytes) == (100, 90)
    (found,) = good.replicas
    assert (found.tp, found.size_bytes, found.offset_lag, found.is_future) == (T1, 10, 2, True)
    assert (bad.is_online, bad.is_cordoned, bad.total_bytes) == (False, True, -1)
    assert bad.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_moves_are_ordered_by_log_dir_and_topic_in_the_order_given() -> None:
    request = move_request({T1: "/b", U0: "/a", T0: "/b"})
    assert asked(request) == [("/b", {"t": [1, 0]}), ("/a", {"u": [0]})]


def test_every_broker_is_asked_once_for_all_its_moves() -> None:
    requests = move_requests([(2, T0, "/a"), (1, T0, "/b"), (2, U0, "/a")])
    assert {broker: asked(request) for broker, request in requests.items()} == {
        2: [("/a", {"t": [0], "u": [0]})],
        1: [("/b", {"t": [0]})],
    }


def test_each_replica_s_order_is_accepted_or_has_an_error() -> None:
    results = [
        AlterReplicaLogDirPartitionResult(partition_index=number, error_code=code)
        for number, code in ((0, 0), (1, 57))
    ]
    answer = AlterReplicaLogDirsResponse(
        results=[AlterReplicaLogDirTopicResult(topic_name="t", partitions=results)]
    )
    assert move_errors(answer) == {T0: ErrorCode.NONE, T1: ErrorCode.LOG_DIR_NOT_FOUND}
