"""DescribeQuorum: the journal, told as the metadata log of a quorum of one voter.

Decisions are its offsets, and the controller epoch is its leader's. Brokers observe it: their end
is the last decision that they said they had heard of. No listener is told, for no client has
business at the controller's port.
Source: KafkaRaftClient.handleDescribeQuorumRequest, KIP-595, KIP-836.
"""

from __future__ import annotations

from typing import Final

from controller.core.events import RequestArrived
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID
from protocol.messages.cluster import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Node,
    ReplicaState,
    TopicData,
)
from protocol.topic_names import CLUSTER_METADATA

_PARTITION: Final = 0
_NOT_HERE: Final = "This server does not host this topic-partition."
_NODES_SINCE: Final = 2


def describe_quorum(step: Step, event: RequestArrived) -> None:
    """Serve DescribeQuorum v0-2; asked for any other partition, all have an error."""
    request: DescribeQuorumRequest = event.request
    asked = [
        (topic.topic_name, each.partition_index)
        for topic in request.topics
        for each in topic.partitions
    ]
    if asked == [(CLUSTER_METADATA, _PARTITION)]:
        topics = [_topic(CLUSTER_METADATA, [_quorum(step)])]
        is_told = event.version >= _NODES_SINCE
        nodes = [Node(node_id=step.settings.controller_id, listeners=[])] if is_told else []
    else:
        topics, nodes = [_unknown(topic) for topic in request.topics], []
    step.answer(event.token, DescribeQuorumResponse(error_message="", topics=topics, nodes=nodes))


def _topic(
    name: str, partitions: list[DescribeQuorumResponsePartitionData]
) -> DescribeQuorumResponseTopicData:
    return DescribeQuorumResponseTopicData(topic_name=name, partitions=partitions)


def _unknown(topic: TopicData) -> DescribeQuorumResponseTopicData:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partitions = [
        DescribeQuorumResponsePartitionData(
            partition_index=each.partition_index, error_code=code, error_message=_NOT_HERE
        )
        for each in topic.partitions
    ]
    return _topic(topic.topic_name, partitions)


def _quorum(step: Step) -> DescribeQuorumResponsePartitionData:
    end = step.state.journal_number
    return DescribeQuorumResponsePartitionData(
        partition_index=_PARTITION,
        error_message="",
        leader_id=step.settings.controller_id,
        leader_epoch=step.state.controller_epoch,
        high_watermark=end,
        current_voters=[_replica(step.settings.controller_id, end)],
        observers=[
            _replica(broker_id, min(report.journal_number, end))
            for broker_id, report in sorted(step.run.reports.items())
            if step.state.is_reachable(broker_id)
        ],
    )


def _replica(replica_id: int, log_end_offset: int) -> ReplicaState:
    return ReplicaState(
        replica_id=replica_id, replica_directory_id=ZERO_UUID, log_end_offset=log_end_offset
    )
