"""How the transactions of a run ended, by the markers in the leaders' logs at its end.

What logs are evidence is decided here, for all checkers of transactions: those that are whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from protocol.ids import NO_OFFSET, TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.fault_model import trusted_logs
from simulation.core.checkers.spans import Span
from simulation.core.history import Txn
from simulation.core.samples import LogSample


class RecordOutcome(StrEnum):
    """What became of a record."""

    COMMITTED = "committed"
    """Also: it was written without a transaction."""
    ABORTED = "aborted"
    OPEN = "open"


class Placed(NamedTuple):
    """Where a record is, and what became of it."""

    tp: TopicPartition
    offset: int
    outcome: RecordOutcome
    marker_offset: int = NO_OFFSET
    """Of what ended its transaction; NO_OFFSET: nothing did, or it was in none."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Every record of the logs that are evidence."""

    by_record: Mapping[int, list[Placed]]
    by_offset: Mapping[TopicPartition, Mapping[int, tuple[int, RecordOutcome]]]
    """Partition -> offset -> (record, outcome), in the order of the offsets."""

    def is_committed(self, record: int) -> bool:
        """Tell whether a record is in a log to stay."""
        return any(one.outcome is RecordOutcome.COMMITTED for one in self.by_record.get(record, ()))


def outcomes_of(evidence: Evidence) -> Outcomes:
    """Read the logs of which nothing is forgiven, was deleted, or may have been compacted."""
    forgiven = evidence.forgiven
    deletions = deletions_of(evidence)
    by_record: dict[int, list[Placed]] = {}
    by_offset: dict[TopicPartition, dict[int, tuple[int, RecordOutcome]]] = {}
    for log in trusted_logs(evidence.samples):
        is_taken = deletions.took_topic(log.tp.topic, 0) or log.tp.topic in deletions.compacted
        if log.tp in forgiven or is_taken or log.log_start_offset > 0:
            continue
        found = sorted((placed.offset, record, placed) for record, placed in _ended(log))
        by_offset[log.tp] = {offset: (record, placed.outcome) for offset, record, placed in found}
        for _, record, placed in found:
            by_record.setdefault(record, []).append(placed)
    return Outcomes(by_record, by_offset)


def transactions_of(evidence: Evidence) -> list[tuple[Span, Txn]]:
    """Return what clients had transactions for, each with what was told at its end."""
    return [(span, span.end.value) for span in evidence.spans if isinstance(span.end.value, Txn)]


def is_state_forgiven(evidence: Evidence) -> bool:
    """Tell whether a coordinator may have forgotten what it had answered."""
    forgiven = evidence.forgiven
    return any(tp.topic in {TRANSACTION_STATE, CONSUMER_OFFSETS} for tp in forgiven)


def may_hang(evidence: Evidence) -> bool:
    """Tell whether a transaction may be open for good, and hold up who reads committed ones.

    Its coordinator may have forgotten it, or a partition its marker: no coordinator writes one
    again that was taken once.
    """
    written = {send.tp for _, txn in transactions_of(evidence) for send in txn.sends}
    return is_state_forgiven(evidence) or not written.isdisjoint(evidence.forgiven)


def _ended(log: LogSample) -> Iterator[tuple[int, Placed]]:
    """Give each record and what became of it: a marker ends what its producer has open."""
    open_: dict[int, list[tuple[int, int]]] = {}
    for batch in log.batches:
        if batch.marker:
            how = RecordOutcome.COMMITTED if batch.marker == "commit" else RecordOutcome.ABORTED
            for offset, record in open_.pop(batch.producer_id, ()):
                yield record, Placed(log.tp, offset, how, batch.base_offset)
        elif batch.is_transactional:
            open_.setdefault(batch.producer_id, []).extend(batch.records)
        else:
            for offset, record in batch.records:
                yield record, Placed(log.tp, offset, RecordOutcome.COMMITTED)
    for records in open_.values():
        for offset, record in records:
            yield record, Placed(log.tp, offset, RecordOutcome.OPEN)
