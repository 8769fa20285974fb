"""Questions of producers, consumers and members of groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from protocol.messages import (
    consumer_groups,
    coordinators,
    fetch,
    group_offsets,
    groups,
    offsets,
    produce,
    producer_ids,
    transactions,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.api_decisions.names import GROUP, MISSING, OTHER_GROUP, TOPICS, TRANSACTION, Question


def of_records() -> list[Question]:
    """Ask about records."""
    records = bytes(build_batch([NewRecord(b"v", timestamp_ms=1_000)]))
    fetched = [
        fetch.FetchTopic(topic=name, partitions=[fetch.FetchPartition(partition_max_bytes=1_000)])
        for name in TOPICS
    ]
    listed = [
        offsets.ListOffsetsTopic(name=name, partitions=[offsets.ListOffsetsPartition(timestamp=-1)])
        for name in TOPICS
    ]
    ended = [
        offsets.OffsetForLeaderTopic(topic=name, partitions=[offsets.OffsetForLeaderPartition()])
        for name in TOPICS
    ]
    in_transaction = BatchOptions(
        producer_id=999, producer_epoch=9, base_sequence=0, is_transactional=True
    )
    transactional = bytes(build_batch([NewRecord(b"v", timestamp_ms=1_000)], in_transaction))

    def produced(transaction: str | None, content: bytes) -> produce.ProduceRequest:
        data = [
            produce.TopicProduceData(
                name=name, partition_data=[produce.PartitionProduceData(index=0, records=content)]
            )
            for name in TOPICS
        ]
        return produce.ProduceRequest(
            transactional_id=transaction, acks=-1, timeout_ms=5_000, topic_data=data
        )

    states = [producer_ids.TopicRequest(name=name, partition_indexes=[0]) for name in TOPICS]
    return [
        Question("Produce", produced(None, records), 9),
        Question("Produce in a transaction", produced(TRANSACTION, transactional), 9),
        Question("Produce in a transaction without an id", produced(None, transactional), 9),
        Question("Produce beside a transaction", produced(TRANSACTION, records), 9),
        Question("Fetch", fetch.FetchRequest(max_bytes=1_000, topics=fetched), 12),
        Question(
            "Fetch of a follower",
            fetch.FetchRequest(replica_id=7, max_bytes=1_000, topics=fetched),
            12,
        ),
        Question("ListOffsets", offsets.ListOffsetsRequest(replica_id=-1, topics=listed), 7),
        Question(
            "OffsetForLeaderEpoch",
            offsets.OffsetForLeaderEpochRequest(replica_id=-1, topics=ended),
            4,
        ),
        Question("DescribeProducers", producer_ids.DescribeProducersRequest(topics=states), 0),
    ]


def commits_of(names: Iterable[str]) -> list[group_offsets.OffsetCommitRequestTopic]:
    """Return a commit of one record of each of these topics."""
    return [
        group_offsets.OffsetCommitRequestTopic(
            name=name,
            partitions=[
                group_offsets.OffsetCommitRequestPartition(
                    committed_offset=1, committed_metadata=""
                )
            ],
        )
        for name in names
    ]


def of_offsets() -> list[Question]:
    """Ask about committed offsets."""
    commits = commits_of(TOPICS)
    names = [
        group_offsets.OffsetFetchRequestTopics(name=name, partition_indexes=[0]) for name in TOPICS
    ]
    of_group = group_offsets.OffsetFetchRequestGroup
    old_names = [
        group_offsets.OffsetFetchRequestTopic(name=name, partition_indexes=[0]) for name in TOPICS
    ]
    deleted = [
        group_offsets.OffsetDeleteRequestTopic(
            name=name, partitions=[group_offsets.OffsetDeleteRequestPartition()]
        )
        for name in TOPICS
    ]
    fetch_of = group_offsets.OffsetFetchRequest
    both = [
        of_group(group_id=GROUP, topics=names),
        of_group(group_id=OTHER_GROUP, topics=names),
    ]
    return [
        Question(
            "OffsetCommit", group_offsets.OffsetCommitRequest(group_id=GROUP, topics=commits), 8
        ),
        Question("OffsetFetch", fetch_of(groups=both), 8),
        Question("OffsetFetch of all", fetch_of(groups=[of_group(group_id=GROUP, topics=None)]), 8),
        Question("OffsetFetch of old", fetch_of(group_id=GROUP, topics=old_names), 7),
        Question(
            "OffsetDelete",
            group_offsets.OffsetDeleteRequest(group_id=OTHER_GROUP, topics=deleted),
            0,
        ),
    ]


def of_members() -> list[Question]:
    """Ask as a member of a group."""
    protocols = [groups.JoinGroupRequestProtocol(name="range", metadata=b"")]
    member: dict[str, Any] = {"group_id": GROUP, "member_id": "nobody"}
    heartbeat = consumer_groups.ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="nobody",
        member_epoch=5,
        subscribed_topic_names=list(TOPICS),
        topic_partitions=[],
    )
    return [
        Question(
            "JoinGroup",
            groups.JoinGroupRequest(
                group_id=GROUP,
                session_timeout_ms=10_000,
                rebalance_timeout_ms=10_000,
                member_id="nobody",
                protocol_type="consumer",
                protocols=protocols,
            ),
            7,
        ),
        Question("Heartbeat", groups.HeartbeatRequest(**member), 4),
        Question(
            "SyncGroup",
            groups.SyncGroupRequest(**member, protocol_type="consumer", protocol_name="range"),
            5,
        ),
        Question(
            "LeaveGroup",
            groups.LeaveGroupRequest(
                group_id=GROUP, members=[groups.MemberIdentity(member_id="nobody")]
            ),
            5,
        ),
        Question("ConsumerGroupHeartbeat", heartbeat, 0),
    ]


def of_groups() -> list[Question]:
    """Ask about groups."""
    return [
        Question(
            "DescribeGroups",
            groups.DescribeGroupsRequest(
                groups=[GROUP, OTHER_GROUP], include_authorized_operations=True
            ),
            5,
        ),
        Question("ListGroups", groups.ListGroupsRequest(), 4),
        Question(
            "DeleteGroups", groups.DeleteGroupsRequest(groups_names=["no group", GROUP[:4]]), 2
        ),
        Question(
            "ConsumerGroupDescribe",
            consumer_groups.ConsumerGroupDescribeRequest(
                group_ids=[GROUP, OTHER_GROUP], include_authorized_operations=True
            ),
            0,
        ),
        Question(
            "FindCoordinator of groups",
            coordinators.FindCoordinatorRequest(coordinator_keys=[GROUP, OTHER_GROUP]),
            4,
        ),
        Question("FindCoordinator of old", coordinators.FindCoordinatorRequest(key=GROUP), 3),
    ]


def of_transactions() -> list[Question]:
    """Ask as a producer of a transaction."""
    added = [transactions.AddPartitionsToTxnTopic(name=name, partitions=[0]) for name in TOPICS]
    commits = [
        transactions.TxnOffsetCommitRequestTopic(
            name=name,
            partitions=[
                transactions.TxnOffsetCommitRequestPartition(
                    committed_offset=1, committed_metadata=""
                )
            ],
        )
        for name in TOPICS
    ]
    of_old: dict[str, Any] = {
        "transactional_id": TRANSACTION,
        "producer_id": 999,
        "producer_epoch": 9,
    }
    verify = transactions.AddPartitionsToTxnTransaction(**of_old, verify_only=True, topics=added)
    return [
        Question(
            "AddPartitionsToTxn",
            transactions.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=TRANSACTION,
                v3_and_below_producer_id=999,
                v3_and_below_producer_epoch=9,
                v3_and_below_topics=added,
            ),
            3,
        ),
        Question(
            "AddPartitionsToTxn of a broker",
            transactions.AddPartitionsToTxnRequest(transactions=[verify]),
            4,
        ),
        Question(
            "AddOffsetsToTxn",
            transactions.AddOffsetsToTxnRequest(**of_old, group_id=GROUP),
            3,
        ),
        Question("EndTxn", transactions.EndTxnRequest(**of_old, committed=True), 3),
        Question(
            "TxnOffsetCommit",
            transactions.TxnOffsetCommitRequest(**of_old, group_id=GROUP, topics=commits),
            3,
        ),
    ]


def of_transactional_ids() -> list[Question]:
    """Ask about transactions and producers."""
    markers = [
        transactions.WritableTxnMarker(
            producer_id=999,
            topics=[transactions.WritableTxnMarkerTopic(name=MISSING, partition_indexes=[0])],
        )
    ]
    init = producer_ids.InitProducerIdRequest
    return [
        Question(
            "FindCoordinator of transactions",
            coordinators.FindCoordinatorRequest(key_type=1, coordinator_keys=[TRANSACTION, "no"]),
            4,
        ),
        Question("InitProducerId", init(transactional_id=None), 4),
        Question(
            "InitProducerId of a transaction",
            init(transactional_id=TRANSACTION, transaction_timeout_ms=-1),
            4,
        ),
        Question("WriteTxnMarkers", transactions.WriteTxnMarkersRequest(markers=markers), 1),
        Question(
            "DescribeTransactions",
            transactions.DescribeTransactionsRequest(transactional_ids=[TRANSACTION, "no"]),
            0,
        ),
        Question("ListTransactions", transactions.ListTransactionsRequest(), 0),
    ]
