"""What each request needs, as Kafka tells it: one of each API, with the rights.

Source: "Operations and Resources on Protocols" in Kafka's documentation of security.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from protocol.acls.model import CLUSTER_NAME
from protocol.acls.model import AclOperation as Op
from protocol.acls.model import AclResourceType as Kind
from protocol.apis import BY_NAME
from protocol.errors import ErrorCode
from protocol.messages.fetch import ReplicaState
from protocol.messages.topics import DeleteTopicsRequest, DeleteTopicState
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.wire.table import struct_arrays_of
from tests.broker.fakes import batch
from tests.broker.secured import SECRET_ID

Right: TypeAlias = tuple[Op, Kind, str]


class Case(NamedTuple):
    """A request that is let through whole with these rights, and not without any of them."""

    api: str
    version: int
    request: Any
    needs: tuple[Right, ...]
    refused_as: ErrorCode | None = None
    """None: as the kind of what is missing."""

    def __str__(self) -> str:
        return f"{self.api} v{self.version}"


TOPIC: Final = "orders"
"""One that is there."""


def request_of(api: str, array: str = "", named: str = "name", **fields: Any) -> Any:
    """Return a request of an API; with ``array`` it has one entry there, named ``TOPIC``."""
    cls = BY_NAME[api].request
    if array:
        entry = dict(struct_arrays_of(cls))[array]
        fields[array] = [entry(**{named: TOPIC})]
    return cls(**fields)


def _cluster(operation: Op) -> Right:
    return operation, Kind.CLUSTER, CLUSTER_NAME


def _of_cluster(api: str, operation: Op, version: int = 0, **fields: Any) -> Case:
    return Case(api, version, request_of(api, **fields), (_cluster(operation),))


def _of_topic(
    api: str, operation: Op, version: int = 1, array: str = "topics", named: str = "name"
) -> Case:
    return Case(api, version, request_of(api, array, named), ((operation, Kind.TOPIC, TOPIC),))


def _of_names(api: str, operation: Op, kind: Kind, array: str, version: int = 0) -> Case:
    fields: dict[str, Any] = {array: ["g"]}
    return Case(api, version, request_of(api, **fields), ((operation, kind, "g"),))


def _of_configs(api: str, operation: Op) -> list[Case]:
    cls = BY_NAME[api].request
    entry: Any = dict(struct_arrays_of(cls))["resources"]
    resources = (
        (2, TOPIC, (operation, Kind.TOPIC, TOPIC)),
        (4, "1", _cluster(operation)),
        (8, "1", _cluster(operation)),
        (32, "g", (operation, Kind.GROUP, "g")),
    )
    return [
        Case(api, 1, cls(resources=[entry(resource_type=kind, resource_name=name)]), (right,))
        for kind, name, right in resources
    ]


def _produced(*, is_transactional: bool) -> Any:
    cls = BY_NAME["Produce"].request
    topic: Any = dict(struct_arrays_of(cls))["topic_data"]
    partition = dict(struct_arrays_of(topic))["partition_data"]
    options = BatchOptions(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    records = bytes(build_batch([NewRecord(b"v")], options)) if is_transactional else batch()
    data = [partition(index=0, records=None), partition(index=1, records=records)]
    return cls(transactional_id="t", topic_data=[topic(name=TOPIC, partition_data=data)])


_READS_GROUP: Final = (Op.READ, Kind.GROUP, "g")
_READS: Final = (Op.READ, Kind.TOPIC, TOPIC)
_WRITES: Final = (Op.WRITE, Kind.TOPIC, TOPIC)
_DESCRIBES: Final = (Op.DESCRIBE, Kind.TOPIC, TOPIC)
_DELETES: Final = (Op.DELETE, Kind.TOPIC, TOPIC)
_FETCH_FAILED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
"""Followers are told so in each partition."""
_TRANSACTS: Final = (Op.WRITE, Kind.TRANSACTIONAL_ID, "t")

CASES: Final = (
    *(
        _of_cluster(api, Op.CLUSTER_ACTION)
        for api in (
            *("LeaderAndIsr", "StopReplica", "UpdateMetadata", "AlterPartition"),
            *("ControlledShutdown", "AllocateProducerIds", "WriteTxnMarkers"),
        )
    ),
    *(
        Case("Fetch", version, request, (_cluster(Op.CLUSTER_ACTION),), _FETCH_FAILED)
        for version, request in (
            (11, request_of("Fetch", "topics", "topic", replica_id=0)),
            (15, request_of("Fetch", replica_state=ReplicaState(replica_id=2))),
        )
    ),
    _of_cluster("AddPartitionsToTxn", Op.CLUSTER_ACTION, 4),
    *(
        _of_cluster(api, Op.DESCRIBE)
        for api in (
            *("DescribeAcls", "DescribeUserScramCredentials", "DescribeLogDirs"),
            *("ListPartitionReassignments", "DescribeQuorum"),
        )
    ),
    *(
        _of_cluster(api, Op.ALTER)
        for api in (
            *("CreateAcls", "DeleteAcls", "AlterUserScramCredentials", "AlterReplicaLogDirs"),
            *("ElectLeaders", "AlterPartitionReassignments", "WriteTxnMarkers"),
        )
    ),
    _of_cluster("DescribeClientQuotas", Op.DESCRIBE_CONFIGS),
    _of_cluster("ListConfigResources", Op.DESCRIBE_CONFIGS),
    _of_cluster("AlterClientQuotas", Op.ALTER_CONFIGS),
    _of_cluster("InitProducerId", Op.IDEMPOTENT_WRITE, transactional_id=None),
    Case("InitProducerId", 4, request_of("InitProducerId", transactional_id="t"), (_TRANSACTS,)),
    Case("Produce", 9, _produced(is_transactional=False), (_WRITES,)),
    Case("Produce", 9, _produced(is_transactional=True), (_TRANSACTS, _WRITES)),
    Case(
        "AddPartitionsToTxn",
        3,
        request_of("AddPartitionsToTxn", "v3_and_below_topics", v3_and_below_transactional_id="t"),
        (_TRANSACTS, _WRITES),
    ),
    _of_topic("ListOffsets", Op.DESCRIBE),
    _of_topic("OffsetForLeaderEpoch", Op.DESCRIBE, named="topic"),
    _of_topic("DescribeTopicPartitions", Op.DESCRIBE),
    _of_topic("DescribeProducers", Op.READ),
    _of_topic("DeleteRecords", Op.DELETE),
    _of_topic("CreatePartitions", Op.ALTER),
    _of_topic("CreateTopics", Op.CREATE),
    _of_topic("DeleteTopics", Op.DELETE, 6),
    Case(
        "DeleteTopics",
        6,
        DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=SECRET_ID)]),
        ((Op.DELETE, Kind.TOPIC, "secret"),),
    ),
    Case("DeleteTopics", 5, request_of("DeleteTopics", topic_names=[TOPIC]), (_DELETES,)),
    *(
        Case(api, 0, request_of(api, group_id="g"), (_READS_GROUP,))
        for api in ("JoinGroup", "Heartbeat", "LeaveGroup", "SyncGroup")
    ),
    Case(
        "OffsetCommit",
        8,
        request_of("OffsetCommit", "topics", group_id="g"),
        (_READS_GROUP, _READS),
    ),
    Case(
        "ConsumerGroupHeartbeat",
        0,
        request_of("ConsumerGroupHeartbeat", group_id="g", subscribed_topic_names=[TOPIC]),
        (_READS_GROUP, _DESCRIBES),
    ),
    Case(
        "AddOffsetsToTxn",
        3,
        request_of("AddOffsetsToTxn", transactional_id="t", group_id="g"),
        (_TRANSACTS, _READS_GROUP),
    ),
    Case(
        "TxnOffsetCommit",
        3,
        request_of("TxnOffsetCommit", "topics", transactional_id="t", group_id="g"),
        (_TRANSACTS, _READS_GROUP, _READS),
    ),
    Case("EndTxn", 3, request_of("EndTxn", transactional_id="t"), (_TRANSACTS,)),
    Case(
        "OffsetFetch",
        7,
        request_of("OffsetFetch", group_id="g", topics=None),
        ((Op.DESCRIBE, Kind.GROUP, "g"),),
    ),
    Case(
        "OffsetFetch",
        8,
        request_of("OffsetFetch", "groups", "group_id"),
        ((Op.DESCRIBE, Kind.GROUP, TOPIC),),
    ),
    *(
        Case(
            "FindCoordinator",
            version,
            request_of("FindCoordinator", key="g", coordinator_keys=["g"], key_type=key_type),
            ((Op.DESCRIBE, kind, "g"),),
        )
        for version in (3, 4)
        for key_type, kind in ((0, Kind.GROUP), (1, Kind.TRANSACTIONAL_ID))
    ),
    _of_names("DescribeGroups", Op.DESCRIBE, Kind.GROUP, "groups"),
    _of_names("DeleteGroups", Op.DELETE, Kind.GROUP, "groups_names"),
    _of_names("ConsumerGroupDescribe", Op.DESCRIBE, Kind.GROUP, "group_ids"),
    _of_names("DescribeTransactions", Op.DESCRIBE, Kind.TRANSACTIONAL_ID, "transactional_ids"),
    *_of_configs("DescribeConfigs", Op.DESCRIBE_CONFIGS),
    *_of_configs("AlterConfigs", Op.ALTER_CONFIGS),
    *_of_configs("IncrementalAlterConfigs", Op.ALTER_CONFIGS),
)
