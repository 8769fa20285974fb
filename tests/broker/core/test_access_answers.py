"""Answers leave out what a client may not be told."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from broker.core.access_answers import AMENDS
from broker.core.access_rules import RULES
from broker.core.groups.group_offsets import Committed
from protocol.acls.authorizer import Authorizer, Rule
from protocol.acls.model import AclBinding, AclOperation, AclResourceType
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.cluster import DescribeClusterRequest
from protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from protocol.messages.coordinators import FindCoordinatorRequest
from protocol.messages.group_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from protocol.messages.groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    JoinGroupRequest,
    ListedGroup,
    ListGroupsResponse,
    SyncGroupRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.quotas import DescribeClientQuotasRequest
from protocol.messages.scram import DescribeUserScramCredentialsRequest
from protocol.messages.topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from protocol.messages.topics import (
    CreatableTopicResult,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from protocol.messages.transactions import (
    DescribeTransactionsResponse,
    ListTransactionsResponse,
    ListTransactionsResponseTransactionState,
    TopicData,
    TransactionState,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.broker.fakes import FakeBroker
from tests.broker.secured import ALICE, SECRET_ID, access_of, allow, secured

TOPIC = AclResourceType.TOPIC
FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
DESCRIBES_ORDERS = allow(AclOperation.DESCRIBE, TOPIC, "orders")


def test_only_answers_of_served_apis_are_amended() -> None:
    assert set(AMENDS) <= set(RULES)


@pytest.mark.parametrize("version", [0, 1, 12])
async def test_of_all_topics_those_are_told_that_may_be_described(version: int):
    everything = MetadataRequest(topics=[] if version == 0 else None)
    answer = await secured(DESCRIBES_ORDERS).ask(everything, version, peer=ALICE)
    assert [topic.name for topic in answer.topics] == ["orders"]
    assert len(answer.brokers) == 2


@pytest.mark.parametrize("version", [0, 1, 4, 9, 12])
async def test_a_named_topic_is_refused_whether_it_exists_or_not(version: int):
    names = ("orders", "secret", "nowhere")
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
    broker = secured(DESCRIBES_ORDERS)
    answer = await broker.ask(request, version, peer=ALICE)
    told = {topic.name: (topic.error_code, len(topic.partitions)) for topic in answer.topics}
    assert told == {"orders": (0, 2), "secret": (FAILED, 0), "nowhere": (FAILED, 0)}
    assert broker.auto_topics.names == []
    only = MetadataRequest(topics=[MetadataRequestTopic(name="secret")])
    answer = await broker.ask(only, version, peer=ALICE)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("secret", FAILED)]


class CountedAuthorizer(Authorizer):
    """Keeps what it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def rule(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        name: str,
    ) -> Rule:
        """Decide."""
        self.asked.append(name)
        return super().rule(principal, host, operation, resource_type, name)


async def test_each_named_topic_is_decided_once():
    broker, authorizer = secured(), CountedAuthorizer()
    authorizer.replace([DESCRIBES_ORDERS])
    broker.context.authorizer = authorizer
    names = ("orders", "secret")
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
    await broker.ask(request, 9, peer=ALICE)
    assert authorizer.asked == ["kafka-cluster", "orders", "secret"]


async def test_the_id_of_a_topic_does_not_give_its_name_away():
    request = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=SECRET_ID)])
    answer = await secured().ask(request, 12, peer=ALICE)
    (topic,) = answer.topics
    assert (topic.name, topic.error_code, bytes(topic.topic_id)) == (None, FAILED, SECRET_ID)


@pytest.mark.parametrize("name", ["orders", "secret"])
async def test_a_name_beside_the_id_of_a_topic_counts_for_nothing(name: str) -> None:
    """Whether it may be told: the id decides, and one that no topic has is told so to everybody."""
    for topic_id, told in (
        (SECRET_ID, (None, FAILED)),
        (b"\xff" * 16, (None, ErrorCode.UNKNOWN_TOPIC_ID)),
    ):
        request = MetadataRequest(
            topics=[
                MetadataRequestTopic(name=name, topic_id=topic_id),
                MetadataRequestTopic(name="orders"),
            ]
        )
        (topic,) = (await secured(DESCRIBES_ORDERS).ask(request, 12, peer=ALICE)).topics
        assert (topic.name, topic.error_code) == told
        assert bytes(topic.topic_id) == topic_id


async def test_an_unknown_topic_is_made_only_for_those_who_may_create_it():
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name="new")], allow_auto_topic_creation=True
    )
    describes = allow(AclOperation.DESCRIBE, TOPIC, "new")
    broker = secured(describes)
    answer = await broker.ask(request, 9, peer=ALICE)
    assert ([topic.error_code for topic in answer.topics], broker.auto_topics.names) == (
        [FAILED],
        [],
    )
    broker = secured(describes, allow(AclOperation.CREATE, TOPIC, "new"))
    await broker.ask(request, 9, peer=ALICE)
    assert broker.auto_topics.names == ["new"]


async def test_authorized_operations_are_the_clients():
    request = MetadataRequest(
        topics=None,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    broker = secured(DESCRIBES_ORDERS, allow(AclOperation.DESCRIBE))
    answer = await broker.ask(request, 10, peer=ALICE)
    told = [topic.topic_authorized_operations for topic in answer.topics]
    assert (told, answer.cluster_authorized_operations) == ([1 << 8], 1 << 8)
    cluster = await broker.ask(
        DescribeClusterRequest(include_cluster_authorized_operations=True), 1, peer=ALICE
    )
    assert cluster.cluster_authorized_operations == 1 << 8


async def test_pages_of_topics_have_no_topic_and_no_cursor_that_may_not_be_told():
    everything = DescribeTopicPartitionsRequest(topics=[], response_partition_limit=2)
    answer = await secured(DESCRIBES_ORDERS).ask(everything, 0, peer=ALICE)
    assert ([topic.name for topic in answer.topics], answer.next_cursor) == (["orders"], None)
    nothing = await secured().ask(everything, 0, peer=ALICE)
    assert list(nothing.topics) == []


async def test_a_page_that_is_refused_as_a_whole_tells_no_operations():
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name="orders")], cursor=Cursor(topic_name="orders", partition_index=-1)
    )
    answer = await secured(DESCRIBES_ORDERS).ask(request, 0, peer=ALICE)
    [topic] = answer.topics
    assert topic.error_code == ErrorCode.INVALID_REQUEST
    assert topic.topic_authorized_operations == -(2**31)


async def test_a_topic_that_may_not_be_deleted_is_named_to_who_may_describe_it():
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=None, topic_id=SECRET_ID)], timeout_ms=1_000
    )
    for rights, name in (((), None), ((allow(AclOperation.DESCRIBE, TOPIC, "secret"),), "secret")):
        answer = await secured(*rights).ask(request, 6, peer=ALICE)
        (row,) = answer.responses
        assert (row.name, row.error_code) == (name, FAILED)


def _transactional() -> ProduceRequest:
    options = BatchOptions(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    batch = bytes(build_batch([NewRecord(b"v")], options))
    data = [PartitionProduceData(index=0, records=batch)]
    topics = [TopicProduceData(name="orders", partition_data=data)]
    return ProduceRequest(transactional_id="t", acks=-1, timeout_ms=1, topic_data=topics)


def _whole(answer: Any) -> Any:
    return answer


def _coordinator(answer: Any) -> Any:
    return answer.coordinators[0]


def _partition(answer: Any) -> Any:
    return answer.responses[0].partition_responses[0]


@pytest.mark.parametrize(
    ("request_", "version", "read", "told"),
    [
        (DescribeClientQuotasRequest(), 1, _whole, None),
        (DescribeUserScramCredentialsRequest(users=None), 0, _whole, None),
        (
            ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0),
            0,
            _whole,
            None,
        ),
        (FindCoordinatorRequest(coordinator_keys=["g"]), 4, _coordinator, ""),
        (_transactional(), 9, _partition, None),
    ],
    ids=lambda each: type(each).__name__,
)
async def test_some_refusals_have_no_text_as_in_kafka(
    request_: Any, version: int, read: Callable[[Any], Any], told: str | None
):
    row = read(await secured().ask(request_, version, peer=ALICE))
    assert ErrorCode(row.error_code).name.endswith("AUTHORIZATION_FAILED")
    assert row.error_message == told


async def test_who_may_not_join_is_not_named_and_a_missing_protocol_is_told_first():
    join = JoinGroupRequest(
        group_id="g", session_timeout_ms=1, member_id="m", protocol_type="c", protocols=[]
    )
    answer = await secured().ask(join, 9, peer=ALICE)
    assert (answer.member_id, answer.error_code) == ("", ErrorCode.GROUP_AUTHORIZATION_FAILED)
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[])
    codes = [(await secured().ask(sync, each, peer=ALICE)).error_code for each in (4, 5)]
    assert codes == [
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ]


async def test_offsets_of_a_topic_that_may_not_be_read_are_not_deleted():
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    names = ("secret", "orders")
    topics = [OffsetDeleteRequestTopic(name=name, partitions=partitions) for name in names]
    request = OffsetDeleteRequest(group_id="g", topics=topics)
    group = allow(AclOperation.DELETE, AclResourceType.GROUP, "g")
    broker = secured(group, allow(AclOperation.READ, TOPIC, "orders"))
    committed = {TopicPartition(name, 0): Committed(5, 3, "", 0) for name in names}
    broker.groups.shard.offsets.put("g", committed)
    answer = await broker.ask(request, 0, peer=ALICE)
    assert answer.error_code == ErrorCode.NONE
    told = [(topic.name, topic.partitions[0].error_code) for topic in answer.topics]
    assert told == [("orders", ErrorCode.NONE), ("secret", FAILED)]
    assert list(broker.groups.shard.offsets.committed("g")) == [TopicPartition("secret", 0)]


def with_offsets() -> FakeBroker:
    """Return a broker of whose group alice may fetch the offsets of one topic of two."""
    broker = secured(DESCRIBES_ORDERS, allow(AclOperation.DESCRIBE, AclResourceType.GROUP, "g"))
    committed = {TopicPartition(name, 0): Committed(5, 3, "", 0) for name in ("orders", "secret")}
    broker.groups.shard.offsets.put("g", committed)
    return broker


async def test_of_all_offsets_of_a_group_those_of_hidden_topics_are_not_there():
    old = OffsetFetchRequest(group_id="g", topics=None)
    answer = await with_offsets().ask(old, 7, peer=ALICE)
    assert [topic.name for topic in answer.topics] == ["orders"]
    new = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    answer = await with_offsets().ask(new, 8, peer=ALICE)
    assert [topic.name for topic in answer.groups[0].topics] == ["orders"]


async def test_the_offset_of_a_hidden_topic_that_is_named_is_refused_and_not_told():
    names = ("orders", "secret")
    topics = [OffsetFetchRequestTopic(name=name, partition_indexes=[0]) for name in names]
    request = OffsetFetchRequest(group_id="g", topics=topics)
    answer = await with_offsets().ask(request, 7, peer=ALICE)
    told = {topic.name: topic.partitions[0] for topic in answer.topics}
    assert (told["orders"].committed_offset, told["orders"].error_code) == (5, ErrorCode.NONE)
    assert (told["secret"].committed_offset, told["secret"].error_code) == (-1, FAILED)


async def test_the_log_of_the_authorizer_says_who_was_refused_what(
    caplog: pytest.LogCaptureFixture,
):
    request = MetadataRequest(topics=[MetadataRequestTopic(name="secret")])
    with caplog.at_level(logging.INFO, "kafka.authorizer.logger"):
        await secured().ask(request, 9, peer=ALICE)
    (record,) = [one for one in caplog.records if one.name == "kafka.authorizer.logger"]
    assert "User:alice is Denied operation = DESCRIBE from host = 10.0.0.1" in record.message
    assert "Topic:LITERAL:secret for request = Metadata" in record.message


def amended(api: str, answer: Any, *acls: AclBinding, request: Any = None) -> Any:
    """Return an answer as alice gets it; who looks at what to leave out logs nothing."""
    told: list[str] = []
    AMENDS[api](access_of(secured(*acls), api, told), request, answer)
    assert told == []
    return answer


async def test_the_configurations_of_a_new_topic_are_told_to_who_may_describe_them() -> None:
    def made() -> CreateTopicsResponse:
        names = {"orders": ErrorCode.NONE, "secret": ErrorCode.TOPIC_ALREADY_EXISTS}
        rows = [
            CreatableTopicResult(name=name, error_code=code, num_partitions=3, replication_factor=2)
            for name, code in names.items()
        ]
        return CreateTopicsResponse(topics=rows)

    describes = allow(AclOperation.DESCRIBE_CONFIGS, TOPIC, "orders")
    assert amended("CreateTopics", made(), describes) == made()
    hidden = amended("CreateTopics", made())
    assert [(row.topic_config_error_code, row.num_partitions) for row in hidden.topics] == [
        (FAILED, -1),
        (ErrorCode.NONE, 3),
    ]
    assert (hidden.topics[0].replication_factor, hidden.topics[0].configs) == (-1, ())


async def test_lists_have_what_may_be_described_and_who_describes_the_cluster_sees_all() -> None:
    def groups() -> ListGroupsResponse:
        return ListGroupsResponse(groups=[ListedGroup(group_id=each) for each in "gh"])

    describes = allow(AclOperation.DESCRIBE, AclResourceType.GROUP, "h")
    assert [row.group_id for row in amended("ListGroups", groups(), describes).groups] == ["h"]
    assert amended("ListGroups", groups(), allow(AclOperation.DESCRIBE)) == groups()
    rows = [ListTransactionsResponseTransactionState(transactional_id=each) for each in "tu"]
    listed = ListTransactionsResponse(transaction_states=rows)
    describes = allow(AclOperation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, "u")
    told = amended("ListTransactions", listed, describes).transaction_states
    assert [row.transactional_id for row in told] == ["u"]


async def test_a_described_transaction_names_no_topic_that_may_not_be_described() -> None:
    topics = [TopicData(topic=name, partitions=[0]) for name in ("secret", "orders")]
    answer = DescribeTransactionsResponse(transaction_states=[TransactionState(topics=topics)])
    (told,) = amended("DescribeTransactions", answer, DESCRIBES_ORDERS).transaction_states
    assert [topic.topic for topic in told.topics] == ["orders"]


async def test_operations_on_groups_are_told_where_they_are_asked_for_and_the_group_is() -> None:
    def described() -> DescribeGroupsResponse:
        rows = [
            DescribedGroup(group_id="g", authorized_operations=1 << 8 | 1 << 6),
            DescribedGroup(group_id="g", error_code=ErrorCode.NOT_COORDINATOR),
        ]
        return DescribeGroupsResponse(groups=rows)

    acls = [allow(AclOperation.READ, AclResourceType.GROUP, "g")]  # Which may describe it, too.
    for wanted, bits in ((True, 1 << 8), (False, 1 << 8 | 1 << 6)):
        request = DescribeGroupsRequest(include_authorized_operations=wanted)
        answer = amended("DescribeGroups", described(), *acls, request=request)
        assert [row.authorized_operations for row in answer.groups] == [bits, -(2**31)]


async def test_nothing_of_the_offset_of_a_hidden_topic_is_told() -> None:
    names = ("orders", "secret")
    topics = [OffsetFetchRequestTopics(name=name, partition_indexes=[0]) for name in names]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)])
    (group,) = (await with_offsets().ask(request, 8, peer=ALICE)).groups
    told = {
        topic.name: (row.committed_offset, row.committed_leader_epoch, row.metadata, row.error_code)
        for topic in group.topics
        for row in topic.partitions
    }
    assert told == {"orders": (5, 3, "", ErrorCode.NONE), "secret": (-1, -1, "", FAILED)}
