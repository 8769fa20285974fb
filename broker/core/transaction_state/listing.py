"""Which transactional ids ListTransactions shows.

Source: TransactionStateManager.listTransactionStates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from broker.core.transaction_state.metadata import TransactionMetadata, TransactionState

ANY_DURATION: Final = -1
_STATES: Final = {state.kafka_name: state for state in TransactionState}


class ListingFilter(NamedTuple):
    """What is asked for; what is empty or -1 asks for all."""

    state_names: Sequence[str] = ()
    producer_ids: Sequence[int] = ()
    duration_ms_min: int = ANY_DURATION
    """How long it has been open."""


def unknown_states(wanted: ListingFilter) -> list[str]:
    """Return the names that are no states."""
    return [name for name in wanted.state_names if name not in _STATES]


def listed(
    known: Iterable[TransactionMetadata], wanted: ListingFilter, wall_ms: int
) -> Iterator[TransactionMetadata]:
    """Yield those that pass; none where only unknown states are asked for."""
    states = {_STATES[name] for name in wanted.state_names if name in _STATES}
    producer_ids = set(wanted.producer_ids)
    for one in known:
        if one.state is TransactionState.DEAD:
            continue
        if wanted.state_names and one.state not in states:
            continue
        if producer_ids and one.producer_id not in producer_ids:
            continue
        if not _is_open_for(one, wanted.duration_ms_min, wall_ms):
            continue
        yield one


def _is_open_for(one: TransactionMetadata, duration_ms_min: int, wall_ms: int) -> bool:
    if duration_ms_min < 0:
        return True
    return one.started_ms >= 0 and wall_ms - one.started_ms >= duration_ms_min
