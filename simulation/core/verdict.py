"""What came of a run: its story and everything that must not be and was. Judges nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from simulation.core.checkers.evidence import Violation
from simulation.core.checkers.reach import Check, Reach
from simulation.core.features import Situation


class StoryLine(NamedTuple):
    """One thing that happened."""

    at_ms: int
    """Since the cluster was ready and the workloads began; below 0 before that."""
    text: str

    def __str__(self) -> str:
        return f"{self.at_ms / 1000:9.3f} s  {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One run that is over. It can be sent between processes."""

    plan: str
    """The plan's name."""
    violations: tuple[Violation, ...]
    """None: the run is as it must be."""
    story: tuple[StoryLine, ...]
    lasted_ms: int
    healed_after_ms: int | None = None
    """From the end of the faults until everything was well again; None: it did not come to that."""
    acknowledged: int = 0
    """Records, of all workloads."""
    read: int = 0
    fault_hits: Mapping[str, int] = field(default_factory=dict[str, int])
    """By the name of the fault."""
    empty_faults: tuple[str, ...] = ()
    """Names of those that were set and met nothing, where the plan counts them."""
    done: Mapping[str, int] = field(default_factory=dict[str, int])
    """The word of an action -> how often it was done and went as the plan says."""

    situations: tuple[Situation, ...] = ()
    """Those that the run came to."""
    checks: tuple[Check, ...] = ()
    """How far each checker could see; none: the run did not come to them."""

    def checks_of(self, reach: Reach) -> tuple[Check, ...]:
        """Return the checkers that could see so far."""
        return tuple(check for check in self.checks if check.reach is reach)

    @property
    def is_ok(self) -> bool:
        """Whether nothing was found."""
        return not self.violations
