"""Answers DescribeTopicPartitions: topics in the order of their names, page by page.

A cursor names the first partition of the next page; it need not exist any more. Source: KIP-966,
DescribeTopicPartitionsRequestHandler.java, KRaftMetadataCache.describeTopicResponse (4.0).
"""

from __future__ import annotations

from broker.core.metadata_answer import TOPIC_OPERATIONS
from broker.core.metadata_image import MetadataImage, PartitionImage, TopicImage
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_LEADER
from protocol.messages.topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from protocol.topic_names import INTERNAL_TOPICS, is_topic_name


def describe_topic_partitions(
    image: MetadataImage, request: DescribeTopicPartitionsRequest, *, partitions_max: int
) -> DescribeTopicPartitionsResponse:
    """Return one page; ``partitions_max`` bounds what the request asks for.

    Raises:
        KafkaError: INVALID_REQUEST, the cursor is no partition of what is asked for.
    """
    names = _names(image, request)
    remaining = max(1, min(partitions_max, request.response_partition_limit))
    response = DescribeTopicPartitionsResponse()
    rows: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        start = _start_in(name, request.cursor)
        if remaining == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = image.topic(name)
        if topic is None:
            rows.append(_unknown(name))
            continue
        indexes = [index for index in sorted(topic.partitions) if index >= start]
        page, rest = indexes[:remaining], indexes[remaining:]
        rows.append(_row(image, topic, page))
        remaining -= len(page)
        if rest:
            response.next_cursor = Cursor(topic_name=name, partition_index=rest[0])
            break
    response.topics = rows
    return response


def _names(image: MetadataImage, request: DescribeTopicPartitionsRequest) -> list[str]:
    """Return the topics asked for, from the cursor's on."""
    cursor = request.cursor
    first = "" if cursor is None else cursor.topic_name
    asked = {topic.name for topic in request.topics} or {topic.name for topic in image.topics()}
    names = sorted(name for name in asked if name >= first)
    if cursor is None:
        return names
    if request.topics and cursor.topic_name not in names:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "DescribeTopicPartitionsRequest topic list should contain the cursor topic: "
            f"{cursor.topic_name}",
        )
    if cursor.partition_index < 0:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "DescribeTopicPartitionsRequest cursor partition must be valid: "
            f"{cursor.topic_name}-{cursor.partition_index}",
        )
    return names


def _start_in(name: str, cursor: Cursor | None) -> int:
    return cursor.partition_index if cursor is not None and cursor.topic_name == name else 0


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    is_legal = is_topic_name(name)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal else ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _row(
    image: MetadataImage, topic: TopicImage, indexes: list[int]
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_partition(image, index, topic.partitions[index]) for index in indexes],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(
    image: MetadataImage, index: int, partition: PartitionImage
) -> DescribeTopicPartitionsResponsePartition:
    """Describe one partition; nothing here keeps eligible leader replicas, so they are empty."""
    leader = partition.leader
    is_led = image.live_broker(leader) is not None
    no_leader = (
        ErrorCode.LISTENER_NOT_FOUND if image.is_alive(leader) else ErrorCode.LEADER_NOT_AVAILABLE
    )
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE if is_led else no_leader,
        partition_index=index,
        leader_id=leader if is_led else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=(),
        last_known_elr=(),
        offline_replicas=partition.offline_replicas,
    )
