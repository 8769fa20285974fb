"""Transactions are whole: all of one is committed or nothing, as their producers were told.

Who reads what is for `polls`; whether all was processed, and once, for `processing`. Anomalies bear
the names that Adya and Jepsen give them. Two transactions that go on at once may write to two
partitions in two orders (G0): Kafka isolates no writes. After one another they may not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from protocol.errors import ErrorCode
from protocol.ids import NO_OFFSET, TopicPartition
from protocol.topic_names import TRANSACTION_STATE
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.outcomes import (
    Outcomes,
    RecordOutcome,
    is_state_forgiven,
    outcomes_of,
    transactions_of,
)
from simulation.core.checkers.spans import Span
from simulation.core.checkers.timeline import in_force
from simulation.core.history import Kind, Txn
from simulation.core.samples import ReplicaSample, Role, Samples

NAME: Final = "transactions"
TIMEOUT_US_MIN: Final = 3_000_000
"""No transaction of a workload is aborted by its coordinator sooner: its producer says so."""
_NOT_OPEN: Final = ErrorCode.INVALID_TXN_STATE.name


def check_transactions(evidence: Evidence) -> list[Violation]:
    """Hold what producers were told against the markers in the logs."""
    spans = transactions_of(evidence)
    if not spans or is_state_forgiven(evidence):
        return []
    outcomes = outcomes_of(evidence)
    found = [
        Violation(NAME, span.end.at_us, text)
        for span, txn in spans
        for text in _faults(span, txn, outcomes)
    ]
    mixed = [Violation(NAME, evidence.samples.ended_us, text) for text in _mixed(spans, outcomes)]
    return [*found, *_refused(spans, evidence), *_reversed(spans, evidence), *mixed]


def _faults(span: Span, txn: Txn, outcomes: Outcomes) -> Iterator[str]:
    """Find what in the logs is not as the end of one transaction says."""
    records = [
        record for send in txn.sends if send.tp in outcomes.by_offset for record in send.records
    ]
    committed = [record for record in records if outcomes.is_committed(record)]
    match span.end.kind:
        case Kind.OK:
            for record in records:
                if record not in committed:
                    yield (
                        f"lost write: {_name(txn)} was committed, and its record {record} is "
                        f"{_state(record, outcomes)}"
                    )
        case Kind.FAIL:
            for record in committed:
                yield (
                    f"G1a: nobody asked to commit {_name(txn)} ({span.end.error}), and its "
                    f"record {record} is committed"
                )
        case _:
            if committed and len(committed) < len(records):
                missing = next(record for record in records if record not in committed)
                yield (
                    f"G1b: of {_name(txn)} record {committed[0]} is committed, and record "
                    f"{missing} is {_state(missing, outcomes)}"
                )


def _refused(spans: list[tuple[Span, Txn]], evidence: Evidence) -> Iterator[Violation]:
    """Find commits that a coordinator refused though nobody can have ended the transaction.

    Its records are acknowledged by then, so that a coordinator had to know of it: unless the one
    that was asked has a successor and has not heard so, as in Apache Kafka (seed 148). By a clock
    that was changed it may have lasted longer.
    """
    for span, txn in () if evidence.samples.clock_skews else spans:
        lasted_us = span.end.at_us - span.begin.at_us
        is_refused = span.end.kind is Kind.INFO and span.end.error == _NOT_OPEN
        if not (is_refused and txn.is_alone and lasted_us < TIMEOUT_US_MIN):
            continue
        if not _has_two_coordinators(evidence.samples, span):
            yield Violation(
                NAME,
                span.end.at_us,
                f"needless refusal: the commit of {_name(txn)} was answered with {_NOT_OPEN} after "
                f"{lasted_us / 1000:.0f} ms, and nobody else can have ended it",
            )


def _has_two_coordinators(samples: Samples, span: Span) -> bool:
    """Tell whether two brokers led one partition of the state before an answer came."""
    held: dict[TopicPartition, dict[int, list[ReplicaSample]]] = {}
    for sample in samples.replicas:
        if sample.tp.topic == TRANSACTION_STATE:
            held.setdefault(sample.tp, {}).setdefault(sample.broker, []).append(sample)
    return any(
        sum(_leads(each, span.begin.at_us, span.end.at_us) for each in brokers.values()) > 1
        for brokers in held.values()
    )


def _leads(held: Sequence[ReplicaSample], begin_us: int, end_us: int) -> bool:
    return any(each.role is Role.LEADER for each in in_force(held, begin_us, end_us))


def _reversed(spans: list[tuple[Span, Txn]], evidence: Evidence) -> Iterator[Violation]:
    """Find records that lie before those of a transaction that was over when theirs began.

    Where those may have been lost, or went with their topic, others have their offsets (seed
    694003).
    """
    deletions = deletions_of(evidence)
    told = [(span, txn) for span, txn in spans if span.end.kind is Kind.OK]
    for number, (before, first) in enumerate(told):
        ends = {
            send.tp: send.base_offset
            for send in first.sends
            if before.begin.at_us > evidence.forgiven.get(send.tp, -1)
            and not deletions.took_topic(send.tp.topic, before.begin.at_us)
        }
        for after, then in told[number + 1 :]:
            if after.begin.at_us <= before.end.at_us:
                continue
            for send in then.sends:
                if NO_OFFSET < send.base_offset < ends.get(send.tp, NO_OFFSET):
                    yield Violation(
                        NAME,
                        after.end.at_us,
                        f"G0: {_name(then)} began after {_name(first)} was over, and wrote to "
                        f"{send.tp} at offset {send.base_offset}, before it",
                    )
            break  # the next one is enough: what is out of order is so for neighbours


def _mixed(spans: list[tuple[Span, Txn]], outcomes: Outcomes) -> Iterator[str]:
    """Find transactions of one producer that one marker ended: each is to have its own.

    What a marker that is missing should have said is hidden by the next one, if that says the same.
    """
    ended: dict[tuple[str, TopicPartition, int], Txn] = {}
    for _, txn in spans:
        for placed in [
            each
            for send in txn.sends
            for record in send.records
            for each in outcomes.by_record.get(record, ())
        ]:
            is_plain = placed.outcome is RecordOutcome.COMMITTED and placed.marker_offset < 0
            key = (txn.transactional_id, placed.tp, placed.marker_offset)
            first = txn if is_plain else ended.setdefault(key, txn)
            if first is not txn:
                yield (
                    f"mixed: {_name(txn)} is in {placed.tp} at offset {placed.offset}, and "
                    f"{_name(first)} has no marker before it"
                )
                ended[key] = txn


def _name(txn: Txn) -> str:
    first = txn.sends[0].records[0] if txn.sends else "nothing"
    return f"the transaction of {txn.transactional_id} from record {first} on"


def _state(record: int, outcomes: Outcomes) -> str:
    placed = outcomes.by_record.get(record, ())
    return ", ".join(one.outcome for one in placed) or "in no log"
