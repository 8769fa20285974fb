"""What the matrix counts: kinds of crashes, what the starts afterwards came to, rows of a table.

Values only; nothing is run here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from protocol.faults.model import CONTROLLER_NODE
from simulation.core.plan import Plan


class Crash(Enum):
    """How it ends."""

    KILL = "kill -9"
    POWER_CUT = "power cut"
    """What was not synced is lost."""
    TORN = "torn power cut"
    """A drawn part of what was not synced stays."""
    ERROR = "disk error"
    """One disk answers every operation with EIO; the process starts again on a good one."""
    RETURN = "disk error, dir restarted"
    """As before, but the process lives: the disk is repaired, the log dir restarted (KIP-18)."""


DISK_ERRORS: Final = (Crash.ERROR, Crash.RETURN)
"""One and the same until the story's end."""


def nodes_of(plan: Plan) -> tuple[tuple[str, ...], ...]:
    """Return who crashes in a story, by turns."""
    return plan.crashes or tuple((name,) for name in plan.cluster.node_names)


def crashes_of(nodes: Sequence[str]) -> tuple[Crash, ...]:
    """Return the kinds of crashes that these nodes can have, the first at its disk operations.

    A controller has no log dir to restart. Where two nodes go at once the second is killed, and a
    disk that fails would leave it time. Two brokers are both killed: an Isr of these two loses
    records when one of them loses power and the other one is given up first (KIP-966).
    """
    if len(nodes) == 1:
        has_log_dirs = nodes[0] != CONTROLLER_NODE
        return tuple(each for each in Crash if each is not Crash.RETURN or has_log_dirs)
    if CONTROLLER_NODE in nodes:
        return (Crash.KILL, Crash.POWER_CUT, Crash.TORN)
    return (Crash.KILL,)


class Outcome(Enum):
    """What the start after a crash came to."""

    RECOVERED = "recovered"
    OFFLINE = "offline"
    """Something was not well in time."""
    REFUSED = "refused"
    """A node did not start, or ended by itself."""
    LOST = "lost"
    """Something promised is missing, or is there twice, or is nobody's."""


class CrashPoint(NamedTuple):
    """One crash: when it comes and how."""

    number: int
    """Of the disk operation of its story."""
    crash: Crash
    path: str
    """The log dir, or the controller's."""
    before: str
    """The operation."""
    draw: int = 0
    """Which of the torn power cuts there."""


class CrashResult(NamedTuple):
    """What a moment came to."""

    outcome: Outcome
    reason: str = ""


@dataclass(slots=True)
class Row:
    """The outcomes of one story under one kind of crash of one node."""

    story: str
    node: str
    """Who crashes: ``broker-1``, ``controller``, ``broker-1+controller`` at once."""
    crash: Crash
    outcomes: Counter[Outcome] = field(default_factory=Counter[Outcome])
    findings: list[str] = field(default_factory=list[str])

    @property
    def is_bad(self) -> bool:
        """Whether anything did not recover: no story expects less."""
        return any(self.outcomes[each] for each in Outcome if each is not Outcome.RECOVERED)

    def add(self, moment: CrashPoint, verdict: CrashResult) -> None:
        """Count one moment."""
        self.outcomes[verdict.outcome] += 1
        if verdict.outcome is not Outcome.RECOVERED:
            where = f"at operation {moment.number}, {moment.before} in {moment.path}"
            self.findings.append(
                f"{self.story}, {self.node}, {self.crash.value} {where}: "
                f"{verdict.outcome.value}, {verdict.reason}"
            )
