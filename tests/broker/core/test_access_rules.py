"""What each API needs, by the answers of a broker to a client with few rights or none."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from broker.core.access_rules import FAILED, RULES, Ruling, failed, free
from broker.core.transaction_state.begin import BeginAsked
from broker.handlers import FOR_CONTROLLER, HANDLERS
from protocol.acls.model import AclOperation
from protocol.apis import APIS
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.group_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
)
from protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
    DescribeLogDirsRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.producer_ids import InitProducerIdRequest
from protocol.messages.topic_partitions import TopicRequest
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
)
from tests.broker.core.needed_rights import CASES, Case, Right, request_of
from tests.broker.core.refused_requests import (
    CLUSTER_FAILED,
    GROUP,
    GROUP_FAILED,
    REFUSED,
    TOPIC,
    TOPIC_FAILED,
    TRANSACTION,
    commit,
    produce,
)
from tests.broker.secured import ADMIN, ALICE, SECRET_ID, access_of, allow, secured


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


def ruled(
    api: str, version: int, request: Any, *rights: Right, creates_topics: bool = False
) -> tuple[Ruling, list[str]]:
    """Return what becomes of a request of alice, and what the authorizer's log is told."""
    told: list[str] = []
    broker = secured(*(allow(*right) for right in rights))
    access = access_of(broker, api, told, creates_topics=creates_topics)
    return RULES[api](access, request, version), told


async def refusals(case: Case, *rights: Right) -> list[ErrorCode]:
    """Return the codes of what is refused, where nothing of the request is let through."""
    try:
        ruling, _ = ruled(case.api, case.version, case.request, *rights)
    except KafkaError as error:
        return [error.code]
    assert ruling.request is None
    return [error.code for _, error in ruling.refused]


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_a_request_needs_each_of_its_rights_and_no_other(case: Case) -> None:
    ruling, told = ruled(case.api, case.version, case.request, *case.needs)
    assert (ruling.request, list(ruling.refused), told) == (case.request, [], [])
    for missing in case.needs:
        rights = [right for right in case.needs if right != missing]
        assert await refusals(case, *rights) == [case.refused_as or FAILED[missing[1]]]


@pytest.mark.parametrize("asked", [None, "secret"])
async def test_pages_of_topics_have_those_that_may_be_described_and_refusals_where_none_is(
    asked: str | None,
) -> None:
    topics = [TopicRequest(name=asked)] if asked else []
    request = request_of("DescribeTopicPartitions", topics=topics)
    describes = (AclOperation.DESCRIBE, TOPIC, "orders")
    for rights, told in (((), None), ((describes,), None if asked else ["orders"])):
        ruling, log = ruled("DescribeTopicPartitions", 0, request, *rights)
        assert (ruling.request and [topic.name for topic in ruling.request.topics]) == told
        assert [error.code for _, error in ruling.refused] == [TOPIC_FAILED] * (told is None)
        assert len(log) == (asked is not None)  # What was not named was not refused.
    everything = (AclOperation.DESCRIBE, TOPIC, "secret")
    ruling, _ = ruled("DescribeTopicPartitions", 0, request, describes, everything)
    assert ruling.request is request


async def test_a_deletion_of_offsets_is_about_topics_that_may_be_read() -> None:
    request = OffsetDeleteRequest(
        group_id="g", topics=[OffsetDeleteRequestTopic(name=name) for name in ("orders", "secret")]
    )
    deletes = (AclOperation.DELETE, GROUP, "g")
    for rights, names in ((), []), (((AclOperation.READ, TOPIC, "secret"),), ["secret"]):
        ruling, _ = ruled("OffsetDelete", 0, request, deletes, *rights)
        assert [topic.name for topic in ruling.request.topics] == names
        assert list(ruling.refused) == []
    with pytest.raises(KafkaError, match="GROUP_AUTHORIZATION_FAILED"):
        ruled("OffsetDelete", 0, request)


MOVE = AlterReplicaLogDirsRequest(
    dirs=[
        AlterReplicaLogDir(
            path="/d", topics=[AlterReplicaLogDirTopic(name="orders", partitions=[0, 1])]
        )
    ]
)


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


async def test_asking_for_a_topic_needs_the_right_to_create_it_where_it_would_be_made() -> None:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name="new")], allow_auto_topic_creation=True
    )
    describes = (AclOperation.DESCRIBE, TOPIC, "new")
    refused, told = ruled("Metadata", 9, request, describes, creates_topics=True)
    assert (refused.request.topics, [error.code for _, error in refused.refused], len(told)) == (
        [],  # The answer has the brokers all the same.
        [TOPIC_FAILED],
        1,
    )
    for more in (allow(AclOperation.CREATE, TOPIC, "new"), allow(AclOperation.CREATE)):
        broker = secured(allow(*describes), more)
        access = access_of(broker, "Metadata", told := [], creates_topics=True)
        assert RULES["Metadata"](access, request, 9) == Ruling(request)
        assert told == []
    makes_none = replace(request, allow_auto_topic_creation=False)
    for asked, creates in ((makes_none, True), (request, False)):
        ruling, told = ruled("Metadata", 9, asked, describes, creates_topics=creates)
        assert (ruling, told) == (Ruling(asked), [])


async def test_metadata_by_id_needs_the_topic_that_has_it_and_all_topics_nothing() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=SECRET_ID)])
    ruling, _ = ruled("Metadata", 12, request, (AclOperation.DESCRIBE, TOPIC, "secret"))
    assert ruling == Ruling(request)
    ruling, _ = ruled("Metadata", 12, request, (AclOperation.DESCRIBE, TOPIC, "orders"))
    assert [error.code for _, error in ruling.refused] == [TOPIC_FAILED]
    for version, everything in ((0, MetadataRequest(topics=[])), (1, MetadataRequest(topics=None))):
        assert ruled("Metadata", version, everything) == (Ruling(everything), [])
