"""The offsets of a group that an administrator has for itself: what it reads is what it wrote last.

A register per partition, which a commit sets and a deletion empties. A coordinator that was deposed
and has not heard of it may answer with what was before (as Kafka's does), so that an answer counts
only of a broker that leads the group's partition in the epoch in which the controller has it lead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from protocol.ids import NO_OFFSET, TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.leading import Leading
from simulation.core.checkers.registers import Write, possible_values
from simulation.core.checkers.spans import Span
from simulation.core.checkers.timeline import in_force
from simulation.core.history import Commit, Function, Kind
from simulation.core.samples import Samples

NAME: Final = "group offsets"
_CHANGES: Final = (Function.COMMIT, Function.DELETE_OFFSETS, Function.DELETE_GROUP)
_DONE_BY_THEN_OR_NEVER: Final = (
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "UNKNOWN_TOPIC_OR_PARTITION",
)
"""Answers of who has appended what was asked for, if ever; no answer leaves that open."""
_AT_FIRST: Final = Write(-1, -1, is_sure=True, value=NO_OFFSET)


class _SetOffset(NamedTuple):
    """What an administrator set or deleted, or may have."""

    group: str
    tp: TopicPartition
    write: Write[int]


def check_group_offsets(evidence: Evidence) -> list[Violation]:
    """Hold every answer to such an administrator against what it had asked for by then."""
    samples = evidence.samples
    tps = dict.fromkeys(each.tp for each in samples.partitions if each.tp.topic == CONSUMER_OFFSETS)
    if len(tps) != 1:
        return []  # In which partition a group is, brokers alone know.
    if any(tp in evidence.forgiven for tp in tps):
        return []  # What groups were told may be lost.
    (home,) = tps
    coordinators = _Coordinators(samples, home)
    changes = list(_changes(evidence.spans))
    gone = deletions_of(evidence).topics
    return [
        Violation(NAME, span.end.at_us, text)
        for span in evidence.spans
        if span.end.function is Function.FETCH_OFFSETS and span.end.kind is Kind.OK
        for text in _wrong(span, changes, coordinators, samples)
        if not any(tp.topic in gone for tp, _ in _commit(span).offsets)
    ]


def _commit(span: Span) -> Commit:
    assert isinstance(span.end.value, Commit)
    return span.end.value


def _changes(spans: Sequence[Span]) -> Iterator[_SetOffset]:
    for span in spans:
        begin, end = span
        if end.function not in _CHANGES or end.kind is Kind.FAIL:
            continue
        is_sure = end.kind is Kind.OK
        may_come_again = not is_sure and end.error not in _DONE_BY_THEN_OR_NEVER
        for tp, offset in _commit(span).offsets:
            write = Write(begin.at_us, end.at_us, is_sure, offset, may_come_again)
            yield _SetOffset(_commit(span).group, tp, write)


def _wrong(
    span: Span, changes: Sequence[_SetOffset], coordinators: _Coordinators, samples: Samples
) -> Iterator[str]:
    begin, end = span
    read = _commit(span)
    if not coordinators.is_known(read.broker, begin.at_us, end.at_us):
        return
    for tp, offset in read.offsets:
        writes = [_AT_FIRST] + [
            change.write
            for change in changes
            if (change.group, change.tp) == (read.group, tp) and change.write.begin_us <= end.at_us
        ]
        wanted = possible_values(writes)
        if wanted is not None and offset not in wanted:
            yield (
                f"broker {read.broker} says at {samples.told_time(end.at_us)} that group "
                f"{read.group} has {_told(offset)} in {tp}, and it was set to "
                f"{' or '.join(dict.fromkeys(map(_told, wanted)))}"
            )


def _told(offset: int) -> str:
    return "none" if offset == NO_OFFSET else str(offset)


class _Coordinators:
    """Who coordinates the groups of one partition."""

    def __init__(self, samples: Samples, home: TopicPartition) -> None:
        self._home = home
        self._leading = Leading(samples)
        self._decisions = [each for each in samples.partitions if each.tp == home]
        # What a look shows may be as old as the look before it.
        self._late_us = 2 * samples.seen_within_us

    def is_known(self, broker: int, begin_us: int, end_us: int) -> bool:
        """Tell whether it surely was this broker from a question to its answer."""
        held = self._leading.during(self._home, broker, begin_us, end_us)
        decided = in_force(self._decisions, begin_us, end_us + self._late_us)
        return (
            bool(held)
            and bool(decided)
            and all(
                (each.leader, each.leader_epoch) == (broker, held[0].leader_epoch)
                for each in decided
            )
        )
