"""Delta debugging: from something that fails to a smaller thing that still fails.

It knows neither plans nor runs: ``simulation.core.smaller_plan`` says what the parts of a plan are,
and whoever calls runs the candidates.
Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002 (ddmin).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Generic, TypeVar

Part = TypeVar("Part")
Whole = TypeVar("Whole")


class Attempts(Generic[Whole]):
    """Asks "does it still fail?" at most ``attempts_max`` times; afterwards the answer is no.

    So a search over it ends early with what was found until then, and never with something that
    nobody saw fail.
    """

    __slots__ = ("_attempts_max", "_still_fails", "made")

    def __init__(self, still_fails: Callable[[Whole], bool], attempts_max: int) -> None:
        assert attempts_max >= 0, f"{attempts_max} attempts"
        self._still_fails = still_fails
        self._attempts_max = attempts_max
        self.made = 0

    @property
    def is_spent(self) -> bool:
        """Whether no attempt is left."""
        return self.made >= self._attempts_max

    def fails(self, candidate: Whole) -> bool:
        """Run one candidate, if attempts are left."""
        if self.is_spent:
            return False
        self.made += 1
        return self._still_fails(candidate)


def fewest_parts(
    parts: Sequence[Part], still_fails: Callable[[tuple[Part, ...]], bool]
) -> tuple[Part, ...]:
    """Return a subsequence of ``parts`` that still fails and of which no single part can go.

    Args:
        parts: known to fail; they are not run again. Their order is kept.
        still_fails: runs a subsequence, no one twice. Must give the same answer for the same
            parts; when it says no to everything from some call on, the result may have more parts.
    """
    search = _Search(parts, still_fails)
    kept = tuple(range(len(parts)))
    if search.fails(()):
        return ()
    chunks = 2
    while len(kept) >= 2:
        smaller = search.smaller(kept, min(chunks, len(kept)))
        if smaller is not None:
            was_subset = len(smaller) * 2 <= len(kept)
            kept = smaller
            chunks = 2 if was_subset else max(chunks - 1, 2)
        elif chunks >= len(kept):
            break
        else:
            chunks *= 2
    return tuple(parts[index] for index in kept)


def smallest_number(
    value: int, at_least: int, still_fails: Callable[[int], bool], step: int = 1
) -> int:
    """Return a number from ``at_least`` to ``value`` that fails, found by halving the gap.

    Args:
        value: known to fail; it is not tried again.
        at_least: never go below.
        still_fails: need not be monotonic; then the result is small, not the smallest.
        step: gaps of this size are left alone, as for times where a millisecond says nothing.
    """
    assert step >= 1, f"a step of {step}"
    if value <= at_least:
        return value
    if still_fails(at_least):
        return at_least
    passing = at_least
    while value - passing > step:
        middle = (value + passing) // 2
        if still_fails(middle):
            value = middle
        else:
            passing = middle
    return value


class _Search(Generic[Part]):
    """Candidates as indices into the parts, and which were tried."""

    def __init__(
        self, parts: Sequence[Part], still_fails: Callable[[tuple[Part, ...]], bool]
    ) -> None:
        self._parts = parts
        self._still_fails = still_fails
        self._passed: dict[tuple[int, ...], None] = {}

    def fails(self, kept: tuple[int, ...]) -> bool:
        if kept in self._passed:
            return False
        if self._still_fails(tuple(self._parts[index] for index in kept)):
            return True
        self._passed[kept] = None
        return False

    def smaller(self, kept: tuple[int, ...], chunks: int) -> tuple[int, ...] | None:
        """Try each chunk alone, then all but each chunk."""
        bounds = [len(kept) * number // chunks for number in range(chunks + 1)]
        ranges = list(pairwise(bounds))
        candidates = [kept[start:end] for start, end in ranges]
        if chunks > 2:
            candidates += [kept[:start] + kept[end:] for start, end in ranges]
        return next((one for one in candidates if len(one) < len(kept) and self.fails(one)), None)
