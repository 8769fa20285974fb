"""What the matrix counts: kinds of crashes, what the starts afterwards came to, rows of a table.

Values only; nothing is run here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class Crash(Enum):
    """How it ends."""

    KILL = "kill -9"
    POWER_CUT = "power cut"
    """What was not synced is lost."""
    TORN = "torn power cut"
    """A drawn part of what was not synced stays."""
    ERROR = "disk error"
    """One log dir answers every operation with EIO; the broker starts again on a good disk."""


class Outcome(Enum):
    """What the start after a crash came to."""

    RECOVERED = "recovered"
    OFFLINE = "offline"
    """A replica or a log dir did not come back in time."""
    REFUSED = "refused"
    """The broker did not start."""
    LOST = "lost"
    """Something promised is missing, or is there twice, or is nobody's."""


class Moment(NamedTuple):
    """One crash: when it comes and how."""

    number: int
    """Of the disk operation of its story."""
    crash: Crash
    path: str
    """The log dir."""
    before: str
    """The operation."""
    draw: int = 0
    """Which of the torn power cuts there."""


class Verdict(NamedTuple):
    """What a moment came to."""

    outcome: Outcome
    reason: str = ""


@dataclass(slots=True)
class Row:
    """The outcomes of one story under one kind of crash."""

    story: str
    crash: Crash
    outcomes: Counter[Outcome] = field(default_factory=Counter[Outcome])
    complaints: list[str] = field(default_factory=list[str])

    @property
    def is_bad(self) -> bool:
        """Whether a start was refused or something is lost."""
        return bool(self.outcomes[Outcome.REFUSED] or self.outcomes[Outcome.LOST])

    def add(self, moment: Moment, verdict: Verdict) -> None:
        """Count one moment."""
        self.outcomes[verdict.outcome] += 1
        if verdict.outcome is not Outcome.RECOVERED:
            where = f"at operation {moment.number}, {moment.before} in {moment.path}"
            self.complaints.append(
                f"{self.story}, {self.crash.value} {where}: {verdict.outcome.value}, "
                f"{verdict.reason}"
            )
