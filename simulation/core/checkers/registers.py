"""Which values something may have in the end, when orders set it that may overlap or be unanswered.

Linearizability of a register, asked of its last value alone: an order that was answered took
effect between its begin and its end, one of which nobody knows may take effect at any later time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar("Value")


class Write(NamedTuple, Generic[Value]):
    """One order that set, or may have set, a value."""

    begin_us: int
    end_us: int
    is_sure: bool
    """It was carried out, and nothing but a later order takes it back."""
    value: Value
    may_come_again: bool = False
    """It may take effect at any later time, for the first time or once more."""


def possible_values(writes: Sequence[Write[Value]]) -> list[Value] | None:
    """Return what the value may be when all is over; None: it may be anything.

    Without a sure order the value may be what it was before the first.
    """
    sure = [write for write in writes if write.is_sure]
    if not sure:
        return None
    begun_last_us = max(write.begin_us for write in sure)
    return [
        write.value for write in writes if write.may_come_again or write.end_us >= begun_last_us
    ]
