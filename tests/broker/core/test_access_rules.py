"""What each API needs, by the answers of a broker to a client with few rights or none."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from broker.core.access_rules import RULES, failed, free
from broker.core.transaction_state.begin import BeginAsked
from broker.handlers import FOR_CONTROLLER, HANDLERS
from protocol.acls.model import AclOperation, AclResourceType
from protocol.apis import APIS
from protocol.errors import ErrorCode
from protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
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
from protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
    DescribeLogDirsRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.producer_ids import InitProducerIdRequest
from protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.broker.fakes import batch, topic_state
from tests.broker.secured import ADMIN, ALICE, SECRET_ID, allow, secured

TOPIC, GROUP = AclResourceType.TOPIC, AclResourceType.GROUP
TRANSACTION = AclResourceType.TRANSACTIONAL_ID
TOPIC_FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
GROUP_FAILED = ErrorCode.GROUP_AUTHORIZATION_FAILED
CLUSTER_FAILED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
TRANSACTION_FAILED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def codes(value: Any) -> set[int]:
    """Return all error codes of an answer, wherever they stand."""
    if isinstance(value, list | tuple):
        entries: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return {code for each in entries for code in codes(each)}
    if not is_dataclass(value):
        return set()
    found: set[int] = set()
    for field in fields(value):
        inner = getattr(value, field.name)
        found |= {inner} if field.name.endswith("error_code") else codes(inner)
    return found


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


def test_every_api_that_is_served_says_what_it_needs() -> None:
    assert set(RULES) == {APIS[key].name for key in HANDLERS | FOR_CONTROLLER}
    assert {name for name, rule in RULES.items() if rule is free} == {
        "ApiVersions",
        "CreateDelegationToken",
        "DescribeCluster",
        "DescribeDelegationToken",
        "ExpireDelegationToken",
        "RenewDelegationToken",
        "ListGroups",
        "ListTransactions",
        "SaslAuthenticate",
        "SaslHandshake",
    }


def test_errors_say_no_more_than_kafkas() -> None:
    assert failed(TOPIC).message == "Topic authorization failed."
    assert failed(TRANSACTION).message == "Transactional Id authorization failed."


MOVE = AlterReplicaLogDirsRequest(
    dirs=[
        AlterReplicaLogDir(
            path="/d", topics=[AlterReplicaLogDirTopic(name="orders", partitions=[0, 1])]
        )
    ]
)
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


@pytest.mark.parametrize(("request_", "version", "code"), REFUSED)
async def test_without_acls_nobody_may(request_: Any, version: int, code: ErrorCode):
    broker = secured()
    assert code in codes(await broker.ask(request_, version, peer=ALICE))
    assert broker.controller.forwarded == []


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [(2, "orders", TOPIC_FAILED), (4, "1", CLUSTER_FAILED), (32, "g", GROUP_FAILED)],
)
async def test_configurations_are_refused_by_their_kind(kind: int, name: str, code: ErrorCode):
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[resource])
    assert codes(await secured().ask(request, 4, peer=ALICE)) == {code}


async def test_what_names_no_topic_is_left_to_who_answers_it():
    """The controller says what is wrong with it; a name that is missing cannot be looked up."""
    for peer in (ADMIN, ALICE):
        broker = secured()
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=None)])
        await broker.ask(request, 6, peer=peer)
        assert [each.topics[0].name for each, *_ in broker.controller.forwarded] == [None]


@pytest.mark.scenario(108)
async def test_an_unauthorised_move_is_refused_for_every_partition():
    answer = await secured().ask(MOVE, 2, peer=ALICE)
    rows = [row for topic in answer.results for row in topic.partitions]
    assert [(row.partition_index, row.error_code) for row in rows] == [(0, 31), (1, 31)]
    broker = secured(allow(AclOperation.ALTER))
    assert CLUSTER_FAILED not in codes(await broker.ask(MOVE, 2, peer=ALICE))


@pytest.mark.scenario(116)
@pytest.mark.parametrize("version", range(6))
async def test_log_dirs_are_not_described_to_the_unauthorised_and_they_are_answered(version: int):
    answer = await secured().ask(DescribeLogDirsRequest(topics=None), version, peer=ALICE)
    assert list(answer.results) == []
    assert answer.error_code == (31 if version >= 3 else 0)


async def test_super_users_may_everything():
    answer = await secured().ask(DescribeLogDirsRequest(topics=None), 4, peer=ADMIN)
    assert answer.error_code == ErrorCode.NONE


async def test_a_produce_writes_what_it_may_and_no_more():
    broker = secured(allow(AclOperation.WRITE, TOPIC, "orders"))
    answer = await broker.ask(produce("secret", "orders", "nowhere"), 9, peer=ALICE)
    told = {
        topic.name: partition.error_code
        for topic in answer.responses
        for partition in topic.partition_responses
    }
    assert told == {"orders": 0, "secret": TOPIC_FAILED, "nowhere": TOPIC_FAILED}
    ((parts, _, _),) = broker.engine.produced
    assert [part.tp.topic for part in parts] == ["orders"]


async def test_whoever_may_write_some_topic_gets_a_producer_id():
    broker = secured(allow(AclOperation.WRITE, TOPIC, "anything"))
    answer = await broker.ask(InitProducerIdRequest(transactional_id=None), 4, peer=ALICE)
    assert answer.error_code == ErrorCode.NONE


async def test_a_commit_of_topics_that_may_not_be_read_is_refused_topic_by_topic():
    broker = secured(
        allow(AclOperation.READ, GROUP, "g"), allow(AclOperation.READ, TOPIC, "orders")
    )
    answer = await broker.ask(commit("orders", "secret"), 8, peer=ALICE)
    told = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert told["secret"] == TOPIC_FAILED
    assert told["orders"] != TOPIC_FAILED


@pytest.mark.parametrize("count", [1, 5000])
async def test_one_forbidden_topic_keeps_all_out_of_a_transaction(count: int):
    broker = secured(
        allow(AclOperation.WRITE, TRANSACTION, "t"), allow(AclOperation.WRITE, TOPIC, "orders")
    )
    await broker.transactions.begin(BeginAsked("t", 60_000))
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="t",
        v3_and_below_producer_id=70,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name="orders", partitions=[0] * count),
            AddPartitionsToTxnTopic(name="orders", partitions=[99]),
            AddPartitionsToTxnTopic(name="secret", partitions=[0]),
        ],
    )
    answer = await broker.ask(request, 3, peer=ALICE)
    told = {
        (topic.name, row.partition_index, row.partition_error_code)
        for topic in answer.results_by_topic_v3_and_below
        for row in topic.results_by_partition
    }
    assert told == {
        ("secret", 0, TOPIC_FAILED),
        ("orders", 99, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 0, ErrorCode.OPERATION_NOT_ATTEMPTED),
    }
    known = broker.transactions.shards.shard.get("t")
    assert known is not None
    assert known.partitions == ()


async def test_a_forbidden_topic_keeps_those_out_of_a_transaction_that_are_allowed_and_there():
    broker = secured(
        allow(AclOperation.WRITE, TRANSACTION, "t"), allow(AclOperation.WRITE, TOPIC, "orders")
    )
    begun = await broker.transactions.begin(BeginAsked("t", 60_000))
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="t",
        v3_and_below_producer_id=begun.producer_id,
        v3_and_below_producer_epoch=begun.producer_epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=name, partitions=[0]) for name in ("orders", "secret")
        ],
    )
    answer = await broker.ask(request, 3, peer=ALICE)
    told = {
        topic.name: topic.results_by_partition[0].partition_error_code
        for topic in answer.results_by_topic_v3_and_below
    }
    assert told == {"orders": ErrorCode.OPERATION_NOT_ATTEMPTED, "secret": TOPIC_FAILED}
    known = broker.transactions.shards.shard.get("t")
    assert known is not None
    assert known.partitions == ()


async def test_topics_may_be_created_by_name():
    broker = secured(allow(AclOperation.CREATE, TOPIC, "new"))
    broker.controller.answer = CreateTopicsResponse(topics=[])
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name="new"), CreatableTopic(name="other")], timeout_ms=1
    )
    answer = await broker.ask(request, 7, peer=ALICE)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("other", TOPIC_FAILED)]
    ((forwarded, _, _),) = broker.controller.forwarded
    assert [topic.name for topic in forwarded.topics] == ["new"]


async def test_who_may_describe_a_topic_is_told_that_it_is_not_there_to_be_deleted() -> None:
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name="gone")], timeout_ms=1_000)
    untold = await secured().ask(gone, 6, peer=ALICE)
    assert codes(untold) == {TOPIC_FAILED}
    broker = secured(allow(AclOperation.DESCRIBE, TOPIC, "gone"))
    await broker.ask(gone, 6, peer=ALICE)
    assert len(broker.controller.forwarded) == 1
    there = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=1_000)
    broker = secured(allow(AclOperation.DESCRIBE, TOPIC, "orders"))
    assert codes(await broker.ask(there, 6, peer=ALICE)) == {TOPIC_FAILED}
    assert broker.controller.forwarded == []


async def test_who_may_do_everything_with_the_cluster_deletes_topics_as_in_kraft_mode() -> None:
    there = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=1_000)
    broker = secured(allow(AclOperation.ALL))
    await broker.ask(there, 6, peer=ALICE)
    assert len(broker.controller.forwarded) == 1


async def test_a_topic_by_its_id_in_a_version_of_metadata_that_takes_names_is_told_so_to_all() -> (
    None
):
    by_id = MetadataRequest(topics=[MetadataRequestTopic(topic_id=SECRET_ID, name=None)])
    assert codes(await secured().ask(by_id, 10, peer=ALICE)) == {
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    }


async def test_only_a_topic_that_is_not_there_needs_more_than_to_be_described() -> None:
    names = ("orders", "new")
    broker = secured(*(allow(AclOperation.DESCRIBE, TOPIC, name) for name in names))
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=True
    )
    creating = await broker.ask(request, 9, peer=ALICE)
    asking = await broker.ask(replace(request, allow_auto_topic_creation=False), 9, peer=ALICE)
    told = [{row.name: row.error_code for row in each.topics} for each in (creating, asking)]
    assert told == [
        {"orders": ErrorCode.NONE, "new": TOPIC_FAILED},
        {"orders": ErrorCode.NONE, "new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
    ]
