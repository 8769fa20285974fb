"""Transactions and producers: how to list, describe and abort them, and what is answered.

A transactional id's coordinator answers for it; who asks finds it with
``find_transaction_coordinator_request``. Who leads a partition knows its producers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from protocol.admin.outcomes import Outcome
from protocol.admin.partitions import numbers_by_topic
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.coordinators import FindCoordinatorRequest
from protocol.messages.producer_ids import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    InitProducerIdRequest,
    TopicRequest,
)
from protocol.messages.transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

ANY_DURATION: Final = -1
_TRANSACTION: Final = 1
_WITH_DURATION: Final = 1
_WITH_PATTERN: Final = 2
"""Versions of ListTransactions."""
_NONE: Final = -1


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """A transactional id as a list has it."""

    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionView:
    """A transactional id, as its coordinator describes it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    started_ms: int | None
    """None where no transaction is open."""
    partitions: tuple[TopicPartition, ...]
    """Those that have no marker yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerView:
    """A producer, as a replica knows it."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    """-1 before the first marker."""
    last_sequence: int
    last_timestamp_ms: int
    transaction_start_offset: int | None
    """None where no transaction is open."""


def find_transaction_coordinator_request(transactional_id: str) -> FindCoordinatorRequest:
    """Ask any broker who coordinates a transactional id, in the version that asks for one key."""
    return FindCoordinatorRequest(key=transactional_id, key_type=_TRANSACTION)


def list_transactions_request(
    producer_ids: Collection[int] = (),
    *,
    duration_ms: int = ANY_DURATION,
    pattern: str | None = None,
) -> ListTransactionsRequest:
    """Ask a broker for what it coordinates; without producer ids for all.

    Args:
        producer_ids: those of interest.
        duration_ms: those that began longer ago (3.8).
        pattern: of RE2, for their whole transactional ids (4.1).
    """
    return ListTransactionsRequest(
        state_filters=[],
        producer_id_filters=list(producer_ids),
        duration_filter=duration_ms,
        transactional_id_pattern=pattern,
    )


def too_old_for(request: ListTransactionsRequest, version: int) -> str:
    """Say which filter a broker does not know whose newest version this is; empty: none."""
    # Kafka's words: ListTransactionsRequest.Builder.
    if request.duration_filter >= 0 and version < _WITH_DURATION:
        return (
            "Duration filter can be set only when using API version 1 or higher. If client is "
            "connected to an older broker, do not specify duration filter or set duration filter "
            "to -1."
        )
    if request.transactional_id_pattern is not None and version < _WITH_PATTERN:
        return (
            "Transactional ID pattern filter can be set only when using API version 2 or higher. "
            "If client is connected to an older broker, do not specify the pattern filter."
        )
    return ""


def transaction_listings(answer: ListTransactionsResponse) -> list[TransactionListing]:
    """Return what one broker coordinates."""
    return [
        TransactionListing(each.transactional_id, each.producer_id, each.transaction_state)
        for each in answer.transaction_states
    ]


def describe_transaction_request(transactional_id: str) -> DescribeTransactionsRequest:
    """Ask the coordinator of a transactional id."""
    return DescribeTransactionsRequest(transactional_ids=[transactional_id])


def transaction_view(answer: DescribeTransactionsResponse) -> TransactionView | ErrorCode:
    """Return the one that was asked for, or why it cannot be described."""
    (row,) = answer.transaction_states
    if row.error_code:
        return ErrorCode(row.error_code)
    return TransactionView(
        transactional_id=row.transactional_id,
        producer_id=row.producer_id,
        producer_epoch=row.producer_epoch,
        state=row.transaction_state,
        timeout_ms=row.transaction_timeout_ms,
        started_ms=_or_none(row.transaction_start_time_ms),
        partitions=tuple(
            TopicPartition(topic.topic, number)
            for topic in row.topics
            for number in topic.partitions
        ),
    )


def describe_producers_request(partitions: Iterable[TopicPartition]) -> DescribeProducersRequest:
    """Ask a replica of these partitions."""
    return DescribeProducersRequest(
        topics=[
            TopicRequest(name=name, partition_indexes=numbers)
            for name, numbers in numbers_by_topic(partitions).items()
        ]
    )


def producer_views(
    answer: DescribeProducersResponse,
) -> dict[TopicPartition, Sequence[ProducerView] | Outcome]:
    """Return the producers of each partition, or why they are not told."""
    return {
        TopicPartition(topic.name, row.partition_index): (
            Outcome(ErrorCode(row.error_code), row.error_message)
            if row.error_code
            else [
                ProducerView(
                    producer_id=each.producer_id,
                    producer_epoch=each.producer_epoch,
                    coordinator_epoch=each.coordinator_epoch,
                    last_sequence=each.last_sequence,
                    last_timestamp_ms=each.last_timestamp,
                    transaction_start_offset=_or_none(each.current_txn_start_offset),
                )
                for each in row.active_producers
            ]
        )
        for topic in answer.topics
        for row in topic.partitions
    }


def abort_request(
    tp: TopicPartition, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
) -> WriteTxnMarkersRequest:
    """Ask the leader of a partition to end a producer's transaction there."""
    topic = WritableTxnMarkerTopic(name=tp.topic, partition_indexes=[tp.partition])
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                transaction_result=False,
                topics=[topic],
                coordinator_epoch=coordinator_epoch,
            )
        ]
    )


def fence_request(transactional_id: str, timeout_ms: int) -> InitProducerIdRequest:
    """Ask the coordinator of a transactional id to end what is open and to begin anew.

    Its producer is fenced; ``timeout_ms`` is that of the id's transactions from then on.
    """
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        enable2_pc=False,
        keep_prepared_txn=False,
    )


def abort_code(answer: WriteTxnMarkersResponse) -> ErrorCode:
    """Return what became of the one marker."""
    ((row,),) = [topic.partitions for each in answer.markers for topic in each.topics]
    return ErrorCode(row.error_code)


def _or_none(number: int) -> int | None:
    return None if number == _NONE else number
