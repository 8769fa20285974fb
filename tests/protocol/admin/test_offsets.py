"""Offsets as leaders are asked for them, and what they answer."""

from __future__ import annotations

from protocol.admin.offsets import (
    EpochEnd,
    WantedEpoch,
    delete_records_request,
    epoch_ends,
    epoch_ends_request,
    found_offsets,
    list_offsets_request,
)
from protocol.admin.partitions import errors_by_partition
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, TopicPartition
from protocol.messages.offsets import (
    EARLIEST,
    LATEST,
    EpochEndOffset,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from protocol.messages.topics import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def test_offsets_are_asked_for_as_a_consumer_does_topic_by_topic() -> None:
    request = list_offsets_request({T1: LATEST, U0: 5, T0: EARLIEST})
    assert [
        (topic.name, [(each.partition_index, each.timestamp) for each in topic.partitions])
        for topic in request.topics
    ] == [("t", [(1, -1), (0, -2)]), ("u", [(0, 5)])]
    assert (request.replica_id, request.isolation_level) == (-1, 0)


def test_a_partition_has_an_offset_or_an_error() -> None:
    parts = [
        ListOffsetsPartitionResponse(partition_index=0, error_code=0, offset=7),
        ListOffsetsPartitionResponse(partition_index=1, error_code=6),
    ]
    answer = ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=parts)])
    assert found_offsets(answer) == {T0: 7, T1: ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_ends_of_epochs_are_asked_for_under_a_leader_s_epoch_or_any() -> None:
    request = epoch_ends_request({T1: WantedEpoch(3, 4), U0: WantedEpoch(0), T0: WantedEpoch(1)})
    assert [
        (
            topic.topic,
            [(each.partition, each.leader_epoch, each.current_leader_epoch) for each in parts],
        )
        for topic in request.topics
        for parts in [topic.partitions]
    ] == [("t", [(1, 3, 4), (0, 1, NO_EPOCH)]), ("u", [(0, 0, NO_EPOCH)])]
    assert request.replica_id == -1


def test_an_epoch_ends_somewhere_or_its_leader_does_not_tell() -> None:
    parts = [
        EpochEndOffset(error_code=0, partition=0, leader_epoch=2, end_offset=9),
        EpochEndOffset(error_code=75, partition=1),
    ]
    answer = OffsetForLeaderEpochResponse(
        topics=[OffsetForLeaderTopicResult(topic="t", partitions=parts)]
    )
    assert epoch_ends(answer) == {T0: EpochEnd(2, 9), T1: ErrorCode.UNKNOWN_LEADER_EPOCH}


def test_records_are_deleted_topic_by_topic_and_each_partition_is_answered() -> None:
    request = delete_records_request({T1: 5, U0: -1, T0: 6}, timeout_ms=7)
    assert [
        (topic.name, [(each.partition_index, each.offset) for each in topic.partitions])
        for topic in request.topics
    ] == [("t", [(1, 5), (0, 6)]), ("u", [(0, -1)])]
    assert request.timeout_ms == 7

    results = [
        DeleteRecordsPartitionResult(partition_index=number, low_watermark=-1, error_code=code)
        for number, code in ((0, 0), (1, 1))
    ]
    answer = DeleteRecordsResponse(topics=[DeleteRecordsTopicResult(name="t", partitions=results)])
    assert errors_by_partition(answer.topics) == {
        T0: ErrorCode.NONE,
        T1: ErrorCode.OFFSET_OUT_OF_RANGE,
    }
