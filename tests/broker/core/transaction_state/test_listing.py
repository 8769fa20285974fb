from __future__ import annotations

from dataclasses import replace

import pytest

from broker.core.transaction_state.listing import ListingFilter, listed, unknown_states
from broker.core.transaction_state.metadata import TransactionMetadata, TransactionState

RESTING = TransactionMetadata(
    transactional_id="resting", producer_id=1, producer_epoch=0, timeout_ms=1, updated_ms=0
)
OPEN = replace(
    RESTING,
    transactional_id="open",
    producer_id=2,
    state=TransactionState.ONGOING,
    started_ms=1_000,
)
DEAD = replace(RESTING, transactional_id="dead", state=TransactionState.DEAD)


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (ListingFilter(), ["resting", "open"]),
        (ListingFilter(["Ongoing"]), ["open"]),
        (ListingFilter(["Ongoing", "Empty"]), ["resting", "open"]),
        (ListingFilter(["Nonsense"]), []),
        (ListingFilter(["Dead"]), []),
        (ListingFilter(producer_ids=[1]), ["resting"]),
        (ListingFilter(["Ongoing"], [1]), []),
        (ListingFilter(duration_ms_min=500), ["open"]),
        (ListingFilter(duration_ms_min=501), []),
        (ListingFilter(duration_ms_min=0), ["open"]),
    ],
)
def test_what_passes_all_filters_is_listed(wanted: ListingFilter, names: list[str]) -> None:
    found = listed([RESTING, OPEN, DEAD], wanted, wall_ms=1_500)
    assert [one.transactional_id for one in found] == names


def test_names_that_are_no_states_are_told() -> None:
    assert unknown_states(ListingFilter(["Empty", "empty", "Nonsense"])) == ["empty", "Nonsense"]
