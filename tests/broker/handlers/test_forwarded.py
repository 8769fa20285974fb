"""Forwarded APIs: passed on at their own version, answered even when the controller is silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broker.core.client_quotas.limits import Asker
from protocol.acls.model import AclOperation
from protocol.acls.requests import EVERY_ACL
from protocol.client_quotas.entities import quota_entity
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsResponse,
)
from protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from protocol.refusals import refuse_alter_scram_credentials, refuse_describe_scram_credentials
from tests.broker.fakes import PEER, TOPIC_ID, FakeBroker
from tests.broker.secured import ADMIN, ALICE, allow, secured


def create_topics_request() -> CreateTopicsRequest:
    topic = CreatableTopic(name="new", num_partitions=3, replication_factor=2)
    return CreateTopicsRequest(topics=[topic], timeout_ms=1_234)


@pytest.mark.parametrize("version", range(8))
async def test_create_topics_the_controller_answers(broker: FakeBroker, version: int):
    broker.controller.answer = CreateTopicsResponse(
        topics=[CreatableTopicResult(name="new", error_code=36, error_message="exists")]
    )
    response = await broker.ask(create_topics_request(), version)
    assert [(t.name, t.error_code) for t in response.topics] == [("new", 36)]
    ((forwarded, at_version, timeout_ms),) = broker.controller.forwarded
    assert (forwarded.topics[0].num_partitions, at_version, timeout_ms) == (3, version, 1_234)


@pytest.mark.parametrize("version", range(8))
async def test_create_topics_a_silent_controller_is_told_per_topic(
    broker: FakeBroker, version: int
):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    response = await broker.ask(create_topics_request(), version)
    assert [(t.name, t.error_code) for t in response.topics] == [("new", 7)]
    assert response.topics[0].error_message == ("silent" if version >= 1 else "")


def delete_topics_request(version: int) -> DeleteTopicsRequest:
    if version >= 6:
        return DeleteTopicsRequest(
            topics=[DeleteTopicState(name="old"), DeleteTopicState(name=None, topic_id=TOPIC_ID)],
            timeout_ms=1_234,
        )
    return DeleteTopicsRequest(topic_names=["old"], timeout_ms=1_234)


@pytest.mark.parametrize("version", range(7))
async def test_delete_topics_the_controller_answers(broker: FakeBroker, version: int):
    broker.controller.answer = DeleteTopicsResponse(
        responses=[DeletableTopicResult(name="old", error_code=3)]
    )
    response = await broker.ask(delete_topics_request(version), version)
    assert [(t.name, t.error_code) for t in response.responses] == [("old", 3)]
    assert broker.controller.forwarded[0][1:] == (version, 1_234)


@pytest.mark.parametrize("version", range(7))
async def test_delete_topics_a_silent_controller_is_told_per_topic(
    broker: FakeBroker, version: int
):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    response = await broker.ask(delete_topics_request(version), version)
    expected = ["old", None] if version >= 6 else ["old"]
    assert [t.name for t in response.responses] == expected
    assert {t.error_code for t in response.responses} == {7}


def create_partitions_request() -> CreatePartitionsRequest:
    topic = CreatePartitionsTopic(name="orders", count=5, assignments=None)
    return CreatePartitionsRequest(topics=[topic], timeout_ms=1_234)


@pytest.mark.parametrize("version", range(4))
async def test_create_partitions_the_controller_answers(broker: FakeBroker, version: int):
    broker.controller.answer = CreatePartitionsResponse(
        results=[CreatePartitionsTopicResult(name="orders", error_code=37)]
    )
    response = await broker.ask(create_partitions_request(), version)
    assert [(t.name, t.error_code) for t in response.results] == [("orders", 37)]
    assert broker.controller.forwarded[0][1:] == (version, 1_234)


async def test_create_partitions_a_silent_controller_is_told_per_topic(broker: FakeBroker):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    response = await broker.ask(create_partitions_request(), 3)
    assert [(t.name, t.error_code, t.error_message) for t in response.results] == [
        ("orders", 7, "silent")
    ]


def elect_leaders_request() -> ElectLeadersRequest:
    topics = [TopicPartitions(topic="orders", partitions=[0, 1])]
    return ElectLeadersRequest(topic_partitions=topics, timeout_ms=1_234)


@pytest.mark.parametrize("version", range(3))
async def test_elect_leaders_the_controller_answers(broker: FakeBroker, version: int):
    broker.controller.answer = ElectLeadersResponse()
    response = await broker.ask(elect_leaders_request(), version)
    assert list(response.replica_election_results) == []
    assert broker.controller.forwarded[0][1:] == (version, 1_234)


@pytest.mark.parametrize("version", range(3))
async def test_elect_leaders_a_silent_controller_is_told_per_partition(
    broker: FakeBroker, version: int
):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    response = await broker.ask(elect_leaders_request(), version)
    assert response.error_code == (7 if version >= 1 else 0)
    (topic,) = response.replica_election_results
    assert [(p.partition_id, p.error_code) for p in topic.partition_result] == [(0, 7), (1, 7)]


async def test_elect_leaders_all_partitions_have_no_rows_to_refuse(broker: FakeBroker):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    response = await broker.ask(ElectLeadersRequest(topic_partitions=None), 2)
    assert (response.error_code, list(response.replica_election_results)) == (7, [])


def alter_partition_reassignments_request() -> AlterPartitionReassignmentsRequest:
    partitions = [
        ReassignablePartition(partition_index=0, replicas=[1, 2]),
        ReassignablePartition(partition_index=3, replicas=None),
    ]
    topics = [ReassignableTopic(name="orders", partitions=partitions)]
    return AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=1_234)


@pytest.mark.parametrize("version", range(2))
async def test_alter_partition_reassignments_the_controller_answers(
    broker: FakeBroker, version: int
):
    broker.controller.answer = AlterPartitionReassignmentsResponse(error_message="")
    response = await broker.ask(alter_partition_reassignments_request(), version)
    assert list(response.responses) == []
    assert broker.controller.forwarded[0][1:] == (version, 1_234)


@pytest.mark.parametrize("version", range(2))
async def test_alter_partition_reassignments_a_silent_controller_is_told_per_partition(
    broker: FakeBroker, version: int
):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    response = await broker.ask(alter_partition_reassignments_request(), version)
    assert (response.error_code, response.error_message) == (7, "silent")
    (topic,) = response.responses
    assert [(p.partition_index, p.error_code) for p in topic.partitions] == [(0, 7), (3, 7)]


async def test_list_partition_reassignments_the_controller_answers(broker: FakeBroker):
    broker.controller.answer = ListPartitionReassignmentsResponse(error_message="")
    response = await broker.ask(ListPartitionReassignmentsRequest(timeout_ms=99), 0)
    assert (response.error_code, list(response.topics)) == (0, [])
    assert broker.controller.forwarded[0][1:] == (0, 99)


async def test_list_partition_reassignments_a_silent_controller_has_a_code(broker: FakeBroker):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    response = await broker.ask(ListPartitionReassignmentsRequest(), 0)
    assert (response.error_code, response.error_message) == (7, "silent")


def limit_mutations(broker: FakeBroker) -> None:
    """Leave the client one mutation a second, and eleven saved up."""
    everybody = quota_entity([("user", None)])
    broker.client_quotas.replace({everybody: {"controller_mutation_rate": 1.0}})


async def test_topics_beyond_the_clients_quota_are_refused_and_the_others_passed_on(
    broker: FakeBroker,
):
    limit_mutations(broker)
    request = create_topics_request()
    names = ("a", "b", "c")
    request.topics = [
        CreatableTopic(name=name, num_partitions=10, replication_factor=1) for name in names
    ]
    told = [CreatableTopicResult(name=name, error_code=0) for name in ("a", "b")]
    broker.controller.answer = CreateTopicsResponse(topics=told)
    response = await broker.ask(request, 7)
    assert [(t.name, t.error_code) for t in response.topics] == [("a", 0), ("b", 0), ("c", 89)]
    assert response.topics[-1].error_message == "The throttling quota has been exceeded."
    assert response.throttle_time_ms == 9_000
    ((forwarded, _, _),) = broker.controller.forwarded
    assert [topic.name for topic in forwarded.topics] == ["a", "b"]


async def test_a_request_wholly_beyond_the_quota_is_not_passed_on(broker: FakeBroker):
    limit_mutations(broker)
    broker.client_quotas.take_mutations(Asker("ANONYMOUS", "test"), 100, broker.context.loop_ms())
    response = await broker.ask(create_topics_request(), 7, peer=PEER._replace(number=9))
    assert [(t.name, t.error_code) for t in response.topics] == [("new", 89)]
    assert broker.controller.forwarded == []


CREATE = CreateAclsRequest(
    creations=[
        AclCreation(
            resource_type=2,
            resource_name="t",
            principal="User:alice",
            host="*",
            operation=3,
            permission_type=3,
        )
    ]
)
DELETE = DeleteAclsRequest(
    filters=[
        DeleteAclsFilter(
            resource_type_filter=1,
            resource_name_filter=None,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
    ]
)
ACL_CASES = [
    (EVERY_ACL, DescribeAclsResponse(error_message=None, resources=[])),
    (CREATE, CreateAclsResponse(results=[])),
    (DELETE, DeleteAclsResponse(filter_results=[])),
]


@pytest.mark.parametrize(("request_", "answer"), ACL_CASES)
@pytest.mark.parametrize("version", [1, 2, 3])
async def test_the_controllers_answer_is_the_brokers(
    broker: FakeBroker, request_: Any, answer: Any, version: int
):
    broker.controller.answer = answer
    assert type(await broker.ask(request_, version)) is type(answer)
    ((forwarded, at_version, _),) = broker.controller.forwarded
    assert (type(forwarded), at_version) == (type(request_), version)


@pytest.mark.parametrize(("request_", "answer"), ACL_CASES)
async def test_a_silent_controller_is_told_in_each_place(
    broker: FakeBroker, request_: Any, answer: Any
):
    del answer
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    told = await broker.ask(request_, 3)
    places = getattr(told, "results", None) or getattr(told, "filter_results", None) or [told]
    assert [(each.error_code, each.error_message) for each in places] == [(7, "silent")]


ERROR = KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")


def test_a_refused_change_names_each_user_once_sorted() -> None:
    put = ScramCredentialUpsertion(
        name="b", mechanism=1, iterations=4096, salt=b"", salted_password=b""
    )
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name=name, mechanism=1) for name in ("c", "b")],
        upsertions=[put, replace(put, name="a")],
    )
    results = refuse_alter_scram_credentials(request, 0, ERROR).results
    assert [(each.user, each.error_code) for each in results] == [
        (name, ErrorCode.CLUSTER_AUTHORIZATION_FAILED) for name in ("a", "b", "c")
    ]


def test_a_refused_question_has_the_error_at_the_top() -> None:
    answer = refuse_describe_scram_credentials(DescribeUserScramCredentialsRequest(), 0, ERROR)
    assert (answer.error_code, list(answer.results)) == (ERROR.code, [])


ALTER = AlterUserScramCredentialsRequest(
    deletions=[ScramCredentialDeletion(name="bob", mechanism=1)], upsertions=[]
)
DESCRIBE = DescribeUserScramCredentialsRequest(users=None)
NEEDS: list[tuple[Any, AclOperation, Any]] = [
    (ALTER, AclOperation.ALTER, AlterUserScramCredentialsResponse(results=())),
    (DESCRIBE, AclOperation.DESCRIBE, DescribeUserScramCredentialsResponse(error_message=None)),
]


@pytest.mark.parametrize(("asked", "_needed", "answer"), NEEDS)
async def test_who_may_not_is_refused_and_the_controller_hears_nothing(
    asked: Any, _needed: AclOperation, answer: Any
):
    broker = secured()
    broker.controller.answer = answer
    told = await broker.ask(asked, 0, peer=ALICE)
    codes = [each.error_code for each in (told.results or [told])]
    assert codes == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert broker.controller.forwarded == []


@pytest.mark.parametrize(("asked", "needed", "answer"), NEEDS)
async def test_the_operation_on_the_cluster_or_a_super_user_passes(
    asked: Any, needed: AclOperation, answer: Any
):
    others = [allow(each) for each in (AclOperation.CREATE, AclOperation.CLUSTER_ACTION)]
    for peer, acls in ((ALICE, [allow(needed)]), (ADMIN, others)):
        broker = secured(*acls)
        broker.controller.answer = answer
        assert await broker.ask(asked, 0, peer=peer) == answer


QUOTA_CASES = [
    (DescribeClientQuotasRequest(), DescribeClientQuotasResponse(error_message="told", entries=())),
    (AlterClientQuotasRequest(), AlterClientQuotasResponse(throttle_time_ms=7)),
]


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(("request_", "answer"), QUOTA_CASES)
async def test_the_controller_answers_at_the_clients_version(
    broker: FakeBroker, request_: object, answer: object, version: int
):
    broker.controller.answer = answer
    assert await broker.ask(request_, version) == answer
    assert broker.controller.forwarded[-1][:2] == (request_, version)
