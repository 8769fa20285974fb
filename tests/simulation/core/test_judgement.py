from __future__ import annotations

import pytest

from simulation.core.judgement import ObservationPair, is_between
from simulation.core.observation import Observation
from tests.simulation.core.observed import ORDERS_0, ORDERS_1, SEEN


@pytest.mark.parametrize(
    ("bounds", "holds"),
    [
        ((None, None, None), True),
        ((5, None, None), True),
        ((4, None, None), False),
        ((None, 5, 5), True),
        ((None, 6, None), False),
        ((None, None, 4), False),
    ],
)
def test_a_number_is_what_was_asked_for_or_lies_between(
    bounds: tuple[float | None, float | None, float | None], holds: bool
) -> None:
    assert is_between(5, *bounds) is holds


def test_partitions_are_those_that_one_broker_tells() -> None:
    nothing = Observation(now_ms=0)

    assert list(ObservationPair(SEEN, SEEN).partitions) == [ORDERS_0, ORDERS_1]
    assert list(ObservationPair(nothing, SEEN).partitions) == []
