"""Records of ``__transaction_state``.

What precedes a key (its record type) and a value (its version): ``protocol.stored_records``.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import INT8, INT16, INT32, INT64


@message(0, "coordinator-key", versions="0")
class TransactionLogKey:
    """Source: TransactionLogKey.json."""

    transactional_id: str = field(STRING)


@struct
class PartitionsSchema:
    topic: str = field(STRING)
    partition_ids: Sequence[int] = field(array(INT32))


@message(0, "coordinator-value", versions="0-1", flexible="1+")
class TransactionLogValue:
    """Source: TransactionLogValue.json."""

    producer_id: int = field(INT64)
    previous_producer_id: int = field(INT64, "1+", default=-1, tag=0)
    """Used by the last committed transaction; -1 for none."""
    next_producer_id: int = field(INT64, "1+", default=-1, tag=1)
    """The latest that the producer was sent; -1 for none."""
    producer_epoch: int = field(INT16)
    next_producer_epoch: int = field(INT16, "1+", default=-1, tag=3)
    transaction_timeout_ms: int = field(INT32)
    transaction_status: int = field(INT8)
    """0 Empty, 1 Ongoing, 2 PrepareCommit, 3 PrepareAbort, 4 CompleteCommit, 5 CompleteAbort,
    6 Dead, 7 PrepareEpochFence.
    """
    transaction_partitions: Sequence[PartitionsSchema] | None = field(
        array(PartitionsSchema), nullable="0+"
    )
    """None when the status is Empty."""
    transaction_last_update_timestamp_ms: int = field(INT64)
    transaction_start_timestamp_ms: int = field(INT64)
    """-1 before the first partition was added."""
    client_transaction_version: int = field(INT16, "1+", tag=2)
