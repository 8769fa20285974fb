"""How long things took, in buckets that are the same in every process: histograms merge by summing.

It reads no clock and knows no table.
"""

from __future__ import annotations

from typing import Final

_SUB_BUCKET_BITS: Final = 3
_BUCKET_COUNT: Final = 40 << _SUB_BUCKET_BITS
"""Exact below 16, then eight per power of two: values from 0 to 2**40."""
_EXACT_BITS: Final = _SUB_BUCKET_BITS + 1


class Histogram:
    """How often which value was seen, in buckets whose width is at most one eighth of the value."""

    __slots__ = ("count", "counts", "max", "sum")

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0
        self.max = 0
        self.counts = [0] * _BUCKET_COUNT

    def observe(self, value: int) -> None:
        """Count one ``value``; negative ones count as 0.

        Every request and every append pays for this: no calls that can be spared.
        """
        if value < 0:  # noqa: PLR1730 - max() is a call
            value = 0
        self.count += 1
        self.sum += value
        if value > self.max:  # noqa: PLR1730 - the same
            self.max = value
        shift = value.bit_length() - _EXACT_BITS
        index = value if shift <= 0 else (shift << _SUB_BUCKET_BITS) + (value >> shift)
        self.counts[index if index < _BUCKET_COUNT else _BUCKET_COUNT - 1] += 1

    def add(self, other: Histogram) -> None:
        """Count what ``other`` has seen as well."""
        self.count += other.count
        self.sum += other.sum
        self.max = max(self.max, other.max)
        self.counts = [one + more for one, more in zip(self.counts, other.counts, strict=True)]

    def quantile(self, share: float) -> int:
        """Return the upper bound of the bucket that ``share`` (0 to 1) of the values reach.

        At most the largest value seen; 0 when there is none.
        """
        left = share * self.count
        for index, count in enumerate(self.counts):
            left -= count
            if count and left <= 0 and index < _BUCKET_COUNT - 1:
                return min(_upper_bound(index), self.max)
        return self.max

    def buckets(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the upper bounds of the filled buckets, ascending, and their counts."""
        filled = [index for index, count in enumerate(self.counts) if count]
        return tuple(map(_upper_bound, filled)), tuple(self.counts[index] for index in filled)


def _upper_bound(index: int) -> int:
    """Return the largest value of a bucket."""
    if index < 2 << _SUB_BUCKET_BITS:
        return index
    shift = (index >> _SUB_BUCKET_BITS) - 1
    mantissa = index - (shift << _SUB_BUCKET_BITS)
    return ((mantissa + 1) << shift) - 1
