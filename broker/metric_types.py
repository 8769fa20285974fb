"""What a broker counts with: counters and gauges, and how a class declares its own.

A number is declared once, as a field, together with the name under which it is exposed; who counts
names the field. It holds no number of any broker and knows no exposition format.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, field, fields
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

MetricKind: TypeAlias = Literal["counter", "gauge"]


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
