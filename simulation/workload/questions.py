"""Questions to a cluster that change nothing: log dirs, reassignments, configurations, offsets.

Nothing of it is written down in the history. It retries nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from protocol.admin.log_dirs import LogDirView, describe_log_dirs_request, log_dir_views
from protocol.admin.outcomes import Outcome
from protocol.admin.reassignments import (
    ReassignmentView,
    list_reassignments_request,
    reassignment_views,
)
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, TopicPartition
from protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from simulation.workload.admin import ConfigResource
from simulation.workload.clients import ClusterClient

LATEST = -1
EARLIEST = -2


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
    answer = await client.ask(broker, describe_log_dirs_request(), 5)
    return log_dir_views(answer, broker=broker)


async def reassignments(client: ClusterClient) -> list[ReassignmentView]:
    """List what is under way.

    Raises:
        ConnectionError: no broker answers.
        KafkaError: the controller's answer.
    """
    answer = await client.ask_any(list_reassignments_request(), 0)
    Outcome(ErrorCode(answer.error_code), answer.error_message).check()
    return reassignment_views(answer)


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
    Outcome(ErrorCode(result.error_code), result.error_message).check()
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
            Outcome(ErrorCode(each.error_code), str(tp)).check()
            return EpochEnd(each.leader_epoch, each.end_offset)
    return EpochEnd(NO_EPOCH, -1)
