"""InitProducerId with a transactional id: who may go on, with which epoch, and who is out.

Source: TransactionCoordinator.handleInitProducerId, KIP-360.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.core.transaction_state.end import aborted_by_coordinator
from broker.core.transaction_state.metadata import (
    PREPARED,
    TransactionMetadata,
    TransactionState,
    is_epoch_exhausted,
    with_epoch_raised,
    with_next_producer_id,
)
from protocol.errors import ErrorCode
from protocol.ids import NO_PRODUCER_EPOCH


class ProducerIdAndEpoch(NamedTuple):
    """What a producer says that it has."""

    producer_id: int
    producer_epoch: int


class BeginAsked(NamedTuple):
    """InitProducerId of a producer that starts, or goes on after an error."""

    transactional_id: str
    timeout_ms: int
    """After which its transactions are aborted."""
    expected: ProducerIdAndEpoch | None = None
    """What it has; None where it starts."""


class AbortedFirst(NamedTuple):
    """An open transaction was in the way; the producer is told to ask again."""

    metadata: TransactionMetadata
    """Its abort, decided, with an epoch that nobody is ever told."""


def needs_producer_id(metadata: TransactionMetadata | None, asked: BeginAsked) -> bool:
    """Tell whether ``begun`` will use a new producer id."""
    if metadata is None:
        return True
    if metadata.state in PREPARED or metadata.state is TransactionState.ONGOING:
        return False
    return metadata.is_epoch_exhausted and (
        asked.expected is None or asked.expected.producer_epoch == metadata.producer_epoch
    )


def begun(
    metadata: TransactionMetadata | None,
    asked: BeginAsked,
    *,
    new_producer_id: int,
    transaction_version: int,
    wall_ms: int,
) -> TransactionMetadata | AbortedFirst | ErrorCode:
    """Return the next state of a transactional id whose producer starts, or starts again.

    ``new_producer_id`` is used where ``needs_producer_id`` says so; else it may be -1.
    ``transaction_version`` is the cluster's.
    """
    expected = asked.expected
    if metadata is None:
        metadata = TransactionMetadata(
            transactional_id=asked.transactional_id,
            producer_id=new_producer_id,
            timeout_ms=asked.timeout_ms,
            updated_ms=wall_ms,
        )
    if expected is not None and not _may_go_on(metadata, expected):
        return ErrorCode.PRODUCER_FENCED
    if metadata.state in PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if metadata.state is TransactionState.ONGOING:
        return AbortedFirst(aborted_by_coordinator(metadata, transaction_version, wall_ms))
    if needs_producer_id(metadata, asked):
        return with_next_producer_id(
            metadata,
            new_producer_id,
            timeout_ms=asked.timeout_ms,
            keeps_last_epoch=expected is not None,
            wall_ms=wall_ms,
        )
    if metadata.is_epoch_exhausted:
        return ErrorCode.PRODUCER_FENCED
    return with_epoch_raised(
        metadata,
        timeout_ms=asked.timeout_ms,
        expected_epoch=None if expected is None else expected.producer_epoch,
        wall_ms=wall_ms,
    )


def _may_go_on(metadata: TransactionMetadata, expected: ProducerIdAndEpoch) -> bool:
    """Tell whether a producer is the one that is known; its epoch is looked at later.

    It is, too, when nobody has an epoch yet, and when it did not hear that it has another id.
    """
    return (
        metadata.producer_epoch == NO_PRODUCER_EPOCH
        or expected.producer_id == metadata.producer_id
        or metadata.will_be(expected.producer_id)
        or (
            expected.producer_id == metadata.previous_producer_id
            and is_epoch_exhausted(expected.producer_epoch)
        )
    )
