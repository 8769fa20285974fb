"""Forwarded APIs: passed on at their own version, answered even when the controller is silent."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
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
from tests.broker.fakes import TOPIC_ID, FakeBroker


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
