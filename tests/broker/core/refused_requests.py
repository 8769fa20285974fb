"""Requests that are refused without ACLs, with the code that their answer has."""

from __future__ import annotations

from protocol.acls.model import AclResourceType
from protocol.errors import ErrorCode
from protocol.messages.control import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from protocol.messages.coordinators import FindCoordinatorRequest
from protocol.messages.elections import ElectLeadersRequest
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.producer_ids import InitProducerIdRequest
from protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.broker.fakes import batch, topic_state
from tests.broker.secured import SECRET_ID

TOPIC, GROUP = AclResourceType.TOPIC, AclResourceType.GROUP
TRANSACTION = AclResourceType.TRANSACTIONAL_ID
TOPIC_FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
GROUP_FAILED = ErrorCode.GROUP_AUTHORIZATION_FAILED
CLUSTER_FAILED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
TRANSACTION_FAILED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def produce(*names: str, transactional_id: str | None = None) -> ProduceRequest:
    """Produce a record to partition 0 of each topic, with an id as part of a transaction."""
    options = BatchOptions(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    records = bytes(build_batch([NewRecord(b"v")], options)) if transactional_id else batch()
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=1_000,
        topic_data=[
            TopicProduceData(
                name=name, partition_data=[PartitionProduceData(index=0, records=records)]
            )
            for name in names
        ],
    )


def commit(*names: str) -> OffsetCommitRequest:
    """Commit an offset of each topic."""
    partition = OffsetCommitRequestPartition(
        partition_index=0, committed_offset=1, committed_metadata=""
    )
    topics = [OffsetCommitRequestTopic(name=name, partitions=[partition]) for name in names]
    return OffsetCommitRequest(group_id="g", topics=topics)


MARKER = WritableTxnMarker(
    producer_id=1,
    producer_epoch=0,
    transaction_result=True,
    topics=[WritableTxnMarkerTopic(name="orders", partition_indexes=[0])],
    coordinator_epoch=0,
)
REFUSED = [
    (produce("orders"), 9, TOPIC_FAILED),
    (produce("orders", transactional_id="t"), 9, TRANSACTION_FAILED),
    (LeaderAndIsrRequest(topic_states=[]), 7, CLUSTER_FAILED),
    (StopReplicaRequest(topic_states=[]), 4, CLUSTER_FAILED),
    (UpdateMetadataRequest(topic_states=[topic_state()], live_brokers=[]), 8, CLUSTER_FAILED),
    (WriteTxnMarkersRequest(markers=[MARKER]), 1, CLUSTER_FAILED),
    (AddPartitionsToTxnRequest(transactions=[]), 4, CLUSTER_FAILED),
    (commit("orders"), 8, GROUP_FAILED),
    (OffsetFetchRequest(group_id="g", topics=None), 7, GROUP_FAILED),
    (OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)]), 8, 30),
    (OffsetDeleteRequest(group_id="g", topics=[]), 0, GROUP_FAILED),
    (FindCoordinatorRequest(key="g", key_type=0), 3, GROUP_FAILED),
    (FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 4, TRANSACTION_FAILED),
    (JoinGroupRequest(group_id="g", member_id="", protocol_type="c", protocols=[]), 7, 30),
    (HeartbeatRequest(group_id="g", member_id="m"), 4, GROUP_FAILED),
    (LeaveGroupRequest(group_id="g", members=[]), 4, GROUP_FAILED),
    (SyncGroupRequest(group_id="g", member_id="m", assignments=[]), 4, GROUP_FAILED),
    (DescribeGroupsRequest(groups=["g"]), 5, GROUP_FAILED),
    (DeleteGroupsRequest(groups_names=["g"]), 2, GROUP_FAILED),
    (InitProducerIdRequest(transactional_id=None), 4, CLUSTER_FAILED),
    (InitProducerIdRequest(transactional_id="t"), 4, TRANSACTION_FAILED),
    (EndTxnRequest(transactional_id="t", producer_id=1), 3, TRANSACTION_FAILED),
    (ElectLeadersRequest(topic_partitions=None), 2, CLUSTER_FAILED),
    (DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=SECRET_ID)]), 6, 29),
    (CreateTopicsRequest(topics=[CreatableTopic(name="new")]), 7, TOPIC_FAILED),
]
