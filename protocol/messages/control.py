"""Messages of LeaderAndIsr (4), StopReplica (5), UpdateMetadata (6), AlterPartition (56)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT8, INT16, INT32, INT64, UUID


@struct
class LeaderAndIsrPartitionState:
    topic_name: str = field(STRING, "0-1", ignorable=True)
    partition_index: int = field(INT32)
    controller_epoch: int = field(INT32)
    leader: int = field(INT32)
    """-1: there is no leader; -2: the topic is being deleted."""
    leader_epoch: int = field(INT32)
    isr: Sequence[int] = field(array(INT32))
    partition_epoch: int = field(INT32)
    """Grows with every change of the state; AlterPartition names it."""
    replicas: Sequence[int] = field(array(INT32))
    adding_replicas: Sequence[int] = field(array(INT32), "3+", ignorable=True)
    removing_replicas: Sequence[int] = field(array(INT32), "3+", ignorable=True)
    is_new: bool = field(BOOL, "1+", ignorable=True)
    """Whether the replica may be created; false for one that should exist (KIP-112)."""
    leader_recovery_state: int = field(INT8, "6+")
    """1 after an unclean election, until the leader has recovered."""


@struct
class LeaderAndIsrTopicState:
    topic_name: str = field(STRING, "2+")
    topic_id: bytes = field(UUID, "5+", ignorable=True)
    partition_states: Sequence[LeaderAndIsrPartitionState] = field(
        array(LeaderAndIsrPartitionState), "2+"
    )


@struct
class LeaderAndIsrLiveLeader:
    broker_id: int = field(INT32)
    host_name: str = field(STRING)
    port: int = field(INT32)


@message(4, "request", versions="0-7", flexible="4+")
class LeaderAndIsrRequest:
    """Source: LeaderAndIsrRequest.json."""

    controller_id: int = field(INT32)
    is_k_raft_controller: bool = field(BOOL, "7+")
    controller_epoch: int = field(INT32)
    broker_epoch: int = field(INT64, "2+", default=-1, ignorable=True)
    """The receiver's, so that one meant for its former life is refused."""
    type: int = field(INT8, "5+")
    """0: unknown; 1: only the partitions that changed; 2: all of this broker."""
    ungrouped_partition_states: Sequence[LeaderAndIsrPartitionState] = field(
        array(LeaderAndIsrPartitionState), "0-1"
    )
    topic_states: Sequence[LeaderAndIsrTopicState] = field(array(LeaderAndIsrTopicState), "2+")
    live_leaders: Sequence[LeaderAndIsrLiveLeader] = field(array(LeaderAndIsrLiveLeader))
    """Where to fetch from: the leaders named above."""


@struct
class LeaderAndIsrPartitionError:
    topic_name: str = field(STRING, "0-4", ignorable=True)
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    """KAFKA_STORAGE_ERROR tells the controller that the log dir is offline."""


@struct
class LeaderAndIsrTopicError:
    topic_id: bytes = field(UUID, "5+")
    partition_errors: Sequence[LeaderAndIsrPartitionError] = field(
        array(LeaderAndIsrPartitionError), "5+"
    )


@message(4, "response", versions="0-7", flexible="4+")
class LeaderAndIsrResponse:
    """Source: LeaderAndIsrResponse.json."""

    error_code: int = field(INT16)
    partition_errors: Sequence[LeaderAndIsrPartitionError] = field(
        array(LeaderAndIsrPartitionError), "0-4"
    )
    topics: Sequence[LeaderAndIsrTopicError] = field(array(LeaderAndIsrTopicError), "5+")


@struct
class StopReplicaPartitionV0:
    topic_name: str = field(STRING, "0")
    partition_index: int = field(INT32, "0")


@struct
class StopReplicaTopicV1:
    name: str = field(STRING, "1-2")
    partition_indexes: Sequence[int] = field(array(INT32), "1-2")


@struct
class StopReplicaPartitionState:
    partition_index: int = field(INT32, "3+")
    leader_epoch: int = field(INT32, "3+", default=-1)
    """-2 when the topic is being deleted, -1 without a check."""
    delete_partition: bool = field(BOOL, "3+")


@struct
class StopReplicaTopicState:
    topic_name: str = field(STRING, "3+")
    partition_states: Sequence[StopReplicaPartitionState] = field(
        array(StopReplicaPartitionState), "3+"
    )


@message(5, "request", versions="0-4", flexible="2+")
class StopReplicaRequest:
    """Source: StopReplicaRequest.json."""

    controller_id: int = field(INT32)
    is_k_raft_controller: bool = field(BOOL, "4+")
    controller_epoch: int = field(INT32)
    broker_epoch: int = field(INT64, "1+", default=-1, ignorable=True)
    delete_partitions: bool = field(BOOL, "0-2")
    """For all partitions; from version 3 on each has its own."""
    ungrouped_partitions: Sequence[StopReplicaPartitionV0] = field(
        array(StopReplicaPartitionV0), "0"
    )
    topics: Sequence[StopReplicaTopicV1] = field(array(StopReplicaTopicV1), "1-2")
    topic_states: Sequence[StopReplicaTopicState] = field(array(StopReplicaTopicState), "3+")


@struct
class StopReplicaPartitionError:
    topic_name: str = field(STRING)
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@message(5, "response", versions="0-4", flexible="2+")
class StopReplicaResponse:
    """Source: StopReplicaResponse.json."""

    error_code: int = field(INT16)
    partition_errors: Sequence[StopReplicaPartitionError] = field(array(StopReplicaPartitionError))


@struct
class UpdateMetadataPartitionState:
    topic_name: str = field(STRING, "0-4", ignorable=True)
    partition_index: int = field(INT32)
    controller_epoch: int = field(INT32)
    leader: int = field(INT32)
    leader_epoch: int = field(INT32)
    isr: Sequence[int] = field(array(INT32))
    zk_version: int = field(INT32)
    """The partition's epoch, by its older name."""
    replicas: Sequence[int] = field(array(INT32))
    offline_replicas: Sequence[int] = field(array(INT32), "4+", ignorable=True)
    """Replicas on dead brokers and in failed log dirs (KIP-112)."""


@struct
class UpdateMetadataTopicState:
    topic_name: str = field(STRING, "5+")
    topic_id: bytes = field(UUID, "7+", ignorable=True)
    partition_states: Sequence[UpdateMetadataPartitionState] = field(
        array(UpdateMetadataPartitionState), "5+"
    )


@struct
class UpdateMetadataEndpoint:
    port: int = field(INT32, "1+")
    host: str = field(STRING, "1+")
    listener: str = field(STRING, "3+", ignorable=True)
    security_protocol: int = field(INT16, "1+")


@struct
class UpdateMetadataBroker:
    id: int = field(INT32)
    v0_host: str = field(STRING, "0", ignorable=True)
    v0_port: int = field(INT32, "0", ignorable=True)
    endpoints: Sequence[UpdateMetadataEndpoint] = field(
        array(UpdateMetadataEndpoint), "1+", ignorable=True
    )
    rack: str | None = field(STRING, "2+", nullable="0+", ignorable=True)


FULL_METADATA: Final = 2
"""Source: AbstractControlRequest.Type."""


@message(6, "request", versions="0-8", flexible="6+")
class UpdateMetadataRequest:
    """Source: UpdateMetadataRequest.json."""

    controller_id: int = field(INT32)
    is_k_raft_controller: bool = field(BOOL, "8+")
    type: int = field(INT8, "8+", tag=0)
    """0: unknown; 1: only what changed; ``FULL_METADATA``: what is not named is gone."""
    controller_epoch: int = field(INT32)
    broker_epoch: int = field(INT64, "5+", default=-1, ignorable=True)
    ungrouped_partition_states: Sequence[UpdateMetadataPartitionState] = field(
        array(UpdateMetadataPartitionState), "0-4"
    )
    topic_states: Sequence[UpdateMetadataTopicState] = field(array(UpdateMetadataTopicState), "5+")
    live_brokers: Sequence[UpdateMetadataBroker] = field(array(UpdateMetadataBroker))


@message(6, "response", versions="0-8", flexible="6+")
class UpdateMetadataResponse:
    """Source: UpdateMetadataResponse.json."""

    error_code: int = field(INT16)


@struct
class BrokerState:
    broker_id: int = field(INT32, "3+")
    broker_epoch: int = field(INT64, "3+", default=-1)


@struct
class PartitionData:
    partition_index: int = field(INT32)
    leader_epoch: int = field(INT32)
    new_isr: Sequence[int] = field(array(INT32), "0-2")
    """Version 3 has broker epochs with it: ``new_isr_with_epochs``."""
    new_isr_with_epochs: Sequence[BrokerState] = field(array(BrokerState), "3+")
    leader_recovery_state: int = field(INT8, "1+")
    """1 after an unclean election, until the leader has recovered."""
    partition_epoch: int = field(INT32)
    """The epoch that the leader bases the change on."""


@struct
class TopicData:
    topic_name: str = field(STRING, "0-1", ignorable=True)
    topic_id: bytes = field(UUID, "2+", ignorable=True)
    partitions: Sequence[PartitionData] = field(array(PartitionData))


@message(56, "request", versions="0-3", flexible="0+")
class AlterPartitionRequest:
    """Source: AlterPartitionRequest.json."""

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64, default=-1)
    topics: Sequence[TopicData] = field(array(TopicData))


@struct
class AlterPartitionResponsePartitionData:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)
    isr: Sequence[int] = field(array(INT32))
    leader_recovery_state: int = field(INT8, "1+", ignorable=True)
    partition_epoch: int = field(INT32)
    """The epoch of the state after the change."""


@struct
class AlterPartitionResponseTopicData:
    topic_name: str = field(STRING, "0-1", ignorable=True)
    topic_id: bytes = field(UUID, "2+", ignorable=True)
    partitions: Sequence[AlterPartitionResponsePartitionData] = field(
        array(AlterPartitionResponsePartitionData)
    )


@message(56, "response", versions="0-3", flexible="0+")
class AlterPartitionResponse:
    """Source: AlterPartitionResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    topics: Sequence[AlterPartitionResponseTopicData] = field(
        array(AlterPartitionResponseTopicData)
    )
