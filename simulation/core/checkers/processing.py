"""Groups process every record of their topic: at least once, and exactly once by transactions.

Judged at the end, when somebody of each group has come to the end of its topic; what the group
could no longer read by then is not. A group that writes into a topic of which nobody leads a
partition stays where it is. Who owns what, and what is committed, is for `groups`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from protocol.ids import NO_LEADER, NO_OFFSET, TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.outcomes import (
    Outcomes,
    RecordOutcome,
    is_state_forgiven,
    outcomes_of,
    transactions_of,
)
from simulation.core.checkers.timeline import last_partitions
from simulation.core.history import Assignment, Kind, Poll, Txn

NAME: Final = "processing"


def check_processing(evidence: Evidence) -> list[Violation]:
    """Look for records that no member was given, or that were transformed twice or never."""
    if evidence.samples.healed_us is None or is_state_forgiven(evidence):
        return []
    outcomes = outcomes_of(evidence)
    transactions = [txn for _, txn in transactions_of(evidence)]
    stuck = _stuck_groups(evidence, transactions)
    texts = [*_unread(evidence, outcomes, stuck), *_transformed(transactions, outcomes)]
    return [Violation(NAME, evidence.samples.ended_us, text) for text in texts]


def _stuck_groups(evidence: Evidence, transactions: Sequence[Txn]) -> frozenset[str]:
    """Return the groups that write where nobody leads in the end."""
    partitions = last_partitions(evidence.samples.partitions)
    lost = frozenset(tp.topic for tp, each in partitions.items() if each.leader == NO_LEADER)
    return frozenset(
        txn.group for txn in transactions for send in txn.sends if send.tp.topic in lost
    )


def _unread(evidence: Evidence, outcomes: Outcomes, stuck: frozenset[str]) -> Iterator[str]:
    """Find records that a group passed over; if it is stuck, up to the last that it was given."""
    given: dict[tuple[str, TopicPartition], dict[int, None]] = {}
    group_of: dict[str, str] = {}
    for operation in evidence.history:
        match operation.value:
            case Assignment() as assigned:
                group_of[operation.client] = assigned.group
            case Poll() as poll if operation.kind is Kind.OK and group_of.get(operation.client):
                for read in poll.reads:
                    offsets = given.setdefault((group_of[operation.client], read.tp), {})
                    offsets.update(dict.fromkeys(offset for offset, _ in read.records))
            case _:
                pass
    for (group, tp), offsets in given.items():
        last_offset = max(offsets, default=NO_OFFSET)
        for offset, (record, outcome) in outcomes.by_offset.get(tp, {}).items():
            is_ahead = group in stuck and offset > last_offset
            is_due = outcome is RecordOutcome.COMMITTED and not is_ahead
            if is_due and offset not in offsets:
                yield f"group {group} was never given record {record} of {tp} at offset {offset}"


def _transformed(transactions: Sequence[Txn], outcomes: Outcomes) -> Iterator[str]:
    """Count the committed results of each record that transformers read."""
    results: dict[tuple[str, TopicPartition, int], list[int]] = {}
    for txn in transactions:
        for read_from, result in _pairs(txn):
            made = results.setdefault((txn.group, *read_from), [])
            if outcomes.is_committed(result):
                made.append(result)
    judged = _judged_groups(transactions, outcomes)
    for (group, tp, offset), made in results.items():
        if len(made) != 1 and judged.get(group):
            how = f"{len(made)} times: {made}" if made else "never"
            yield f"{tp} offset {offset} was transformed by group {group} {how}"


def _pairs(txn: Txn) -> Iterator[tuple[tuple[TopicPartition, int], int]]:
    """Give each record that was read, as partition and offset, with the result made of it."""
    read = [(each.tp, offset) for each in txn.reads for offset, _ in each.records]
    made = [record for send in txn.sends for record in send.records]
    yield from zip(read, made, strict=False)


def _judged_groups(transactions: Sequence[Txn], outcomes: Outcomes) -> Mapping[str, bool]:
    """Tell of which groups all that they read and wrote is evidence."""
    judged: dict[str, bool] = {}
    for txn in transactions:
        parts = (*txn.reads, *txn.sends)
        is_whole = all(part.tp in outcomes.by_offset for part in parts)
        judged[txn.group] = judged.get(txn.group, True) and is_whole
    return judged
