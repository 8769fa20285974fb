"""A broker as far as the controller can tell: answers control requests, keeps leader epochs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from protocol.errors import ErrorCode
from protocol.ids import EPOCH_DURING_DELETE, NO_EPOCH, TopicPartition
from protocol.messages.control import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataResponse,
)


@dataclass
class BrokerModel:
    """Answers control requests as a broker does, as far as the controller can tell."""

    bad: list[TopicPartition] = field(default_factory=list[TopicPartition])
    """Replicas on an offline log dir."""
    epochs: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    files: dict[TopicPartition, None] = field(default_factory=dict[TopicPartition, None])
    """The replicas on its disks; those in ``bad`` cannot be seen."""
    older: dict[TopicPartition, None] = field(default_factory=dict[TopicPartition, None])
    """Of which it has the log of an older topic."""
    code: ErrorCode = ErrorCode.NONE
    """Of whole requests."""

    def answer(self, request: Any) -> Any:
        if isinstance(request, LeaderAndIsrRequest):
            return self._leader_and_isr(request)
        if isinstance(request, StopReplicaRequest):
            return self._stop_replica(request)
        return UpdateMetadataResponse(error_code=self.code)

    def _leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        if self.code:
            return LeaderAndIsrResponse(error_code=self.code)
        return LeaderAndIsrResponse(
            topics=[
                LeaderAndIsrTopicError(
                    topic_id=topic.topic_id,
                    partition_errors=[
                        LeaderAndIsrPartitionError(
                            partition_index=state.partition_index,
                            error_code=self._take(
                                TopicPartition(topic.topic_name, state.partition_index),
                                state.leader_epoch,
                                is_new=state.is_new,
                            ),
                        )
                        for state in topic.partition_states
                    ],
                )
                for topic in request.topic_states
            ]
        )

    def _take(self, name: TopicPartition, epoch: int, *, is_new: bool) -> ErrorCode:
        if self.bad and name not in self.files and not is_new:
            self.bad = [*self.bad, name]
        if name in self.bad:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if is_new:
            self.older.pop(name, None)
        if name in self.older:
            return ErrorCode.INCONSISTENT_TOPIC_ID
        self.files[name] = None
        if epoch <= self.epochs.get(name, -1):
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.epochs[name] = epoch
        return ErrorCode.NONE

    def _stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        if self.code:
            return StopReplicaResponse(error_code=self.code)
        return StopReplicaResponse(
            partition_errors=[
                StopReplicaPartitionError(
                    topic_name=topic.topic_name,
                    partition_index=state.partition_index,
                    error_code=self._stop(
                        TopicPartition(topic.topic_name, state.partition_index), state
                    ),
                )
                for topic in request.topic_states
                for state in topic.partition_states
            ]
        )

    def _stop(self, name: TopicPartition, state: StopReplicaPartitionState) -> ErrorCode:
        if name in self.bad:
            return ErrorCode.KAFKA_STORAGE_ERROR
        is_checked = state.leader_epoch not in (NO_EPOCH, EPOCH_DURING_DELETE)
        if is_checked and state.leader_epoch < self.epochs.get(name, NO_EPOCH):
            return ErrorCode.FENCED_LEADER_EPOCH
        if state.delete_partition:
            self.files.pop(name, None)
            self.epochs.pop(name, None)
        return ErrorCode.NONE
