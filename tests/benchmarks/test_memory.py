from __future__ import annotations

import pytest

from benchmarks.memory import growth_of


def test_the_slope_is_that_of_the_samples_after_the_first_quarter() -> None:
    rising = [10.0 * number for number in range(20)] + [200.0 + number for number in range(60)]
    growth = growth_of("broker-1", rising, period_s=1.0)
    assert growth.slope_mb_per_min == pytest.approx(60.0)
    assert not growth.is_flat


def test_memory_that_goes_up_and_down_is_flat() -> None:
    samples = [50.0 + number % 2 for number in range(100)]
    growth = growth_of("broker-1", samples, period_s=1.0)
    assert growth.is_flat
    assert (growth.largest_mb, growth.slope_mb_per_min) == (51.0, pytest.approx(0.0, abs=0.1))
