"""Which transactional ids ListTransactions shows.

Source: TransactionStateManager.listTransactionStates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from broker.core.regular_expressions import compiled
from broker.core.transaction_state.metadata import TransactionMetadata, TransactionState

ANY_DURATION: Final = -1
_STATES: Final = {state.kafka_name for state in TransactionState}


class ListingFilter(NamedTuple):
    """What is asked for; what is empty or -1 asks for all."""

    state_names: Collection[str] = ()
    producer_ids: Collection[int] = ()
    duration_ms: int = ANY_DURATION
    """It began longer ago than so many; what never began one has, in Kafka, for ever."""
    pattern: str | None = None
    """Of RE2, for the whole transactional id."""


def unknown_states(wanted: ListingFilter) -> list[str]:
    """Return the names that are no states."""
    return [name for name in wanted.state_names if name not in _STATES]


def listed(
    known: Iterable[TransactionMetadata], wanted: ListingFilter, wall_ms: int
) -> list[TransactionMetadata]:
    """Return those that pass; none where only unknown states are asked for.

    Raises:
        KafkaError: INVALID_REGULAR_EXPRESSION.
    """
    expression = compiled(wanted.pattern, "Transaction ID pattern") if wanted.pattern else None
    return [
        one
        for one in known
        if _passes(one, wanted, wall_ms)
        and (expression is None or expression.fullmatch(one.transactional_id))
    ]


def _passes(one: TransactionMetadata, wanted: ListingFilter, wall_ms: int) -> bool:
    """Tell whether an id passes all filters but the pattern."""
    if one.state is TransactionState.DEAD:
        return False
    if wanted.producer_ids and one.producer_id not in wanted.producer_ids:
        return False
    if wanted.state_names and one.state.kafka_name not in wanted.state_names:
        return False
    return wanted.duration_ms < 0 or wall_ms - one.started_ms > wanted.duration_ms
