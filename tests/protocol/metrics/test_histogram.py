"""Histograms: latencies within an eighth, and sums that lose nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol.metrics.histogram import Histogram

VALUES = st.lists(st.integers(0, 1 << 39), min_size=1, max_size=50)


def histogram_of(values: list[int]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.observe(value)
    return histogram


@given(VALUES, st.floats(0.01, 1))
def test_a_quantile_is_at_most_an_eighth_above_the_true_one(values: list[int], share: float):
    histogram = histogram_of(values)
    ordered = sorted(values)
    rank = next(i for i in range(1, len(values) + 1) if i >= share * len(values))
    true = ordered[rank - 1]
    assert true <= histogram.quantile(share) <= true + true // 8


def test_an_empty_histogram_has_quantile_zero():
    assert Histogram().quantile(0.99) == 0


def test_negative_and_huge_values_do_not_break_a_histogram():
    histogram = Histogram()
    histogram.observe(-5)
    histogram.observe(1 << 60)
    assert histogram.count == 2
    assert histogram.quantile(1.0) == 1 << 60


@given(VALUES, VALUES)
def test_the_sum_of_two_histograms_is_the_histogram_of_both(one: list[int], other: list[int]):
    merged = histogram_of(one)
    merged.add(histogram_of(other))
    both = histogram_of(one + other)
    assert (merged.count, merged.sum, merged.max) == (both.count, both.sum, both.max)
    assert merged.buckets() == both.buckets()


@given(VALUES)
def test_buckets_have_ascending_bounds_and_hold_every_value_once(values: list[int]):
    bounds, counts = histogram_of(values).buckets()
    assert list(bounds) == sorted(set(bounds))
    assert sum(counts) == len(values)
    assert all(any(value <= bound for bound in bounds) for value in values)
