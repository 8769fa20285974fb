"""Topics and partitions in messages of any API: found, divided, given codes."""

from __future__ import annotations

from typing import Any

import pytest

from broker.core.request_parts import (
    NO_PARTITION,
    Part,
    divide,
    error_names,
    has_throttle_time,
    joined,
    parts_of,
    refused_fetch,
    with_error,
)
from protocol.apis import BY_NAME
from protocol.errors import ErrorCode
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.messages.topics import DeleteTopicsRequest

ORDERS_ID = bytes(range(16))
CODE = ErrorCode.NOT_LEADER_OR_FOLLOWER


def name_of(topic_id: bytes) -> str | None:
    return {ORDERS_ID: "orders"}.get(topic_id)


def produce(*partitions: int, **named: Any) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=b"r") for index in partitions]
    return ProduceRequest(acks=-1, topic_data=[TopicProduceData(partition_data=data, **named)])


def produced(*partitions: int) -> ProduceResponse:
    rows = [PartitionProduceResponse(index=index, base_offset=7) for index in partitions]
    return ProduceResponse(
        responses=[TopicProduceResponse(name="orders", partition_responses=rows)]
    )


@pytest.mark.parametrize(
    ("request_", "parts"),
    [
        (produce(0, 2, name="orders"), ["orders-0", "orders-2"]),
        (produce(1, topic_id=ORDERS_ID), ["orders-1"]),
        (produce(1, topic_id=bytes(16)), ["-1"]),
        (MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), ["orders"]),
        (MetadataRequest(topics=None), []),
        (DeleteTopicsRequest(topic_names=["a", "b"]), ["a", "b"]),
        (HeartbeatRequest(group_id="g"), []),
        (
            OffsetFetchRequest(
                groups=[
                    OffsetFetchRequestGroup(
                        group_id="g",
                        topics=[OffsetFetchRequestTopics(name="orders", partition_indexes=[4])],
                    )
                ]
            ),
            ["orders-4"],
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_a_request_names_is_found(request_: Any, parts: list[str]) -> None:
    assert [str(each) for each in parts_of(request_, name_of)] == parts


def test_what_a_fetch_forgets_is_not_asked_for() -> None:
    request = FetchRequest(
        topics=[FetchTopic(topic="orders", partitions=[FetchPartition(partition=3)])],
        forgotten_topics_data=[ForgottenTopic(topic="orders", partitions=[4])],
    )
    assert parts_of(request, name_of) == [Part("orders", 3)]


def test_a_request_is_divided_by_partitions_and_stays_as_it_was() -> None:
    request = produce(0, 1, 2, name="orders")
    chosen, rest = divide(request, lambda part: part.partition == 1, name_of)
    assert parts_of(chosen, name_of) == [Part("orders", 1)]
    assert parts_of(rest, name_of) == [Part("orders", 0), Part("orders", 2)]
    assert len(parts_of(request, name_of)) == 3
    assert divide(produce(1, name="orders"), lambda _: True, name_of)[1] is None


def test_what_groups_ask_for_is_divided_in_each_of_them() -> None:
    topics = [OffsetFetchRequestTopics(name="orders", partition_indexes=[4, 5])]
    groups = [OffsetFetchRequestGroup(group_id=each, topics=topics) for each in "gh"]
    request = OffsetFetchRequest(groups=groups)
    for divided, index in zip(
        divide(request, lambda part: part.partition == 4, name_of), (4, 5), strict=True
    ):
        assert [
            (group.group_id, [list(topic.partition_indexes) for topic in group.topics])
            for group in divided.groups
        ] == [("g", [[index]]), ("h", [[index]])]


def test_a_group_of_which_all_was_chosen_is_not_in_the_rest() -> None:
    groups = [
        OffsetFetchRequestGroup(
            group_id=each, topics=[OffsetFetchRequestTopics(name=each, partition_indexes=[1])]
        )
        for each in "gh"
    ]
    request = OffsetFetchRequest(groups=groups)
    chosen, rest = divide(request, lambda part: part.topic == "g", name_of)
    assert (chosen.groups, rest.groups) == (groups[:1], groups[1:])


def test_a_request_without_partitions_is_chosen_as_a_whole() -> None:
    request = HeartbeatRequest(group_id="g")
    assert divide(request, lambda _: False, name_of) == (request, None)


def test_an_answer_has_the_code_in_the_partitions_that_are_met() -> None:
    answer = with_error(produced(0, 1), CODE, lambda part: part.partition == 1, name_of)
    rows = answer.responses[0].partition_responses
    assert [(row.error_code, row.base_offset) for row in rows] == [(0, 7), (CODE, -1)]


def test_an_answer_without_partitions_has_it_at_the_top() -> None:
    assert with_error(HeartbeatResponse(), CODE, None, name_of).error_code == CODE


def test_metadata_has_it_at_the_topic_or_at_one_partition() -> None:
    partitions = [MetadataResponsePartition(partition_index=index) for index in (0, 1)]
    told = MetadataResponse(topics=[MetadataResponseTopic(name="orders", partitions=partitions)])
    whole = with_error(told, CODE, lambda _: True, name_of)
    assert (whole.topics[0].error_code, whole.topics[0].partitions) == (CODE, [])
    one = with_error(told, CODE, lambda part: part.partition == 1, name_of)
    assert one.topics[0].error_code == 0
    assert [row.error_code for row in one.topics[0].partitions] == [0, CODE]
    assert told.topics[0].partitions == partitions
    assert Part("orders", NO_PARTITION).partition == -1


def test_a_refused_fetch_has_the_code_in_every_partition() -> None:
    asked = [FetchPartition(partition=index) for index in (3, 5)]
    request = FetchRequest(topics=[FetchTopic(topic_id=ORDERS_ID, partitions=asked)])
    (topic,) = refused_fetch(request, CODE).responses
    assert topic.topic_id == ORDERS_ID
    assert [(row.partition_index, row.error_code) for row in topic.partitions] == [
        (3, CODE),
        (5, CODE),
    ]


def test_two_answers_are_joined() -> None:
    whole = joined(produced(0), produced(1))
    assert parts_of(whole, name_of) == [Part("orders", 0), Part("orders", 1)]


def test_the_errors_of_an_answer_are_named_once() -> None:
    rows = [PartitionData(partition_index=index, error_code=CODE) for index in (0, 1)]
    answer = FetchResponse(responses=[FetchableTopicResponse(topic="orders", partitions=rows)])
    assert error_names(answer) == ["NOT_LEADER_OR_FOLLOWER"]
    assert error_names(produced(0)) == []


@pytest.mark.parametrize(("version", "has"), [(0, False), (1, True)])
def test_a_version_may_tell_of_a_throttle(version: int, *, has: bool) -> None:
    assert has_throttle_time(BY_NAME["Produce"].response, version) is has


def test_a_refused_fetch_tells_nothing_else_of_its_partitions() -> None:
    request = FetchRequest(topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=3)])])
    (topic,) = refused_fetch(request, CODE).responses
    (row,) = topic.partitions
    assert (topic.topic, row.high_watermark, row.aborted_transactions) == ("t", -1, None)
    assert row.records == b""


def test_a_partition_that_is_met_gives_no_records_and_others_stay() -> None:
    rows = [PartitionData(partition_index=index, records=b"r") for index in (0, 1)]
    answer = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=rows)])
    failed = with_error(answer, CODE, lambda part: part == Part("t", 1), name_of)
    told = failed.responses[0].partitions
    assert [(row.error_code, row.records) for row in told] == [(0, b"r"), (CODE, None)]
    (one,) = with_error(produced(0), CODE, lambda _: True, name_of).responses[0].partition_responses
    assert (one.error_code, one.base_offset) == (CODE, -1)


def test_an_answer_about_groups_has_the_code_in_each_of_them() -> None:
    rows = [OffsetFetchResponsePartitions(partition_index=each) for each in (0, 1)]
    topics = [OffsetFetchResponseTopics(name="orders", partitions=rows)]
    groups = [OffsetFetchResponseGroup(group_id=each, topics=topics) for each in "gh"]
    answer = with_error(
        OffsetFetchResponse(groups=groups), CODE, lambda part: part.partition == 1, name_of
    )
    for group in answer.groups:
        assert [row.error_code for row in group.topics[0].partitions] == [0, CODE]
    empty = OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=[])])
    assert with_error(empty, CODE, None, name_of).groups[0].error_code == CODE
    assert error_names(answer) == ["NOT_LEADER_OR_FOLLOWER"]


def test_topics_without_partitions_are_divided_by_their_names() -> None:
    request = DeleteTopicsRequest(topic_names=["a", "b"])
    chosen, rest = divide(request, lambda part: part == Part("b"), name_of)
    assert (chosen.topic_names, rest.topic_names) == (["b"], ["a"])
    everything = MetadataRequest(topics=[MetadataRequestTopic(name=each) for each in "ab"])
    nothing, rest = divide(everything, lambda _: False, name_of)
    assert (nothing, rest) == (None, everything)


def test_joining_leaves_what_only_one_answer_has() -> None:
    assert joined(produced(0), ProduceResponse(responses=[])) == produced(0)
    throttled = ProduceResponse(responses=[], throttle_time_ms=5)
    assert joined(throttled, produced(1)).throttle_time_ms == 5
