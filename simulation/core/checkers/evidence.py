"""What checkers get and what they give.

No rules: each checker is a module of its own, and `table` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from protocol.ids import TopicPartition
from simulation.core.checkers.fault_model import Forgiven, forgiven_of
from simulation.core.checkers.spans import Span, spans_of
from simulation.core.history import Operation
from simulation.core.samples import Samples


class Violation(NamedTuple):
    """One thing that must never be, and was."""

    checker: str
    at_us: int
    text: str
    """A sentence with the evidence."""

    def __str__(self) -> str:
        return f"{self.at_us / 1_000_000:.6f} s: {self.checker}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLevel:
    """What is promised to partitions that no fault concerns."""

    answer_us_max: int = 2_000_000
    """From the wish to write to the acknowledgement."""
    settle_us: int = 10_000_000
    """For so long after a fault its traces excuse."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One run that is over; what most checkers want of it is found out once."""

    history: Sequence[Operation]
    samples: Samples
    service_level: ServiceLevel = ServiceLevel()
    configs: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the cluster file sets for all brokers."""
    broker_configs: Mapping[int, Mapping[str, str]] = field(
        default_factory=dict[int, Mapping[str, str]]
    )
    """Broker -> what it sets for that one alone."""

    @cached_property
    def spans(self) -> list[Span]:
        """The operations that ended, in the order of their ends."""
        return spans_of(self.history)

    @property
    def forgiven(self) -> dict[TopicPartition, int]:
        """Until when what was acknowledged may be lost, as ``Forgiven.until_us``."""
        return self._forgiven.until_us

    @property
    def lost_epochs(self) -> dict[TopicPartition, int]:
        """In which leader epoch all of an Isr may have lost what they had: ``Forgiven.epochs``."""
        return self._forgiven.epochs

    @cached_property
    def _forgiven(self) -> Forgiven:
        return forgiven_of(self.samples)


Checker: TypeAlias = Callable[[Evidence], list[Violation]]
