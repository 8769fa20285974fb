"""What was acknowledged with acks=all, or read by a consumer, is never lost or changed.

But for what the fault model forgives, and for what was deleted on purpose. In a compacted topic a
record may give way to a newer one of its key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from protocol.ids import NO_EPOCH, NO_LEADER, NO_OFFSET, TopicPartition
from protocol.messages.produce import ACKS_ALL
from protocol.topic_names import TRANSACTION_STATE
from simulation.core.checkers.compaction import Compaction
from simulation.core.checkers.deletions import OrderedDeletions, deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.fault_model import trusted_logs, unclean_epochs
from simulation.core.checkers.leading import Leading
from simulation.core.checkers.spans import Span
from simulation.core.checkers.timeline import last_partitions
from simulation.core.history import NAMELESS, UNREADABLE, Kind, Poll, Send, Txn
from simulation.core.samples import LogSample, Samples

NAME: Final = "durability"


class _Fact(NamedTuple):
    """A record that is in a log for good."""

    at_us: int
    """When a client heard of it."""
    asked_us: int
    """When the client asked: it was there then, or is since."""
    tp: TopicPartition
    offset: int
    """-1: nobody said where."""
    record: int
    how: str
    leader_epoch: int = NO_EPOCH
    """Of who told of it, where the client asked with one."""
    transactional_id: str = ""
    """Of the transaction that it was committed by."""


@dataclass(slots=True)
class _Log:
    """What the leader of a partition has at the end."""

    start_offset: int
    records: dict[int, int] = field(default_factory=dict[int, int])
    numbers: dict[int, None] = field(default_factory=dict[int, None])
    newest: dict[bytes, int] | None = None
    """Where the last record of each key is, once somebody asked."""


def check_durability(evidence: Evidence) -> list[Violation]:
    """Hold every fact against the logs of the end, and against each other."""
    deletions = deletions_of(evidence)
    kept = _kept(evidence, deletions)
    logs = {log.tp: _log(log) for log in trusted_logs(evidence.samples)}
    return [
        *_contradictions(kept),
        *_missing(kept, logs, deletions, Compaction(evidence)),
        *_vanished(kept, deletions, evidence.samples),
    ]


def unjudged(evidence: Evidence) -> list[TopicPartition]:
    """Return the partitions whose facts were held against no log: there is none to be trusted."""
    logs = {log.tp: None for log in trusted_logs(evidence.samples)}
    kept = _kept(evidence, deletions_of(evidence))
    return sorted({fact.tp: None for fact in kept if fact.tp not in logs})


def _kept(evidence: Evidence, deletions: OrderedDeletions) -> list[_Fact]:
    """Return what nothing forgives or took on purpose."""
    forgiven = evidence.forgiven
    unclean, lost = unclean_epochs(evidence.samples), evidence.lost_epochs
    newest = {
        tp: max(unclean.get(tp, NO_EPOCH), lost.get(tp, NO_EPOCH)) for tp in (*unclean, *lost)
    }
    leading = Leading(evidence.samples)
    last_read_us: dict[tuple[str, TopicPartition], int] = {}
    kept = [
        fact
        for span in evidence.spans
        if span.end.kind is Kind.OK
        for fact in _facts(span, last_read_us)
        if fact.asked_us > forgiven.get(fact.tp, -1)
        and not _may_be_of_older(fact, newest.get(fact.tp, NO_EPOCH), leading)
        and not deletions.took_topic(fact.tp.topic, fact.asked_us)
    ]
    if not any(tp.topic == TRANSACTION_STATE for tp in forgiven):
        return kept
    return list(_without_epochs_given_twice(kept))


def _without_epochs_given_twice(facts: list[_Fact]) -> Iterator[_Fact]:
    """Leave out what a transaction was told of the place of an earlier one of its id.

    A coordinator that forgot an epoch of its producer gives it again, with sequences from 0: the
    leader takes the batch for one that it has, as Apache Kafka does (seed 1070429).
    """
    places: dict[tuple[str, TopicPartition, int], int] = {}
    for fact in facts:
        place = (fact.transactional_id, fact.tp, fact.offset)
        if not fact.transactional_id or places.setdefault(place, fact.record) == fact.record:
            yield fact


def _may_be_of_older(fact: _Fact, epoch: int, leading: Leading) -> bool:
    """Tell whether a leader told of it that was deposed before ``epoch``, if there is one.

    A library does not say who answers, nor under which epoch.
    """
    if fact.leader_epoch == NO_EPOCH < epoch:
        return leading.is_led_below(fact.tp, epoch, fact.asked_us, fact.at_us)
    return NO_EPOCH < fact.leader_epoch < epoch


def _facts(span: Span, last_read_us: dict[tuple[str, TopicPartition], int]) -> Iterator[_Fact]:
    """Give what one answer says; it may be on its way for long, and tell of what is lost since.

    ``last_read_us`` keeps when each client was given records of a partition.
    """
    value, at_us, asked_us = span.end.value, span.end.at_us, span.begin.at_us
    match value:
        case Txn():
            how = f"committed by transaction {value.transactional_id}"
            for send in value.sends:
                for fact in _sent(send, at_us, asked_us, how):
                    yield fact._replace(transactional_id=value.transactional_id)
        case Send() if value.acks == ACKS_ALL:
            how = f"acknowledged by broker {value.broker} at leader epoch {value.leader_epoch}"
            yield from _sent(value, at_us, max(value.asked_us, asked_us), how)
        case Poll():
            yield from _read(span, value, last_read_us)
        case _:
            pass


def _sent(send: Send, at_us: int, asked_us: int, how: str) -> Iterator[_Fact]:
    for number, record in enumerate(send.records):
        offset = NO_OFFSET if send.base_offset == NO_OFFSET else send.base_offset + number
        yield _Fact(at_us, asked_us, send.tp, offset, record, how, send.leader_epoch)


def _read(
    span: Span, poll: Poll, last_read_us: dict[tuple[str, TopicPartition], int]
) -> Iterator[_Fact]:
    """Give what was read. A library fetches ahead: it may have asked since its last records."""
    for read in poll.reads:
        asked_us = span.begin.at_us
        if poll.broker == NO_LEADER and read.records:
            asked_us = last_read_us.get((span.end.client, read.tp), 0)
            last_read_us[span.end.client, read.tp] = span.end.at_us
        how = f"read from broker {poll.broker} at leader epoch {read.leader_epoch}"
        for offset, record in read.records:
            at_us = span.end.at_us
            yield _Fact(at_us, asked_us, read.tp, offset, record, how, read.leader_epoch)


def _contradictions(facts: list[_Fact]) -> Iterator[Violation]:
    known: dict[tuple[TopicPartition, int], _Fact] = {}
    for fact in facts:
        if fact.record == UNREADABLE:
            yield _violation(fact, f"{_place(fact)} holds what no client wrote, {fact.how}")
        if fact.offset == NO_OFFSET or fact.record == NAMELESS:
            continue
        first = known.setdefault((fact.tp, fact.offset), fact)
        if first.record != fact.record:
            yield _violation(
                fact,
                f"{_place(fact)} is record {fact.record}, {fact.how}, and was record "
                f"{first.record}, {first.how}",
            )


def _missing(
    facts: list[_Fact],
    logs: Mapping[TopicPartition, _Log],
    deletions: OrderedDeletions,
    compaction: Compaction,
) -> Iterator[Violation]:
    told: dict[tuple[TopicPartition, int], None] = {}
    for fact in facts:
        log = logs.get(fact.tp)
        if log is None or (fact.tp, fact.record) in told or fact.record == NAMELESS:
            continue
        if _gave_way(fact, log, compaction):
            continue
        text = _what_is_wrong(fact, log, deletions)
        if text:
            told[fact.tp, fact.record] = None
            yield _violation(fact, text)


def _vanished(
    facts: list[_Fact], deletions: OrderedDeletions, samples: Samples
) -> Iterator[Violation]:
    """Find partitions that the controller has no more; a hand may take them from its journal.

    Until a deletion that was ordered is carried out, which a reassignment holds up, clients write.
    """
    there = last_partitions(samples.partitions)
    known = {sample.tp: None for sample in samples.partitions if sample.tp not in there}
    told: dict[TopicPartition, None] = {}
    for fact in facts:
        is_ordered = fact.tp.topic in deletions.topics or bool(samples.journal_edits_us)
        if fact.tp in known and fact.tp not in told and not is_ordered:
            told[fact.tp] = None
            text = f"{fact.tp} is gone, and nobody deleted it; record {fact.record} was {fact.how}"
            yield _violation(fact, text)


def _gave_way(fact: _Fact, log: _Log, compaction: Compaction) -> bool:
    """Tell whether compaction may have taken a record that is not where it was."""
    is_anywhere = fact.offset == NO_OFFSET and fact.record in log.numbers
    if fact.tp.topic not in compaction.topics or fact.offset in log.records or is_anywhere:
        return False
    if log.newest is None:
        log.newest = compaction.newest_of_keys(log.records)
    return compaction.may_have_taken(fact.tp, fact.offset, fact.record, log.newest)


def _what_is_wrong(fact: _Fact, log: _Log, deletions: OrderedDeletions) -> str:
    if fact.offset == NO_OFFSET:
        is_there = fact.record in log.numbers
        last = log.start_offset - 1
        may_be_below = last >= 0 and deletions.takes(fact.tp, last, fact.at_us)
        place, found = str(fact.tp), fact.record if is_there or may_be_below else None
    else:
        place, found = _place(fact), log.records.get(fact.offset)
        if fact.offset < log.start_offset and deletions.takes(fact.tp, fact.offset, fact.at_us):
            return ""
    if found == fact.record:
        return ""
    if 0 <= fact.offset < log.start_offset:
        became = f"is below the log's start {log.start_offset}, and nobody deleted it"
    elif found is None:
        became = "is not in the leader's log"
    else:
        became = f"is record {found} in the end"
    return f"{place}, record {fact.record}, {fact.how}, {became}"


def _log(sample: LogSample) -> _Log:
    log = _Log(sample.log_start_offset)
    for batch in sample.batches:
        for offset, record in batch.records:
            log.records[offset] = record
            log.numbers[record] = None
    return log


def _place(fact: _Fact) -> str:
    return f"{fact.tp} offset {fact.offset}"


def _violation(fact: _Fact, text: str) -> Violation:
    return Violation(NAME, fact.at_us, text)
