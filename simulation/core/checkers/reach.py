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
    deleted_records,
    denials,
    durability,
    elections,
    epochs,
    group_offsets,
    groups,
    high_watermark,
    idempotence,
    journal,
    journal_first,
    leadership,
    liveness,
    metadata,
    offline,
    orders,
    placement,
    polls,
    processing,
    producers,
    reads,
    refused_places,
    retention,
    settled,
    stable_offsets,
    states,
    transactions,
    unassigned,
)
from simulation.core.checkers.evidence import Evidence
from simulation.core.samples import Samples, SampleSource


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

    needs: tuple[SampleSource, ...]
    """Without any of these it sees nothing."""
    likes: tuple[SampleSource, ...] = ()
    """Without these it sees less."""


_WANTS: Final[Mapping[str, _Wants]] = {
    durability.NAME: _Wants((SampleSource.CLIENTS, SampleSource.LOGS), (SampleSource.DECISIONS,)),
    leadership.NAME: _Wants((SampleSource.DECISIONS,), (SampleSource.REPLICAS,)),
    states.NAME: _Wants((SampleSource.DECISIONS,), (SampleSource.REPLICAS, SampleSource.COMMITS)),
    elections.NAME: _Wants((SampleSource.DECISIONS,)),
    high_watermark.NAME: _Wants((SampleSource.REPLICAS,), (SampleSource.COMMITS,)),
    acks.NAME: _Wants(
        (SampleSource.CLIENTS, SampleSource.REPLICAS, SampleSource.COMMITS),
        (SampleSource.DECISIONS,),
    ),
    reads.NAME: _Wants(
        (SampleSource.CLIENTS,),
        (SampleSource.REPLICAS, SampleSource.COMMITS, SampleSource.DECISIONS),
    ),
    agreement.NAME: _Wants((SampleSource.LOGS,)),
    retention.NAME: _Wants(
        (SampleSource.CLIENTS, SampleSource.REPLICAS),
        (SampleSource.COMMITS, SampleSource.DECISIONS),
    ),
    deleted_records.NAME: _Wants((SampleSource.CLIENTS, SampleSource.REPLICAS)),
    containment.NAME: _Wants((SampleSource.CLIENTS, SampleSource.REPLICAS, SampleSource.LOG_DIRS)),
    placement.NAME: _Wants((SampleSource.LOGS,), (SampleSource.DECISIONS,)),
    refused_places.NAME: _Wants(
        (SampleSource.DECISIONS,),
        (SampleSource.CLIENTS, SampleSource.REPLICAS, SampleSource.LOG_DIRS),
    ),
    unassigned.NAME: _Wants((SampleSource.DECISIONS, SampleSource.LOGS)),
    liveness.NAME: _Wants((SampleSource.DECISIONS, SampleSource.REPLICAS)),
    settled.NAME: _Wants((SampleSource.DECISIONS, SampleSource.REPLICAS, SampleSource.COMMITS)),
    journal.NAME: _Wants((SampleSource.JOURNAL,), (SampleSource.CONTROLLER,)),
    journal_first.NAME: _Wants((SampleSource.CONTROLLER,)),
    idempotence.NAME: _Wants((SampleSource.LOGS,)),
    producers.NAME: _Wants((SampleSource.LOGS, SampleSource.QUEUES)),
    epochs.NAME: _Wants((SampleSource.LOGS, SampleSource.QUEUES)),
    offline.NAME: _Wants((SampleSource.DECISIONS,), (SampleSource.REPLICAS, SampleSource.LOG_DIRS)),
    denials.NAME: _Wants((SampleSource.CLIENTS, SampleSource.DECISIONS)),
    metadata.NAME: _Wants((SampleSource.CLIENTS, SampleSource.DECISIONS)),
    orders.NAME: _Wants(
        (SampleSource.CLIENTS, SampleSource.DECISIONS), (SampleSource.REPLICAS, SampleSource.LOGS)
    ),
    groups.NAME: _Wants((SampleSource.CLIENTS, SampleSource.DECISIONS)),
    group_offsets.NAME: _Wants(
        (SampleSource.CLIENTS, SampleSource.DECISIONS, SampleSource.REPLICAS)
    ),
    transactions.NAME: _Wants((SampleSource.CLIENTS, SampleSource.LOGS), (SampleSource.DECISIONS,)),
    stable_offsets.NAME: _Wants((SampleSource.LOGS, SampleSource.COMMITS)),
    polls.NAME: _Wants((SampleSource.CLIENTS,), (SampleSource.LOGS, SampleSource.DECISIONS)),
    processing.NAME: _Wants((SampleSource.CLIENTS, SampleSource.LOGS), (SampleSource.DECISIONS,)),
    answers.NAME: _Wants((SampleSource.CLIENTS,), (SampleSource.CONNECTIONS,)),
    bounds.NAME: _Wants((SampleSource.QUEUES,)),
}


def checks_of(evidence: Evidence) -> tuple[Check, ...]:
    """Return how far each checker could see, in the order in which findings are told."""
    seen = {source: None for source in evidence.samples.sources if _is_there(source, evidence)}
    logs = tuple(f"a leader's log of {tp}" for tp in durability.unjudged(evidence))
    lacking = {durability.NAME: logs}
    return tuple(_check(name, wants, seen, lacking.get(name, ())) for name, wants in _WANTS.items())


def _check(
    name: str, wants: _Wants, seen: Mapping[SampleSource, None], lacking: tuple[str, ...]
) -> Check:
    """Say how far one could see; ``lacking``: what was missing of something that was looked at."""
    without = tuple(source.value for source in (*wants.needs, *wants.likes) if source not in seen)
    without += lacking
    if any(source not in seen for source in wants.needs):
        return Check(name, Reach.NOT_SEEN, without)
    return Check(name, Reach.IN_PART if without else Reach.CHECKED, without)


def _is_there(source: SampleSource, evidence: Evidence) -> bool:
    """Tell whether a look found anything: nothing compared is nothing checked."""
    samples: Samples = evidence.samples
    found = {
        SampleSource.CLIENTS: evidence.history,
        SampleSource.DECISIONS: samples.partitions,
        SampleSource.REPLICAS: samples.replicas,
        SampleSource.LOG_DIRS: samples.log_dirs,
        SampleSource.LOGS: [log for log in samples.logs if log.is_readable],
        SampleSource.JOURNAL: samples.journals,
        SampleSource.QUEUES: samples.gauges,
    }
    return bool(found.get(source, True))
