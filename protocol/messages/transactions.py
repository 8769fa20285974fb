"""Messages of the transaction coordinator.

API keys: AddPartitionsToTxn (24), AddOffsetsToTxn (25), EndTxn (26), WriteTxnMarkers (27),
TxnOffsetCommit (28), DescribeTransactions (65), ListTransactions (66).
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT8, INT16, INT32, INT64


@struct
class AddPartitionsToTxnTopic:
    name: str = field(STRING)
    partitions: Sequence[int] = field(array(INT32))


@struct
class AddPartitionsToTxnTransaction:
    transactional_id: str = field(STRING, "4+")
    producer_id: int = field(INT64, "4+")
    producer_epoch: int = field(INT16, "4+")
    verify_only: bool = field(BOOL, "4+")
    """Brokers ask whether a partition is in; they add nothing."""
    topics: Sequence[AddPartitionsToTxnTopic] = field(array(AddPartitionsToTxnTopic), "4+")


@message(24, "request", versions="0-5", flexible="3+")
class AddPartitionsToTxnRequest:
    """Source: AddPartitionsToTxnRequest.json."""

    transactions: Sequence[AddPartitionsToTxnTransaction] = field(
        array(AddPartitionsToTxnTransaction), "4+"
    )
    v3_and_below_transactional_id: str = field(STRING, "0-3")
    v3_and_below_producer_id: int = field(INT64, "0-3")
    v3_and_below_producer_epoch: int = field(INT16, "0-3")
    v3_and_below_topics: Sequence[AddPartitionsToTxnTopic] = field(
        array(AddPartitionsToTxnTopic), "0-3"
    )


@struct
class AddPartitionsToTxnPartitionResult:
    partition_index: int = field(INT32)
    partition_error_code: int = field(INT16)


@struct
class AddPartitionsToTxnTopicResult:
    name: str = field(STRING)
    results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = field(
        array(AddPartitionsToTxnPartitionResult)
    )


@struct
class AddPartitionsToTxnResult:
    transactional_id: str = field(STRING, "4+")
    topic_results: Sequence[AddPartitionsToTxnTopicResult] = field(
        array(AddPartitionsToTxnTopicResult), "4+"
    )


@message(24, "response", versions="0-5", flexible="3+")
class AddPartitionsToTxnResponse:
    """Source: AddPartitionsToTxnResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16, "4+", ignorable=True)
    results_by_transaction: Sequence[AddPartitionsToTxnResult] = field(
        array(AddPartitionsToTxnResult), "4+"
    )
    results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResult] = field(
        array(AddPartitionsToTxnTopicResult), "0-3"
    )


@message(25, "request", versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest:
    """Source: AddOffsetsToTxnRequest.json."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    group_id: str = field(STRING)


@message(25, "response", versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse:
    """Source: AddOffsetsToTxnResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)


@message(26, "request", versions="0-5", flexible="3+")
class EndTxnRequest:
    """Source: EndTxnRequest.json."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    committed: bool = field(BOOL)
    """False to abort."""


@message(26, "response", versions="0-5", flexible="3+")
class EndTxnResponse:
    """Source: EndTxnResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, "5+", default=-1, ignorable=True)
    """For the next transaction (KIP-890); -1 for no change."""
    producer_epoch: int = field(INT16, "5+", default=-1, ignorable=True)


@struct
class WritableTxnMarkerTopic:
    name: str = field(STRING)
    partition_indexes: Sequence[int] = field(array(INT32))


@struct
class WritableTxnMarker:
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    transaction_result: bool = field(BOOL)
    """True for commit."""
    topics: Sequence[WritableTxnMarkerTopic] = field(array(WritableTxnMarkerTopic))
    coordinator_epoch: int = field(INT32)
    transaction_version: int = field(INT8, "2+", ignorable=True)


@message(27, "request", versions="0-2", flexible="1+")
class WriteTxnMarkersRequest:
    """Source: WriteTxnMarkersRequest.json."""

    markers: Sequence[WritableTxnMarker] = field(array(WritableTxnMarker))


@struct
class WritableTxnMarkerPartitionResult:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class WritableTxnMarkerTopicResult:
    name: str = field(STRING)
    partitions: Sequence[WritableTxnMarkerPartitionResult] = field(
        array(WritableTxnMarkerPartitionResult)
    )


@struct
class WritableTxnMarkerResult:
    producer_id: int = field(INT64)
    topics: Sequence[WritableTxnMarkerTopicResult] = field(array(WritableTxnMarkerTopicResult))


@message(27, "response", versions="0-2", flexible="1+")
class WriteTxnMarkersResponse:
    """Source: WriteTxnMarkersResponse.json."""

    markers: Sequence[WritableTxnMarkerResult] = field(array(WritableTxnMarkerResult))


@struct
class TxnOffsetCommitRequestPartition:
    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, "2+", default=-1, ignorable=True)
    committed_metadata: str | None = field(STRING, nullable="0+")


@struct
class TxnOffsetCommitRequestTopic:
    name: str = field(STRING)
    partitions: Sequence[TxnOffsetCommitRequestPartition] = field(
        array(TxnOffsetCommitRequestPartition)
    )


@message(28, "request", versions="0-5", flexible="3+")
class TxnOffsetCommitRequest:
    """Source: TxnOffsetCommitRequest.json."""

    transactional_id: str = field(STRING)
    group_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    generation_id: int = field(INT32, "3+", default=-1)
    member_id: str = field(STRING, "3+", default="")
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    topics: Sequence[TxnOffsetCommitRequestTopic] = field(array(TxnOffsetCommitRequestTopic))


@struct
class TxnOffsetCommitResponsePartition:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class TxnOffsetCommitResponseTopic:
    name: str = field(STRING)
    partitions: Sequence[TxnOffsetCommitResponsePartition] = field(
        array(TxnOffsetCommitResponsePartition)
    )


@message(28, "response", versions="0-5", flexible="3+")
class TxnOffsetCommitResponse:
    """Source: TxnOffsetCommitResponse.json."""

    throttle_time_ms: int = field(INT32)
    topics: Sequence[TxnOffsetCommitResponseTopic] = field(array(TxnOffsetCommitResponseTopic))


@message(65, "request", versions="0", flexible="0+")
class DescribeTransactionsRequest:
    """Source: DescribeTransactionsRequest.json."""

    transactional_ids: Sequence[str] = field(array(STRING))


@struct
class TopicData:
    topic: str = field(STRING)
    partitions: Sequence[int] = field(array(INT32))


@struct
class TransactionState:
    error_code: int = field(INT16)
    transactional_id: str = field(STRING)
    transaction_state: str = field(STRING)
    transaction_timeout_ms: int = field(INT32)
    transaction_start_time_ms: int = field(INT64)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    topics: Sequence[TopicData] = field(array(TopicData))


@message(65, "response", versions="0", flexible="0+")
class DescribeTransactionsResponse:
    """Source: DescribeTransactionsResponse.json."""

    throttle_time_ms: int = field(INT32)
    transaction_states: Sequence[TransactionState] = field(array(TransactionState))


@message(66, "request", versions="0-2", flexible="0+")
class ListTransactionsRequest:
    """Source: ListTransactionsRequest.json."""

    state_filters: Sequence[str] = field(array(STRING))
    producer_id_filters: Sequence[int] = field(array(INT64))
    duration_filter: int = field(INT64, "1+", default=-1)
    """Milliseconds that a transaction has been open at least; -1 for any."""
    transactional_id_pattern: str | None = field(STRING, "2+", default=None, nullable="2+")


@struct
class ListTransactionsResponseTransactionState:
    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    transaction_state: str = field(STRING)


@message(66, "response", versions="0-2", flexible="0+")
class ListTransactionsResponse:
    """Source: ListTransactionsResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    unknown_state_filters: Sequence[str] = field(array(STRING))
    transaction_states: Sequence[ListTransactionsResponseTransactionState] = field(
        array(ListTransactionsResponseTransactionState)
    )
