"""What plans are drawn with: the part of ``random.Random`` they need, and a few shapes of chance.

Each concern has a stream of its own, so that one more draw in one changes nothing in the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

T = TypeVar("T")


class Dice(Protocol):
    """One stream of chance; ``random.Random`` is one."""

    def random(self) -> float:
        """Return a number from 0 to just below 1."""
        ...

    def randint(self, a: int, b: int, /) -> int:
        """Return a number from ``a`` to ``b``, both included."""
        ...

    def choice(self, seq: Sequence[T], /) -> T:
        """Return one of ``seq``."""
        ...

    def sample(self, population: Sequence[T], k: int) -> list[T]:
        """Return ``k`` different ones of ``population``, in any order."""
        ...


Streams: TypeAlias = Callable[[str], Dice]
"""The stream of a concern; the same one at every call."""


def chosen(dice: Dice, weights: dict[T, int]) -> T:
    """Return one of the keys, as often as its weight says."""
    left = dice.randint(1, sum(weights.values()))
    for value, weight in weights.items():
        left -= weight
        if left <= 0:
            return value
    raise AssertionError("the weights add up to less than their sum")


def skewed(dice: Dice, least: int, most: int) -> int:
    """Return a number between both, small ones more often."""
    return least + (dice.randint(0, most - least) >> dice.randint(0, 3))
