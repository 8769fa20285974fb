"""Messages of InitProducerId (22), AllocateProducerIds (67), DescribeProducers (61)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT16, INT32, INT64


@message(22, "request", versions="0-6", flexible="2+")
class InitProducerIdRequest:
    """Source: InitProducerIdRequest.json."""

    transactional_id: str | None = field(STRING, nullable="0+")
    """None for an idempotent producer."""
    transaction_timeout_ms: int = field(INT32)
    producer_id: int = field(INT64, "3+", default=-1)
    """To raise the epoch of this id; -1 for a new id."""
    producer_epoch: int = field(INT16, "3+", default=-1)
    enable2_pc: bool = field(BOOL, "6+")
    """Whether the transaction takes part in two-phase commit (KIP-939)."""
    keep_prepared_txn: bool = field(BOOL, "6+")


@message(22, "response", versions="0-6", flexible="2+")
class InitProducerIdResponse:
    """Source: InitProducerIdResponse.json."""

    throttle_time_ms: int = field(INT32, ignorable=True)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, default=-1)
    producer_epoch: int = field(INT16)
    ongoing_txn_producer_id: int = field(INT64, "6+", default=-1)
    ongoing_txn_producer_epoch: int = field(INT16, "6+", default=-1)


@message(67, "request", versions="0", flexible="0+")
class AllocateProducerIdsRequest:
    """Source: AllocateProducerIdsRequest.json."""

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64, default=-1)


@message(67, "response", versions="0", flexible="0+")
class AllocateProducerIdsResponse:
    """Source: AllocateProducerIdsResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    producer_id_start: int = field(INT64)
    """The first id of the block."""
    producer_id_len: int = field(INT32)
    """How many ids the block has."""


@struct
class TopicRequest:
    name: str = field(STRING)
    partition_indexes: Sequence[int] = field(array(INT32))


@message(61, "request", versions="0", flexible="0+")
class DescribeProducersRequest:
    """Source: DescribeProducersRequest.json."""

    topics: Sequence[TopicRequest] = field(array(TopicRequest))


@struct
class ProducerState:
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT32)
    last_sequence: int = field(INT32, default=-1)
    last_timestamp: int = field(INT64, default=-1)
    coordinator_epoch: int = field(INT32)
    current_txn_start_offset: int = field(INT64, default=-1)


@struct
class PartitionResponse:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    active_producers: Sequence[ProducerState] = field(array(ProducerState))


@struct
class TopicResponse:
    name: str = field(STRING)
    partitions: Sequence[PartitionResponse] = field(array(PartitionResponse))


@message(61, "response", versions="0", flexible="0+")
class DescribeProducersResponse:
    """Source: DescribeProducersResponse.json."""

    throttle_time_ms: int = field(INT32)
    topics: Sequence[TopicResponse] = field(array(TopicResponse))
