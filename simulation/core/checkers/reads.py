"""What readers get lies below the high watermark, and leaves out nothing.

Who asks under another leader epoch than the leader's gets nothing: its log may be another one
(KIP-320).

Whether it stays there is for `durability`: what was read is a fact there, as what was acknowledged.
Source: ReplicaManager.scala readFromLocalLog, FetchIsolation; KIP-98.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from protocol.faults.model import DiskMode
from protocol.ids import NO_EPOCH, NO_LEADER, NO_OFFSET
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.fault_model import EVER
from simulation.core.checkers.leading import Leading
from simulation.core.checkers.spans import Span
from simulation.core.history import Kind, Poll, Read, Txn
from simulation.core.samples import Samples, SampleSource

NAME: Final = "reads"
_SEEN_WITHIN_US: Final = 1_280_000
"""Two looks at an idle cluster: fetches of followers raise a high watermark and hurry no look."""


def check_reads(evidence: Evidence) -> list[Violation]:
    """Look at every answer with records."""
    samples = evidence.samples
    leading = Leading(samples) if SampleSource.COMMITS in samples.sources else None
    compacted = deletions_of(evidence).compacted
    # Markers, and to some readers aborted records, are offsets without records.
    skipping = {**compacted, **_topics_of_transactions(evidence)}
    forgiven = evidence.forgiven
    return [
        Violation(NAME, span.end.at_us, text)
        for span, poll, read in _reads(evidence)
        for text in (
            *_uncommitted(span, poll, read, leading),
            *(() if read.tp.topic in skipping else _left_out(poll, read)),
        )
        if forgiven.get(read.tp) != EVER
        and not _may_be_changed(samples, span, poll, read)
        and not _may_be_misread(samples, span, poll)
    ]


def _may_be_changed(samples: Samples, span: Span, poll: Poll, read: Read) -> bool:
    """Tell whether a disk had changed the middle of a log that the answer may be from.

    Followers answer readers, too, who take them for the leader or for a closer replica (KIP-392);
    libraries do not say who answered (seed 1064506).
    """
    return any(
        each.is_lasting
        and each.at_us <= span.end.at_us
        and each.tp in (None, read.tp)
        and poll.broker in (NO_LEADER, each.broker)
        for each in samples.damages
    )


def _may_be_misread(samples: Samples, span: Span, poll: Poll) -> bool:
    """Tell whether a disk of who answered misread something just then.

    No sum guards the base offset of a batch: readers get what the disk gave, as from Apache Kafka
    (docs/faults.md; seed 1150599).
    """
    return any(
        each.what == DiskMode.BIT_FLIP.value
        and each.broker == poll.broker
        and span.begin.at_us <= each.at_us <= span.end.at_us + samples.seen_within_us
        for each in samples.damages
    )


def _topics_of_transactions(evidence: Evidence) -> dict[str, None]:
    return {
        send.tp.topic: None
        for operation in evidence.history
        if isinstance(operation.value, Txn)
        for send in operation.value.sends
    }


def _reads(evidence: Evidence) -> Iterator[tuple[Span, Poll, Read]]:
    for span in evidence.spans:
        poll = span.end.value
        if span.end.kind is Kind.OK and isinstance(poll, Poll):
            for read in poll.reads:
                if read.records:
                    yield span, poll, read


def _uncommitted(span: Span, poll: Poll, read: Read, leading: Leading | None) -> Iterator[str]:
    """Hold what was read, and how, against what the answer says and what its leader held."""
    last, _ = read.records[-1]
    if read.high_watermark != NO_OFFSET and last >= read.high_watermark:
        yield f"{_place(poll, last, read)}, with the high watermark {read.high_watermark}"
    if leading is None:
        return
    until_us = span.end.at_us + _SEEN_WITHIN_US
    seen = leading.during(read.tp, poll.broker, span.begin.at_us, until_us)
    if seen and poll.names_epochs and read.leader_epoch not in (NO_EPOCH, seen[0].leader_epoch):
        yield (
            f"{_place(poll, last, read)} under leader epoch {read.leader_epoch}, and it led at "
            f"epoch {seen[0].leader_epoch} all the time"
        )
    reached = max((one.high_watermark for one in seen), default=last + 1)
    if last >= reached:
        yield f"{_place(poll, last, read)}, and its high watermark was {reached} then"


def _left_out(poll: Poll, read: Read) -> Iterator[str]:
    """Find the first offset that is missing among those from where it was asked for."""
    for expected, (offset, _) in enumerate(read.records, read.fetch_offset):
        if offset != expected:
            yield f"{_place(poll, offset, read)}, where {expected} follows"
            return


def _place(poll: Poll, offset: int, read: Read) -> str:
    return f"{read.tp} offset {offset} was read from broker {poll.broker}"
