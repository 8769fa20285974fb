from __future__ import annotations

from dataclasses import replace

import pytest

from broker.core.transaction_state.listing import ListingFilter, listed, unknown_states
from broker.core.transaction_state.metadata import TransactionMetadata, TransactionState
from protocol.errors import ErrorCode, KafkaError

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
        (ListingFilter(duration_ms=499), ["resting", "open"]),
        (ListingFilter(duration_ms=500), ["resting"]),
        (ListingFilter(duration_ms=1_500), ["resting"]),
        (ListingFilter(duration_ms=1_501), []),
        (ListingFilter(pattern="re.*"), ["resting"]),
        (ListingFilter(pattern="(?i)OPEN|resting"), ["resting", "open"]),
        (ListingFilter(pattern="ope"), []),
        (ListingFilter(pattern="d.*"), []),
        (ListingFilter(["Empty"], pattern="open"), []),
        (ListingFilter(pattern=""), ["resting", "open"]),
    ],
)
def test_what_passes_all_filters_is_listed(wanted: ListingFilter, names: list[str]) -> None:
    found = listed([RESTING, OPEN, DEAD], wanted, wall_ms=1_500)
    assert [one.transactional_id for one in found] == names


def test_a_pattern_that_is_none_is_refused() -> None:
    text = r"Transaction ID pattern `a\(` is not a valid regular expression: missing \)"
    with pytest.raises(KafkaError, match=text) as told:
        listed([], ListingFilter(pattern="a("), wall_ms=0)
    assert told.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_names_that_are_no_states_are_told() -> None:
    assert unknown_states(ListingFilter(["Empty", "empty", "Nonsense"])) == ["empty", "Nonsense"]
