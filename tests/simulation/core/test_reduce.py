"""Delta debugging: small, in order, and never something that passes."""

from __future__ import annotations

from itertools import combinations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from simulation.core.reduce import Attempts, fewest_parts, smallest_number

PARTS = st.lists(st.integers(0, 9), min_size=1, max_size=12)


def is_subsequence(smaller: tuple[int, ...], larger: list[int]) -> bool:
    remaining = iter(larger)
    return all(one in remaining for one in smaller)


@st.composite
def parts_and_culprits(draw: st.DrawFn) -> tuple[list[int], frozenset[int]]:
    parts = list(range(draw(st.integers(1, 20))))
    return parts, frozenset(draw(st.lists(st.sampled_from(parts), max_size=4)))


@given(parts_and_culprits())
def test_exactly_the_parts_that_are_needed_together_remain(
    drawn: tuple[list[int], frozenset[int]],
) -> None:
    parts, culprits = drawn
    assert fewest_parts(parts, lambda kept: culprits <= set(kept)) == tuple(sorted(culprits))


@given(parts=PARTS, chance=st.randoms(use_true_random=False))
def test_whatever_the_predicate_says_the_result_failed_and_is_in_order(
    parts: list[int], chance: Random
) -> None:
    answers: dict[tuple[int, ...], bool] = {tuple(parts): True}

    def still_fails(kept: tuple[int, ...]) -> bool:
        return answers.setdefault(kept, chance.random() < 0.4)

    result = fewest_parts(parts, still_fails)
    assert answers[result]
    assert is_subsequence(result, parts)


@given(parts=PARTS, needed=st.integers(0, 40))
def test_no_single_part_of_the_result_can_go(parts: list[int], needed: int) -> None:
    needed = min(needed, sum(parts))
    result = fewest_parts(parts, lambda kept: sum(kept) >= needed)
    assert sum(result) >= needed
    assert (
        all(sum(less) < needed for less in combinations(result, max(len(result) - 1, 0)))
        or not result
    )


@given(parts=PARTS)
def test_no_candidate_is_run_twice(parts: list[int]) -> None:
    # All parts differ, so that equal candidates are the same candidate.
    tried: list[tuple[int, ...]] = []
    distinct = list(enumerate(parts))

    def still_fails(kept: tuple[tuple[int, int], ...]) -> bool:
        tried.append(tuple(index for index, _ in kept))
        return {index for index, _ in kept} >= {0, len(parts) - 1}

    fewest_parts(distinct, still_fails)
    assert len(tried) == len(set(tried))


@given(parts=st.lists(st.integers(0, 99), min_size=1, max_size=30), limit=st.integers(0, 12))
def test_attempts_bound_the_search_and_what_it_returns_still_fails(
    parts: list[int], limit: int
) -> None:
    def holds_zero(kept: tuple[int, ...]) -> bool:
        return 0 in kept

    attempts = Attempts(holds_zero, limit)
    failing = [*parts, 0]
    result = fewest_parts(failing, attempts.fails)
    assert 0 in result
    assert attempts.made <= limit


@given(value=st.integers(0, 5000), least=st.integers(0, 5000), least_failing=st.integers(0, 5000))
def test_the_smallest_failing_number_is_found(value: int, least: int, least_failing: int) -> None:
    least_failing = min(least_failing, value)
    found = smallest_number(value, least, lambda number: number >= least_failing)
    assert found == (max(least, least_failing) if least < value else value)


def test_gaps_of_a_step_are_left_alone() -> None:
    tried: list[int] = []

    def still_fails(number: int) -> bool:
        tried.append(number)
        return number >= 777

    found = smallest_number(10_000, 0, still_fails, step=500)
    assert 777 <= found <= 777 + 500
    assert len(tried) < 8


def test_a_part_that_fails_by_itself_goes_when_nothing_is_needed() -> None:
    assert fewest_parts([1, 2, 3], lambda _: True) == ()
