"""AlterPartition: a leader changes the Isr. Errors are checked in Kafka's order. It elects nobody.

Source: KafkaController.processAlterPartition. Differs from Kafka's ZooKeeper mode: a replica on an
offline log dir, and one of another incarnation of its broker, is no eligible Isr member.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from controller.core.events import RequestArrived
from controller.core.partition_moves import write_leaderships
from controller.core.state import Partition
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, TopicPartition
from protocol.messages.control import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
    PartitionData,
    TopicData,
)


class _Member(NamedTuple):
    broker_id: int
    broker_epoch: int


def alter_partition(step: Step, event: RequestArrived) -> None:
    """Serve AlterPartition v0-3: one code per partition; UpdateMetadata to all for what changed."""
    request: AlterPartitionRequest = event.request
    broker = step.state.brokers.get(request.broker_id)
    is_known = broker is not None and not broker.is_fenced
    if not is_known or broker is None or broker.broker_epoch != request.broker_epoch:
        step.answer(event.token, AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
        return
    changed: dict[TopicPartition, Partition] = {}
    topics = [_topic(step, topic, event.version, changed) for topic in request.topics]
    if changed:
        write_leaderships(step, changed)
        step.send_metadata(step.state.reachable_brokers(), changed)
    _fill_in(step, topics)
    step.answer(event.token, AlterPartitionResponse(topics=topics))


def _topic(
    step: Step,
    topic: TopicData,
    version: int,
    changed: dict[TopicPartition, Partition],
) -> AlterPartitionResponseTopicData:
    name = topic.topic_name
    if version >= 2:
        name = step.state.topic_names.get(bytes(topic.topic_id), "")
    partitions: list[AlterPartitionResponsePartitionData] = []
    for data in topic.partitions:
        code = ErrorCode.UNKNOWN_TOPIC_ID if version >= 2 and not name else ErrorCode.NONE
        if code is ErrorCode.NONE:
            code = _decide(step, TopicPartition(name, data.partition_index), data, version, changed)
        partitions.append(
            AlterPartitionResponsePartitionData(
                partition_index=data.partition_index, error_code=code
            )
        )
    return AlterPartitionResponseTopicData(
        topic_name=name, topic_id=topic.topic_id, partitions=partitions
    )


def _decide(
    step: Step,
    tp: TopicPartition,
    data: PartitionData,
    version: int,
    changed: dict[TopicPartition, Partition],
) -> ErrorCode:
    partition = step.state.find(tp)
    if partition is None or not partition.has_leadership:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    members = _members(data, version)
    isr = tuple(member.broker_id for member in members)
    code = _epoch_error(partition, data)
    if code is not ErrorCode.NONE:
        return code
    if isr == partition.isr and bool(data.leader_recovery_state) == partition.is_recovering:
        return ErrorCode.NONE
    if data.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    code = _content_error(step, tp, data, members, version)
    if code is ErrorCode.NONE:
        changed[tp] = replace(partition, isr=isr, is_recovering=bool(data.leader_recovery_state))
        step.note(f"{tp} isr {list(partition.isr)} -> {list(isr)}, asked by its leader")
    return code


def _members(data: PartitionData, version: int) -> list[_Member]:
    if version < 3:
        return [_Member(broker_id, NO_EPOCH) for broker_id in data.new_isr]
    return [_Member(m.broker_id, m.broker_epoch) for m in data.new_isr_with_epochs]


def _epoch_error(partition: Partition, data: PartitionData) -> ErrorCode:
    if data.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if data.leader_epoch > partition.leader_epoch:
        return ErrorCode.NOT_CONTROLLER
    if data.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.NONE


def _content_error(
    step: Step,
    tp: TopicPartition,
    data: PartitionData,
    members: list[_Member],
    version: int,
) -> ErrorCode:
    partition = step.state.partition(tp)
    is_recovering = bool(data.leader_recovery_state)
    if is_recovering and (len(members) > 1 or not partition.is_recovering):
        return ErrorCode.INVALID_REQUEST
    if partition.leader not in [member.broker_id for member in members]:
        return ErrorCode.INVALID_REQUEST
    if not all(_is_eligible(step, tp, partition, member) for member in members):
        is_new = version >= 2
        return ErrorCode.INELIGIBLE_REPLICA if is_new else ErrorCode.OPERATION_NOT_ATTEMPTED
    return ErrorCode.NONE


def _is_eligible(step: Step, tp: TopicPartition, partition: Partition, member: _Member) -> bool:
    if member.broker_id not in partition.replicas:
        return False
    if member.broker_id == partition.leader:
        # Also while its broker is shutting down: how else could a follower come to take over?
        return step.state.is_replica_reachable(tp, member.broker_id)
    if not step.state.is_replica_online(tp, member.broker_id):
        return False
    known = step.state.brokers[member.broker_id].broker_epoch
    return member.broker_epoch in (NO_EPOCH, known)


def _fill_in(step: Step, topics: list[AlterPartitionResponseTopicData]) -> None:
    """Put the current state into the entries without error."""
    for topic in topics:
        for entry in topic.partitions:
            if entry.error_code != ErrorCode.NONE:
                continue
            partition = step.state.partition(
                TopicPartition(topic.topic_name, entry.partition_index)
            )
            entry.leader_id = partition.leader
            entry.leader_epoch = partition.leader_epoch
            entry.isr = list(partition.isr)
            entry.leader_recovery_state = int(partition.is_recovering)
            entry.partition_epoch = partition.partition_epoch
