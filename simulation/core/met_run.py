"""One run that is over, as those see it who tell what it came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.spans import Span
from simulation.core.history import Function, Kind, Order
from simulation.core.plan import Plan


@dataclass(frozen=True, slots=True)
class Run:
    """One run that is over."""

    plan: Plan
    evidence: Evidence
    worked: Mapping[str, int]
    """Workload -> the records that it wrote or read with success."""
    hits: Mapping[str, int]
    orders: tuple[Span, ...]


def is_done(span: Span, function: Function) -> bool:
    """Tell whether an order of this kind was carried out."""
    return span.begin.function is function and span.end.kind is Kind.OK


def order_of(span: Span) -> Order:
    """Return what was carried out."""
    assert isinstance(span.end.value, Order)
    return span.end.value
