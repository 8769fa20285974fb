"""Shapes of chance."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.core.dice import chosen, skewed


def test_values_come_as_often_as_they_weigh() -> None:
    dice = Random(1)
    counts = Counter(chosen(dice, {"often": 9, "seldom": 1, "never": 0}) for _ in range(5000))
    assert counts["often"] == pytest.approx(4500, abs=150)
    assert counts["never"] == 0


@given(seed=st.integers(), least=st.integers(0, 100), span=st.integers(0, 100_000))
def test_skewed_numbers_stay_in_bounds(seed: int, least: int, span: int) -> None:
    assert least <= skewed(Random(seed), least, least + span) <= least + span


def test_skewed_numbers_are_mostly_small_and_sometimes_large() -> None:
    dice = Random(2)
    found = [skewed(dice, 0, 1000) for _ in range(2000)]
    assert sum(number < 250 for number in found) > 1000
    assert max(found) > 900
