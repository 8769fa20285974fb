from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from protocol.messages.groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from protocol.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from protocol.messages.producer_ids import InitProducerIdRequest
from protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from protocol.pieces import CUTS, check_values, check_whole, pieces_of, put_together, shorten


def list_offsets(*counts: int) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=1,
        topics=[
            ListOffsetsTopic(
                name=f"t{number}",
                partitions=[ListOffsetsPartition(partition_index=index) for index in range(count)],
            )
            for number, count in enumerate(counts)
        ],
    )


def asked(request: ListOffsetsRequest) -> list[tuple[str, int]]:
    return [
        (topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("counts", [(1,), (199, 1, 1), (1000,), (1, 500, 1), (150, 150, 150)])
def test_pieces_ask_for_all_that_the_whole_did_in_its_order(counts: tuple[int, ...]) -> None:
    whole = asked(list_offsets(*counts))
    pieces = list(pieces_of(list_offsets(*counts)))
    assert [entry for piece in pieces for entry in asked(piece)] == whole
    most = CUTS["ListOffsetsRequest"].entries
    assert all(len(asked(piece)) <= most for piece in pieces)
    assert all(piece.isolation_level == 1 for piece in pieces)


def test_a_request_that_was_cut_holds_nothing_any_more() -> None:
    request = list_offsets(300)
    list(pieces_of(request))
    assert len(request.topics) == 0


def test_three_levels_are_cut_at_any_of_them() -> None:
    request = WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=number,
                topics=[WritableTxnMarkerTopic(name="t", partition_indexes=list(range(120)))],
            )
            for number in range(2)
        ]
    )
    found = [
        (marker.producer_id, index)
        for piece in pieces_of(request)
        for marker in piece.markers
        for topic in marker.topics
        for index in topic.partition_indexes
    ]
    assert found == [(number, index) for number in range(2) for index in range(120)]


def test_what_is_never_cut_stays_one_piece() -> None:
    request = InitProducerIdRequest()
    assert list(pieces_of(request)) == [request]
    assert list(pieces_of(MetadataRequest(topics=None))) == [MetadataRequest(topics=None)]


def answer_to(piece: ListOffsetsRequest) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=each.partition_index)
                    for each in topic.partitions
                ],
            )
            for topic in piece.topics
        ]
    )


def test_answers_are_put_together_as_if_all_had_been_asked_at_once() -> None:
    first, *others = map(answer_to, pieces_of(list_offsets(100, 450, 1)))
    for other in others:
        put_together(first, other)
    assert first == answer_to(list_offsets(100, 450, 1))


def test_nodes_are_named_once() -> None:
    def answer(name: str) -> MetadataResponse:
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1)], topics=[MetadataResponseTopic(name=name)]
        )

    whole = answer("a")
    put_together(whole, answer("b"))
    assert len(whole.brokers) == 1
    assert [topic.name for topic in whole.topics] == ["a", "b"]


def test_an_entry_that_is_never_cut_stays_one_beside_another_like_it() -> None:
    """Of 100 times one group, in pieces of 20, 96 were answered, four with two members."""

    def answer(count: int) -> DescribeGroupsResponse:
        members = [DescribedGroupMember(member_id="m")]
        groups = [DescribedGroup(group_id="g", members=members) for _ in range(count)]
        return DescribeGroupsResponse(groups=groups)

    pieces = list(pieces_of(DescribeGroupsRequest(groups=["g"] * 50)))
    first, *others = (answer(len(piece.groups)) for piece in pieces)
    assert others
    for other in others:
        put_together(first, other)
    assert first == answer(50)


def test_more_than_ten_thousand_new_partitions_are_refused_as_a_whole() -> None:
    def create(*counts: int) -> CreateTopicsRequest:
        return CreateTopicsRequest(
            topics=[CreatableTopic(name=f"t{n}", num_partitions=n) for n in counts]
        )

    check_whole(create(4000, 6000))
    with pytest.raises(KafkaError) as refused:
        check_whole(create(4000, 6001))
    assert refused.value.code == ErrorCode.POLICY_VIOLATION


def check_all_values(request: Any) -> int:
    """Check them and return how many steps that took."""
    return 1 + sum(1 for _ in check_values(request))


def shortened(request: Any) -> list[list[Any]]:
    """Shorten a request and return the arrays that were too long."""
    too_long: list[list[Any]] = []
    assert not any(shorten(request, too_long))
    return too_long


def test_an_array_that_cannot_be_cut_is_refused_with_its_name_and_the_limit() -> None:
    topic = MetadataRequestTopic(name="t")
    check_all_values(MetadataRequest(topics=[topic] * 2000))
    with pytest.raises(KafkaError, match="topics has 2001 entries, at most 2000 are taken"):
        check_all_values(MetadataRequest(topics=[topic] * 2001))


def test_what_is_refused_for_its_length_is_left_as_long_as_may_be() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=f"t{n}") for n in range(2_500)])
    whole = request.topics or []
    [too_long] = shortened(request)
    assert too_long is whole
    assert len(whole) == 2_500
    assert request.topics == whole[:2_000]
    assert shortened(request) == []
    assert shortened(MetadataRequest(topics=None)) == []


def added(*counts: int) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=f"t{number}", partitions=list(range(count)))
            for number, count in enumerate(counts)
        ]
    )


def test_short_arrays_of_a_request_that_is_never_cut_count_together() -> None:
    check_all_values(added(*[100] * 100))
    with pytest.raises(KafkaError, match="partitions has 10001 entries, at most 10000 are taken"):
        check_all_values(added(*[100] * 100, 1))


def test_very_many_arrays_are_looked_at_in_steps() -> None:
    request = added(*[1] * 5_500)
    assert check_all_values(request) == 6
    assert sum(1 for _ in shorten(request, [])) == 5


def test_what_is_refused_is_shortened_at_every_level() -> None:
    request = added(6_000, 3_000, 2_000, 5)
    too_long = [len(each) for each in shortened(request)]
    assert too_long == [2_000, 5]
    assert [len(t.partitions) for t in request.v3_and_below_topics] == [6_000, 3_000, 1_000, 0]


def test_protocols_of_a_member_are_never_cut() -> None:
    protocols = [JoinGroupRequestProtocol(name=f"p{n}") for n in range(2_001)]
    with pytest.raises(KafkaError, match="protocols has 2001 entries, at most 2000 are taken"):
        check_all_values(JoinGroupRequest(protocols=protocols))


def fetch_offsets(count: int) -> OffsetFetchRequest:
    topic = OffsetFetchRequestTopics(name="t", partition_indexes=list(range(count)))
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=[topic])])


def offsets_for(piece: OffsetFetchRequest, error: ErrorCode) -> OffsetFetchResponse:
    [group] = piece.groups
    topics = [
        OffsetFetchResponseTopics(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartitions(partition_index=index)
                for index in topic.partition_indexes
            ],
        )
        for topic in group.topics or ()
    ]
    return OffsetFetchResponse(
        groups=[
            OffsetFetchResponseGroup(group_id="g", topics=[] if error else topics, error_code=error)
        ]
    )


def test_offsets_that_were_fetched_in_pieces_are_those_of_one_group() -> None:
    first, *others = (offsets_for(each, ErrorCode.NONE) for each in pieces_of(fetch_offsets(600)))
    for other in others:
        put_together(first, other)
    assert first == offsets_for(fetch_offsets(600), ErrorCode.NONE)


def test_an_error_of_a_later_piece_is_the_error_of_its_group() -> None:
    first, *others = (
        offsets_for(piece, ErrorCode.NOT_COORDINATOR if number else ErrorCode.NONE)
        for number, piece in enumerate(pieces_of(fetch_offsets(600)))
    )
    for other in others:
        put_together(first, other)
    assert [group.error_code for group in first.groups] == [ErrorCode.NOT_COORDINATOR]


def test_a_marker_of_very_many_topics_is_cut_without_looking_at_all_of_them_each_time() -> None:
    class Seen(list[int]):
        looks = 0

        def __len__(self) -> int:
            Seen.looks += 1
            return super().__len__()

    topics = [
        WritableTxnMarkerTopic(name=f"t{n}", partition_indexes=Seen([0])) for n in range(1_000)
    ]
    marker = WritableTxnMarker(producer_id=1, topics=topics)
    pieces = pieces_of(WriteTxnMarkersRequest(markers=[marker]))
    assert len(next(pieces).markers[0].topics) == 50
    assert Seen.looks < 300
