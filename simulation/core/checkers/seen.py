"""What each checker could look at in a run, so that nobody takes its silence for a finding.

A world in which nobody looks at something leaves the checkers that need it with less, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from simulation.core.checkers import (
    acks,
    agreement,
    answers,
    bounds,
    containment,
    denials,
    durability,
    high_watermark,
    idempotence,
    journal,
    journal_first,
    leadership,
    liveness,
    offline,
    orders,
    placement,
)
from simulation.core.checkers.evidence import Evidence
from simulation.core.samples import Samples, Sight


class Reach(StrEnum):
    """How far a checker could see."""

    CHECKED = "checked"
    IN_PART = "in part"
    NOT_SEEN = "not seen"


class Check(NamedTuple):
    """One checker in one run."""

    checker: str
    reach: Reach
    without: tuple[str, ...] = ()
    """What it would have looked at and could not, or what was empty."""

    def __str__(self) -> str:
        return (
            f"{self.checker} (without {', '.join(self.without)})" if self.without else self.checker
        )


class _Wants(NamedTuple):
    """What a checker looks at."""

    needs: tuple[Sight, ...]
    """Without any of these it sees nothing."""
    likes: tuple[Sight, ...] = ()
    """Without these it sees less."""


_WANTS: Final[Mapping[str, _Wants]] = {
    durability.NAME: _Wants((Sight.CLIENTS, Sight.LOGS), (Sight.DECISIONS,)),
    leadership.NAME: _Wants((Sight.DECISIONS,), (Sight.REPLICAS,)),
    high_watermark.NAME: _Wants((Sight.REPLICAS,)),
    acks.NAME: _Wants((Sight.CLIENTS, Sight.REPLICAS, Sight.COMMITS), (Sight.DECISIONS,)),
    agreement.NAME: _Wants((Sight.LOGS,)),
    containment.NAME: _Wants((Sight.CLIENTS, Sight.REPLICAS, Sight.LOG_DIRS)),
    placement.NAME: _Wants((Sight.LOGS,), (Sight.DECISIONS,)),
    liveness.NAME: _Wants((Sight.DECISIONS, Sight.REPLICAS)),
    journal.NAME: _Wants((Sight.JOURNAL,), (Sight.CONTROLLER,)),
    journal_first.NAME: _Wants((Sight.CONTROLLER,)),
    idempotence.NAME: _Wants((Sight.LOGS,)),
    offline.NAME: _Wants((Sight.DECISIONS,), (Sight.REPLICAS, Sight.LOG_DIRS)),
    denials.NAME: _Wants((Sight.CLIENTS, Sight.DECISIONS)),
    orders.NAME: _Wants((Sight.CLIENTS, Sight.DECISIONS), (Sight.REPLICAS, Sight.LOGS)),
    answers.NAME: _Wants((Sight.CLIENTS,), (Sight.CONNECTIONS,)),
    bounds.NAME: _Wants((Sight.QUEUES,)),
}


def checks_of(evidence: Evidence) -> tuple[Check, ...]:
    """Return how far each checker could see, in the order in which findings are told."""
    seen = {sight: None for sight in evidence.samples.sights if _is_there(sight, evidence)}
    logs = tuple(f"a leader's log of {tp}" for tp in durability.unjudged(evidence))
    lacking = {durability.NAME: logs}
    return tuple(_check(name, wants, seen, lacking.get(name, ())) for name, wants in _WANTS.items())


def _check(name: str, wants: _Wants, seen: Mapping[Sight, None], lacking: tuple[str, ...]) -> Check:
    """Say how far one could see; ``lacking``: what was missing of something that was looked at."""
    without = tuple(sight.value for sight in (*wants.needs, *wants.likes) if sight not in seen)
    without += lacking
    if any(sight not in seen for sight in wants.needs):
        return Check(name, Reach.NOT_SEEN, without)
    return Check(name, Reach.IN_PART if without else Reach.CHECKED, without)


def _is_there(sight: Sight, evidence: Evidence) -> bool:
    """Tell whether a look found anything: nothing compared is nothing checked."""
    samples: Samples = evidence.samples
    found = {
        Sight.CLIENTS: evidence.history,
        Sight.DECISIONS: samples.partitions,
        Sight.REPLICAS: samples.replicas,
        Sight.LOG_DIRS: samples.log_dirs,
        Sight.LOGS: [log for log in samples.logs if log.is_readable],
        Sight.JOURNAL: samples.journals,
        Sight.QUEUES: samples.gauges,
    }
    return bool(found.get(sight, True))
