"""Questions to a cluster that change nothing: log dirs, reassignments, configurations, offsets.

Nothing of it is written down in the history. It retries nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_EPOCH, TopicPartition
from protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.log_dirs import DescribeLogDirsRequest
from protocol.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol.messages.reassignments import ListPartitionReassignmentsRequest
from simulation.workload.admin import ConfigResource
from simulation.workload.clients import ClusterClient

LATEST = -1
EARLIEST = -2


class LogView(NamedTuple):
    """One replica in a log dir."""

    tp: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDirView(NamedTuple):
    """One log dir, as DescribeLogDirs tells it."""

    broker: int
    path: str
    error: ErrorCode
    is_cordoned: bool
    logs: tuple[LogView, ...]


class ReassignmentView(NamedTuple):
    """One reassignment under way."""

    tp: TopicPartition
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class EpochEnd(NamedTuple):
    """Where a leader epoch ends, as OffsetForLeaderEpoch tells it."""

    leader_epoch: int
    end_offset: int
    """-1: the leader knows of no such epoch."""


async def log_dirs(client: ClusterClient, broker: int) -> list[LogDirView]:
    """Describe every log dir of one broker.

    Raises:
        OSError, Malformed: as ``ClusterClient.ask``.
    """
    answer = await client.ask(broker, DescribeLogDirsRequest(topics=None), 5)
    return [_log_dir(broker, each) for each in answer.results]


async def reassignments(client: ClusterClient) -> list[ReassignmentView]:
    """List what is under way.

    Raises:
        ConnectionError: no broker answers.
        KafkaError: the controller's answer.
    """
    answer = await client.ask_any(ListPartitionReassignmentsRequest(topics=None), 0)
    _check(answer.error_code, answer.error_message)
    return [
        ReassignmentView(
            TopicPartition(topic.name, each.partition_index),
            tuple(each.replicas),
            tuple(each.adding_replicas),
            tuple(each.removing_replicas),
        )
        for topic in answer.topics
        for each in topic.partitions
    ]


async def configs(
    client: ClusterClient, resource: ConfigResource, name: str
) -> dict[str, str | None]:
    """Return all configurations of a topic or a broker as they hold.

    Raises:
        OSError, Malformed: no broker answers that can.
        KafkaError: the answer.
    """
    wish = DescribeConfigsResource(
        resource_type=resource, resource_name=name, configuration_keys=None
    )
    request = DescribeConfigsRequest(
        resources=[wish], include_synonyms=False, include_documentation=False
    )
    if resource is ConfigResource.BROKER and name:
        answer = await client.ask(int(name), request, 4)
    else:
        answer = await client.ask_any(request, 4)
    (result,) = answer.results
    _check(result.error_code, result.error_message)
    return {each.name: each.value for each in result.configs}


async def list_offsets(
    client: ClusterClient, broker: int, tps: Sequence[TopicPartition], timestamp: int
) -> dict[TopicPartition, int | ErrorCode]:
    """Ask a leader for the offsets at ``EARLIEST`` or ``LATEST`` or a time; or why it has none.

    Raises:
        OSError, Malformed: as ``ClusterClient.ask``.
    """
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=0,
        topics=[
            ListOffsetsTopic(
                name=tp.topic,
                partitions=[
                    ListOffsetsPartition(partition_index=tp.partition, timestamp=timestamp)
                ],
            )
            for tp in tps
        ],
    )
    answer = await client.ask(broker, request, 6)
    return {
        TopicPartition(topic.name, each.partition_index): (
            ErrorCode(each.error_code) if each.error_code else each.offset
        )
        for topic in answer.topics
        for each in topic.partitions
    }


async def end_of_epoch(
    client: ClusterClient, broker: int, tp: TopicPartition, leader_epoch: int, current: int
) -> EpochEnd:
    """Ask a leader, at its epoch ``current``, where ``leader_epoch`` ends in its log.

    Raises:
        OSError, Malformed: as ``ClusterClient.ask``.
        KafkaError: the answer.
    """
    part = OffsetForLeaderPartition(
        partition=tp.partition, current_leader_epoch=current, leader_epoch=leader_epoch
    )
    request = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic=tp.topic, partitions=[part])]
    )
    answer = await client.ask(broker, request, 4)
    for topic in answer.topics:
        for each in topic.partitions:
            _check(each.error_code, str(tp))
            return EpochEnd(each.leader_epoch, each.end_offset)
    return EpochEnd(NO_EPOCH, -1)


def _log_dir(broker: int, result: Any) -> LogDirView:
    return LogDirView(
        broker,
        result.log_dir,
        ErrorCode(result.error_code),
        result.is_cordoned,
        tuple(
            LogView(
                TopicPartition(topic.name, each.partition_index),
                each.partition_size,
                each.offset_lag,
                each.is_future_key,
            )
            for topic in result.topics
            for each in topic.partitions
        ),
    )


def _check(code: int, message: str | None) -> None:
    if code != ErrorCode.NONE:
        raise KafkaError(ErrorCode(code), message or "")
