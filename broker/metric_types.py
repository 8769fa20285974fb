"""What a broker counts with: counters, gauges and histograms, and how a class declares its own.

A number is declared once, as a field, together with the name under which it is exposed; who counts
names the field. It holds no number of any broker and knows no exposition format.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, field, fields
from typing import Any, ClassVar, Final, Literal, NamedTuple, Protocol, TypeAlias

MetricKind: TypeAlias = Literal["counter", "gauge"]

_SUB_BUCKET_BITS: Final = 3
_BUCKET_COUNT: Final = 40 << _SUB_BUCKET_BITS
"""Values from 0 to 2**40 in steps of at most one eighth."""


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def add(self, amount: int = 1) -> None:
        """Count ``amount`` more."""
        self.value += amount


class Gauge:
    """A number of this moment."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def set(self, value: int) -> None:
        """Replace the number."""
        self.value = value


class Histogram:
    """How often which value was seen, in buckets whose width is at most one eighth of the value."""

    __slots__ = ("count", "counts", "max", "sum")

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0
        self.max = 0
        self.counts = [0] * _BUCKET_COUNT

    def observe(self, value: int) -> None:
        """Count one ``value``; negative ones count as 0."""
        value = max(value, 0)
        self.count += 1
        self.sum += value
        self.max = max(self.max, value)
        self.counts[_bucket(value)] += 1

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


class Declared(NamedTuple):
    """What is exposed of one field."""

    attribute: str
    """The field's name."""
    name: str
    """A family of Prometheus."""
    kind: MetricKind
    help: str


class Declarer(Protocol):
    """A dataclass, or an instance of one."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def counter(name: str, text: str) -> Counter:
    """Declare a counter as a field of a dataclass."""
    return field(default_factory=Counter, metadata=_exposed(name, "counter", text))


def gauge(name: str, text: str) -> Gauge:
    """Declare a gauge as a field of a dataclass."""
    return field(default_factory=Gauge, metadata=_exposed(name, "gauge", text))


def declared(owner: Declarer | type[Declarer]) -> Iterator[Declared]:
    """Return what a dataclass declares, in the order of its fields."""
    for one in fields(owner):
        if one.metadata:
            yield Declared(one.name, *one.metadata["exposed"])


def _exposed(name: str, kind: MetricKind, text: str) -> dict[str, tuple[str, MetricKind, str]]:
    return {"exposed": (name, kind, text)}


def _bucket(value: int) -> int:
    """Return the index of the bucket: exact below 16, then eight buckets per power of two."""
    shift = max(value.bit_length() - 1 - _SUB_BUCKET_BITS, 0)
    index = (shift << _SUB_BUCKET_BITS) + (value >> shift)
    return min(index, _BUCKET_COUNT - 1)


def _upper_bound(index: int) -> int:
    """Return the largest value of a bucket."""
    if index < 2 << _SUB_BUCKET_BITS:
        return index
    shift = (index >> _SUB_BUCKET_BITS) - 1
    mantissa = index - (shift << _SUB_BUCKET_BITS)
    return ((mantissa + 1) << shift) - 1
