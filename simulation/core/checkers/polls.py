"""What consumers get: nothing of aborted transactions, nothing twice, nothing left out.

A consumer's reads of one partition go on from each other, from when it was assigned it. Whether a
group as a whole has processed everything is for `processing`. Anomalies bear Jepsen's names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from simulation.core.checkers.deletions import OrderedDeletions, deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.leading import Leading
from simulation.core.checkers.outcomes import (
    Outcomes,
    RecordOutcome,
    is_state_forgiven,
    outcomes_of,
    transactions_of,
)
from simulation.core.history import Assignment, Kind, Operation, Poll, Read, Txn
from simulation.core.samples import Samples

NAME: Final = "polls"
_DAMAGED: Final = ErrorCode.CORRUPT_MESSAGE.name
"""A batch that a library finds damaged: it forgets what else the same poll was about to bring."""
_OUT_OF_RANGE: Final = ErrorCode.OFFSET_OUT_OF_RANGE.name
"""What a former leader that nobody has told says of offsets that the new one has.

A library that names no leader epoch believes it, also what it says of the ends of its log.
"""


@dataclass(slots=True)
class _Reader:
    """One consumer: where it is, and what it has seen."""

    last: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    """The last offset that it read since it was assigned the partition."""
    places: dict[int, tuple[TopicPartition, int]] = field(
        default_factory=dict[int, tuple[TopicPartition, int]]
    )
    """Record of a transaction -> where it was read first."""
    out_of_range_us: int | None = None
    """When it was last told that its offset is out of range; None: it has got something since."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """What reads are held against."""

    outcomes: Outcomes
    transaction_of: Mapping[int, Txn]
    """Record -> the transaction it was sent in."""
    failed: Mapping[int, None]
    """Records of transactions that nobody asked to commit."""
    told: Mapping[TopicPartition, Mapping[int, int]]
    """Partition -> offset -> record, as producers of committed transactions were told."""


def check_polls(evidence: Evidence) -> list[Violation]:
    """Follow each consumer that a library is, in the order in which it was given records."""
    forgiven = evidence.forgiven
    deletions = deletions_of(evidence)
    known = _known(evidence)
    readers: dict[str, _Reader] = {}
    found: list[Violation] = []
    for operation in evidence.history:
        if operation.client in readers and operation.error == _DAMAGED:
            readers[operation.client].last.clear()
        if operation.client in readers and operation.error == _OUT_OF_RANGE:
            readers[operation.client].out_of_range_us = operation.at_us
        if operation.kind is not Kind.OK:
            continue
        if isinstance(operation.value, Assignment):
            readers.setdefault(operation.client, _Reader()).last.clear()
        elif isinstance(operation.value, Poll) and operation.client in readers:
            reader = readers[operation.client]
            for read in operation.value.reads:
                if read.tp in forgiven or not _is_kept(read.tp, deletions):
                    continue
                if _is_misled(reader, read, evidence.samples):
                    reader.last.pop(read.tp, None)
                texts = _faults(reader, operation, read, known)
                found += [Violation(NAME, operation.at_us, text) for text in texts]
            reader.out_of_range_us = None
    return found


def _is_misled(reader: _Reader, read: Read, samples: Samples) -> bool:
    """Tell whether a reader was told by a former leader to begin anew (seed 994127)."""
    told_us = reader.out_of_range_us
    return told_us is not None and Leading(samples).is_led_twice(read.tp, told_us)


def _known(evidence: Evidence) -> _Ended:
    """Gather what is known of transactions; nothing where coordinators may have forgotten them."""
    spans = [] if is_state_forgiven(evidence) else transactions_of(evidence)
    told: dict[TopicPartition, dict[int, int]] = {}
    for span, txn in spans:
        for send in txn.sends if span.end.kind is Kind.OK else ():
            told.setdefault(send.tp, {})[send.base_offset] = send.records[0]
    return _Ended(
        outcomes_of(evidence),
        {record: txn for _, txn in spans for send in txn.sends for record in send.records},
        {
            record: None
            for span, txn in spans
            if span.end.kind is Kind.FAIL
            for send in txn.sends
            for record in send.records
        },
        told,
    )


def _is_kept(tp: TopicPartition, deletions: OrderedDeletions) -> bool:
    """Tell whether nobody takes records away: below the log's start readers begin anew."""
    is_whole = tp.topic not in deletions.compacted and tp.topic not in deletions.retained
    return is_whole and tp not in deletions.before and not deletions.took_topic(tp.topic, 0)


def _faults(reader: _Reader, operation: Operation, read: Read, known: _Ended) -> Iterator[str]:
    poll = operation.value
    assert isinstance(poll, Poll)
    who = operation.client
    for offset, record in read.records:
        place = f"{read.tp} offset {offset}"
        last = reader.last.get(read.tp)
        if last is not None and offset <= last:
            yield f"nonmonotonic poll: {who} was given {place} after offset {last}"
        elif last is not None:
            yield from _skipped(
                who, read.tp, range(last + 1, offset), known, is_committed=poll.is_committed
            )
        reader.last[read.tp] = max(offset, last or 0)
        if poll.is_committed and record in known.failed:
            yield f"G1a: {who} was given record {record} at {place}, which was never committed"
        elif poll.is_committed and _is_not_committed(read.tp, offset, known.outcomes):
            yield f"G1a: {who} was given {place}, which is not committed"
        if record in known.transaction_of:
            first = reader.places.setdefault(record, (read.tp, offset))
            if first != (read.tp, offset):
                yield f"duplicate: {who} was given record {record} at {place} and at {first[1]}"


def _is_not_committed(tp: TopicPartition, offset: int, outcomes: Outcomes) -> bool:
    placed = outcomes.by_offset.get(tp, {}).get(offset)
    return placed is not None and placed[1] is not RecordOutcome.COMMITTED


def _skipped(
    who: str, tp: TopicPartition, gap: range, known: _Ended, *, is_committed: bool
) -> Iterator[str]:
    """Find records in a gap that the reader should have seen."""
    in_log = known.outcomes.by_offset.get(tp, {})
    for offset in gap:
        if offset in known.told.get(tp, {}):
            record = known.told[tp][offset]
            name = known.transaction_of[record].transactional_id
            yield f"G1b: {who} was not given {tp} offset {offset}, of a transaction of {name}"
        elif offset in in_log and (
            not is_committed or in_log[offset][1] is RecordOutcome.COMMITTED
        ):
            yield f"poll skip: {who} was not given {tp} offset {offset}, and was given later ones"
