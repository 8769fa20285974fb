"""Messages of Produce (0)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from protocol.wire.table import RECORDS, STRING, Records, array, field, message, struct
from protocol.wire.types import INT16, INT32, INT64, UUID

ACKS_ALL: Final = -1
"""The full Isr has the records when they are acknowledged."""
ACKS_NONE: Final = 0
"""There is no answer."""


@struct
class PartitionProduceData:
    index: int = field(INT32)
    records: Records | None = field(RECORDS, nullable="0+")
    """One RecordBatch (magic 2); older versions of the request may carry message sets."""


@struct
class TopicProduceData:
    name: str = field(STRING, "0-12", ignorable=True)
    topic_id: bytes = field(UUID, "13+", ignorable=True)
    partition_data: Sequence[PartitionProduceData] = field(array(PartitionProduceData))


@message(0, "request", versions="0-13", flexible="9+")
class ProduceRequest:
    """Source: ProduceRequest.json."""

    transactional_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    acks: int = field(INT16)
    """``ACKS_ALL``, ``ACKS_NONE``, or 1: the leader has it."""
    timeout_ms: int = field(INT32)
    """How long the leader may wait for the ISR."""
    topic_data: Sequence[TopicProduceData] = field(array(TopicProduceData))


@struct
class BatchIndexAndErrorMessage:
    batch_index: int = field(INT32, "8+")
    batch_index_error_message: str | None = field(STRING, "8+", default=None, nullable="8+")


@struct
class LeaderIdAndEpoch:
    leader_id: int = field(INT32, "10+", default=-1)
    leader_epoch: int = field(INT32, "10+", default=-1)


@struct
class PartitionProduceResponse:
    index: int = field(INT32)
    error_code: int = field(INT16)
    base_offset: int = field(INT64)
    """Offset of the first record; -1 after an error."""
    log_append_time_ms: int = field(INT64, "2+", default=-1, ignorable=True)
    """-1 unless the topic stamps records with the time of appending."""
    log_start_offset: int = field(INT64, "5+", default=-1, ignorable=True)
    record_errors: Sequence[BatchIndexAndErrorMessage] = field(
        array(BatchIndexAndErrorMessage), "8+", ignorable=True
    )
    """The records that were refused, when records and not the batch are at fault."""
    error_message: str | None = field(STRING, "8+", default=None, nullable="8+", ignorable=True)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "10+", tag=0)
    """Set with NOT_LEADER_OR_FOLLOWER, so that the client need not ask."""


@struct
class TopicProduceResponse:
    name: str = field(STRING, "0-12", ignorable=True)
    topic_id: bytes = field(UUID, "13+", ignorable=True)
    partition_responses: Sequence[PartitionProduceResponse] = field(array(PartitionProduceResponse))


@struct
class NodeEndpoint:
    node_id: int = field(INT32, "10+")
    host: str = field(STRING, "10+")
    port: int = field(INT32, "10+")
    rack: str | None = field(STRING, "10+", default=None, nullable="10+")


@message(0, "response", versions="0-13", flexible="9+")
class ProduceResponse:
    """Source: ProduceResponse.json."""

    responses: Sequence[TopicProduceResponse] = field(array(TopicProduceResponse))
    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    node_endpoints: Sequence[NodeEndpoint] = field(array(NodeEndpoint), "10+", tag=0)
    """Where the current leaders listen."""
