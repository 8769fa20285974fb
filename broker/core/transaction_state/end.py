"""EndTxn: when a transaction may be committed or aborted, and which answers are repeated.

There are two protocols. Up to transaction.version 1 a producer keeps its epoch from one
transaction to the next; from 2 on each end raises it (KIP-890), so that the epoch alone tells
whether a request is a retry or the next one.
Source: TransactionCoordinator.endTransaction, endTransactionWithTV1.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from broker.core.transaction_state.metadata import (
    COMPLETE,
    EPOCH_MAX,
    EPOCH_PER_TRANSACTION,
    PREPARED,
    TransactionMetadata,
    TransactionState,
    fenced,
    prepared,
)
from protocol.errors import ErrorCode
from protocol.ids import NO_PRODUCER_ID


class EndAsked(NamedTuple):
    """What a producer asks for."""

    producer_id: int
    producer_epoch: int
    is_commit: bool
    client_transaction_version: int


class EndedAlready(NamedTuple):
    """The same was asked before: answer it again, write nothing."""

    producer_id: int
    producer_epoch: int


End: TypeAlias = TransactionMetadata | EndedAlready | ErrorCode


def may_need_producer_id(metadata: TransactionMetadata | None, asked: EndAsked) -> bool:
    """Tell whether ``ended`` may use a new producer id: the epochs of this one are used up."""
    return (
        metadata is not None
        and asked.client_transaction_version >= EPOCH_PER_TRANSACTION
        and metadata.is_epoch_exhausted
        and metadata.state not in PREPARED
    )


def ended(
    metadata: TransactionMetadata | None, asked: EndAsked, *, new_producer_id: int, wall_ms: int
) -> End:
    """Return the state in which the end is decided, or why there is none.

    ``new_producer_id`` is used where ``may_need_producer_id`` says so; else it may be -1.
    """
    if metadata is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if metadata.will_be(asked.producer_id):
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if asked.client_transaction_version >= EPOCH_PER_TRANSACTION:
        return _ended_with_epoch_raised(metadata, asked, new_producer_id, wall_ms)
    return _ended_in_same_epoch(metadata, asked, wall_ms)


def aborted_by_coordinator(
    metadata: TransactionMetadata, transaction_version: int, wall_ms: int
) -> TransactionMetadata:
    """Return the state in which the abort of an open transaction is decided here.

    Its producer is out: the epoch is raised, from version 2 on by the end itself.
    """
    assert metadata.state is TransactionState.ONGOING
    raises = transaction_version >= EPOCH_PER_TRANSACTION
    return prepared(
        metadata if raises else fenced(metadata),
        is_commit=False,
        client_transaction_version=transaction_version,
        next_producer_id=NO_PRODUCER_ID,
        wall_ms=wall_ms,
    )


def _ended_in_same_epoch(metadata: TransactionMetadata, asked: EndAsked, wall_ms: int) -> End:
    if metadata.producer_id != asked.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if metadata.producer_epoch != asked.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    match metadata.state, asked.is_commit:
        case TransactionState.ONGOING, _:
            return _prepared(metadata, asked, NO_PRODUCER_ID, wall_ms)
        case (TransactionState.COMPLETE_COMMIT, True) | (TransactionState.COMPLETE_ABORT, False):
            return EndedAlready(NO_PRODUCER_ID, NO_PRODUCER_ID)
        case (TransactionState.PREPARE_COMMIT, True) | (TransactionState.PREPARE_ABORT, False):
            return ErrorCode.CONCURRENT_TRANSACTIONS
        case _:
            return ErrorCode.INVALID_TXN_STATE


def _ended_with_epoch_raised(
    metadata: TransactionMetadata, asked: EndAsked, new_producer_id: int, wall_ms: int
) -> End:
    is_overflow_retry = (
        metadata.previous_producer_id == asked.producer_id
        and asked.producer_epoch == EPOCH_MAX - 1
        and metadata.producer_epoch == 0
    )
    is_next_epoch = is_overflow_retry or metadata.producer_epoch == asked.producer_epoch + 1
    # Who ends by an earlier version raises no epoch: the one before it is a zombie's, not its own.
    is_retry = is_next_epoch and metadata.client_transaction_version >= EPOCH_PER_TRANSACTION
    if metadata.producer_id != asked.producer_id and not is_overflow_retry:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if not _is_epoch_of_now(metadata, asked, is_retry=is_retry):
        return ErrorCode.PRODUCER_FENCED
    if metadata.state in PREPARED:
        is_commit = metadata.state is TransactionState.PREPARE_COMMIT
        is_other_end = is_retry and is_commit != asked.is_commit
        # Who has the new epoch ends the next transaction already: it waits for the markers.
        return ErrorCode.INVALID_TXN_STATE if is_other_end else ErrorCode.CONCURRENT_TRANSACTIONS
    is_open = metadata.state is TransactionState.ONGOING
    if is_retry and not is_open:
        return _repeated(metadata, asked)
    if asked.is_commit and not is_open:
        return ErrorCode.INVALID_TXN_STATE
    # Nothing may be aborted, too: the producer may have written what nobody was told of.
    return _prepared(metadata, asked, _next_id(metadata, new_producer_id), wall_ms)


def _is_epoch_of_now(metadata: TransactionMetadata, asked: EndAsked, *, is_retry: bool) -> bool:
    is_current = asked.producer_epoch == metadata.producer_epoch
    if metadata.state in (*PREPARED, *COMPLETE):
        return is_retry or is_current
    return is_current


def _repeated(metadata: TransactionMetadata, asked: EndAsked) -> End:
    """Answer what was decided when this was asked first."""
    if asked.is_commit != (metadata.state is TransactionState.COMPLETE_COMMIT):
        return ErrorCode.INVALID_TXN_STATE
    return EndedAlready(metadata.producer_id, metadata.producer_epoch)


def _next_id(metadata: TransactionMetadata, new_producer_id: int) -> int:
    if not metadata.is_epoch_exhausted:
        return NO_PRODUCER_ID
    assert new_producer_id != NO_PRODUCER_ID
    return new_producer_id


def _prepared(
    metadata: TransactionMetadata, asked: EndAsked, next_producer_id: int, wall_ms: int
) -> TransactionMetadata:
    return prepared(
        metadata,
        is_commit=asked.is_commit,
        client_transaction_version=asked.client_transaction_version,
        next_producer_id=next_producer_id,
        wall_ms=wall_ms,
    )
