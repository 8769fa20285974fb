"""Requests about transactions, and answers to them."""

from __future__ import annotations

import pytest

from protocol.admin.outcomes import Outcome
from protocol.admin.transactions import (
    abort_code,
    abort_request,
    describe_producers_request,
    find_transaction_coordinator_request,
    list_transactions_request,
    producer_views,
    too_old_for,
    transaction_view,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.producer_ids import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from protocol.messages.transactions import (
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    TopicData,
    TransactionState,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)

A0, B1 = TopicPartition("a", 0), TopicPartition("b", 1)


def described(code: ErrorCode) -> DescribeTransactionsResponse:
    state = TransactionState(
        error_code=code,
        transactional_id="pay",
        transaction_state="Empty",
        transaction_timeout_ms=9,
        transaction_start_time_ms=-1,
        producer_id=7,
        producer_epoch=2,
        topics=[TopicData(topic="a", partitions=[0])],
    )
    return DescribeTransactionsResponse(transaction_states=[state])


def test_coordinators_are_asked_for_transactional_ids() -> None:
    assert find_transaction_coordinator_request("pay").key_type == 1
    asked = list_transactions_request([7], duration_ms=5, pattern="pay.*")
    assert (list(asked.producer_id_filters), asked.duration_filter) == ([7], 5)
    assert asked.transactional_id_pattern == "pay.*"


@pytest.mark.parametrize(
    ("asked", "version", "filter_"),
    [
        (list_transactions_request(), 0, ""),
        (list_transactions_request(duration_ms=0), 0, "Duration filter"),
        (list_transactions_request(duration_ms=0), 1, ""),
        (list_transactions_request(pattern=""), 1, "Transactional ID pattern filter"),
        (list_transactions_request(pattern="a"), 2, ""),
    ],
)
def test_filters_that_a_broker_does_not_know_are_told(
    asked: ListTransactionsRequest, version: int, filter_: str
) -> None:
    assert too_old_for(asked, version).partition(" can be set only")[0] == filter_


def test_a_transaction_that_is_not_open_began_never() -> None:
    view = transaction_view(described(ErrorCode.NONE))
    assert not isinstance(view, ErrorCode)
    assert (view.started_ms, view.partitions) == (None, (A0,))
    code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert transaction_view(described(code)) is code


def test_producers_come_by_partition_or_with_the_reason_why_not() -> None:
    asked = describe_producers_request([A0, B1])
    assert [(each.name, list(each.partition_indexes)) for each in asked.topics] == [
        ("a", [0]),
        ("b", [1]),
    ]
    state = ProducerState(producer_id=7, producer_epoch=2, coordinator_epoch=-1)
    known = PartitionResponse(partition_index=0, error_code=0, active_producers=[state])
    failed = PartitionResponse(partition_index=1, error_code=3, active_producers=[])
    answer = DescribeProducersResponse(
        topics=[
            TopicResponse(name="a", partitions=[known]),
            TopicResponse(name="b", partitions=[failed]),
        ]
    )
    views = producer_views(answer)
    told = views[A0]
    assert not isinstance(told, Outcome)
    (found,) = told
    assert (found.producer_id, found.transaction_start_offset) == (7, None)
    assert views[B1] == Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)


def test_one_marker_aborts() -> None:
    (marker,) = abort_request(A0, producer_id=7, producer_epoch=2, coordinator_epoch=0).markers
    assert (marker.transaction_result, marker.producer_id) == (False, 7)
    row = WritableTxnMarkerPartitionResult(partition_index=0, error_code=47)
    topics = [WritableTxnMarkerTopicResult(name="a", partitions=[row])]
    result = WritableTxnMarkerResult(producer_id=7, topics=topics)
    code = abort_code(WriteTxnMarkersResponse(markers=[result]))
    assert code is ErrorCode.INVALID_PRODUCER_EPOCH
