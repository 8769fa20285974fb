"""Pairs the begin of every operation that ended with its end. Judges nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from simulation.core.history import Kind, Operation


class Span(NamedTuple):
    """One operation from its begin to its end."""

    begin: Operation
    end: Operation


def spans_of(history: Iterable[Operation]) -> list[Span]:
    """Return the operations that ended, in the order of their ends."""
    begun: dict[int, Operation] = {}
    spans: list[Span] = []
    for operation in history:
        if operation.kind is Kind.INVOKE:
            begun[operation.process] = operation
        elif operation.process in begun:
            spans.append(Span(begun.pop(operation.process), operation))
    return spans
