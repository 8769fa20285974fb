"""What the coordinator knows of one transactional id, and its transitions.

Values never change: each transition returns the next one. Kafka keeps a pending state beside the
state until the log has the record; here the next state counts at once, and answers wait for the
log (`broker.core.coordination`), so nobody has to be told to come back for it.
Source: TransactionMetadata.scala, TransactionState.java.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from protocol.errors import ErrorCode
from protocol.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition

EPOCH_MAX: Final = 2**15 - 1
"""No producer ever gets it, so that one more fence is always possible."""
NO_TIMEOUT_MS: Final = 2**31 - 1
EPOCH_PER_TRANSACTION: Final = 2
"""From this transaction.version on the end of a transaction raises the epoch (KIP-890)."""


class TransactionState(IntEnum):
    """Where a transactional id is; the numbers are those of the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def kafka_name(self) -> str:
        """Return the name that tools show, such as ``PrepareCommit``."""
        return self.name.title().replace("_", "")


PREPARED: Final = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
"""The end is decided, and markers are on their way."""
COMPLETE: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
"""All markers are written."""
AT_REST: Final = (TransactionState.EMPTY, *COMPLETE)
"""No transaction is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMetadata:
    """One transactional id. Times are of the wall clock, in ms."""

    transactional_id: str
    producer_id: int
    previous_producer_id: int = NO_PRODUCER_ID
    """That of the transaction before, when it was another one."""
    next_producer_id: int = NO_PRODUCER_ID
    """What the producer was told to use next, because the epochs of this id are used up."""
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    """Before the last raise; a producer that still has it did not hear the answer. Not stored."""
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: tuple[TopicPartition, ...] = ()
    """In the order in which they were added."""
    started_ms: int = NO_TIMESTAMP
    """When the first partition was added."""
    updated_ms: int
    client_transaction_version: int = 0
    """Of whoever asked for the last transition."""

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the next raise needs another producer id."""
        return is_epoch_exhausted(self.producer_epoch)

    def will_be(self, producer_id: int) -> bool:
        """Tell whether the producer was told to go on with this id, once all markers are written.

        It may come before they are. Source: KAFKA-18575.
        """
        return self.next_producer_id not in (NO_PRODUCER_ID, self.producer_id) and (
            self.state in PREPARED and self.next_producer_id == producer_id
        )

    @property
    def deadline_ms(self) -> int | None:
        """When an open transaction is aborted; None: never.

        A distributed two-phase commit has the largest timeout, which stands for none.
        """
        if self.state is not TransactionState.ONGOING or self.timeout_ms == NO_TIMEOUT_MS:
            return None
        return self.started_ms + self.timeout_ms


def is_epoch_exhausted(producer_epoch: int) -> bool:
    """Tell whether an epoch is the last that a producer may have."""
    return producer_epoch >= EPOCH_MAX - 1


def fenced(metadata: TransactionMetadata) -> TransactionMetadata:
    """Raise the epoch of an ongoing transaction: the producer that began it is out."""
    assert metadata.producer_epoch < EPOCH_MAX, "nobody gets the highest epoch"
    return replace(
        metadata,
        producer_epoch=metadata.producer_epoch + 1,
        last_producer_epoch=NO_PRODUCER_EPOCH,
    )


def with_epoch_raised(
    metadata: TransactionMetadata, *, timeout_ms: int, expected_epoch: int | None, wall_ms: int
) -> TransactionMetadata | ErrorCode:
    """Return the state after InitProducerId, or PRODUCER_FENCED.

    ``expected_epoch`` is what the producer says that it has (KIP-360). One that still has the epoch
    before the last raise asks again: it gets the same answer again.
    """
    assert not metadata.is_epoch_exhausted
    epoch, last_epoch = metadata.producer_epoch, metadata.last_producer_epoch
    if expected_epoch is None:
        epoch, last_epoch = epoch + 1, NO_PRODUCER_EPOCH
    elif epoch in (expected_epoch, NO_PRODUCER_EPOCH):
        epoch, last_epoch = epoch + 1, epoch
    elif expected_epoch != last_epoch:
        return ErrorCode.PRODUCER_FENCED
    return replace(
        _at_rest(metadata, timeout_ms, wall_ms),
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
    )


def with_next_producer_id(
    metadata: TransactionMetadata,
    producer_id: int,
    *,
    timeout_ms: int,
    keeps_last_epoch: bool,
    wall_ms: int,
) -> TransactionMetadata:
    """Return the state after InitProducerId of one whose epochs are used up."""
    assert producer_id != NO_PRODUCER_ID
    last_epoch = metadata.producer_epoch if keeps_last_epoch else NO_PRODUCER_EPOCH
    return replace(
        _at_rest(metadata, timeout_ms, wall_ms),
        producer_id=producer_id,
        producer_epoch=0,
        last_producer_epoch=last_epoch,
    )


def _at_rest(metadata: TransactionMetadata, timeout_ms: int, wall_ms: int) -> TransactionMetadata:
    assert metadata.state in AT_REST
    return replace(
        metadata,
        previous_producer_id=metadata.producer_id,
        timeout_ms=timeout_ms,
        state=TransactionState.EMPTY,
        partitions=(),
        started_ms=NO_TIMESTAMP,
        updated_ms=wall_ms,
    )


def with_partitions(
    metadata: TransactionMetadata,
    added: Iterable[TopicPartition],
    *,
    client_transaction_version: int,
    wall_ms: int,
) -> TransactionMetadata:
    """Return the state after partitions were added, which begins a transaction where none is."""
    assert metadata.state not in PREPARED
    return replace(
        metadata,
        previous_producer_id=metadata.producer_id,
        state=TransactionState.ONGOING,
        partitions=tuple(dict.fromkeys((*metadata.partitions, *added))),
        started_ms=wall_ms if metadata.state in AT_REST else metadata.started_ms,
        updated_ms=wall_ms,
        client_transaction_version=client_transaction_version,
    )


def prepared(
    metadata: TransactionMetadata,
    *,
    is_commit: bool,
    client_transaction_version: int,
    next_producer_id: int,
    wall_ms: int,
) -> TransactionMetadata:
    """Return the state in which the end is decided.

    One without partitions, which a producer may abort from version 2 on, begins with its end.
    """
    raises = client_transaction_version >= EPOCH_PER_TRANSACTION
    epoch = metadata.producer_epoch
    return replace(
        metadata,
        previous_producer_id=metadata.producer_id,
        next_producer_id=next_producer_id,
        producer_epoch=epoch + 1 if raises else epoch,
        last_producer_epoch=epoch if raises else metadata.last_producer_epoch,
        state=TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT,
        started_ms=wall_ms if metadata.state in AT_REST else metadata.started_ms,
        updated_ms=wall_ms,
        client_transaction_version=client_transaction_version,
    )


def completed(metadata: TransactionMetadata, wall_ms: int) -> TransactionMetadata:
    """Return the state after all markers are written."""
    assert metadata.state in PREPARED
    is_commit = metadata.state is TransactionState.PREPARE_COMMIT
    producer_id, epoch = metadata.producer_id, metadata.producer_epoch
    raises = metadata.client_transaction_version >= EPOCH_PER_TRANSACTION
    if raises and metadata.next_producer_id != NO_PRODUCER_ID:
        producer_id, epoch = metadata.next_producer_id, 0
    return replace(
        metadata,
        producer_id=producer_id,
        previous_producer_id=metadata.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        producer_epoch=epoch,
        state=TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
        partitions=(),
        updated_ms=wall_ms,
    )
