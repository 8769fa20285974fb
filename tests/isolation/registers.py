"""Writes the transactions of a run down as Elle reads them: as reads and writes of registers.

Every record of a transaction is a register of its own. It holds nothing at first, and its number
once the transaction that sends it is committed; nobody has to be believed which of two records
comes first. What a reader of committed records is given are reads of registers. In the end somebody
reads all of them at once, and finds nothing where no reader was given the record. An isolation
checker then tells what no consumer may see: records that were aborted (G1a), a part of a
transaction (G-single: the last reader saw one of its records and not another one), transactions
that read from each other (G1c), and a commit that was answered and that nobody sees (G-single in
real time). Source: rw-register in Elle, https://github.com/jepsen-io/elle.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.outcomes import is_state_forgiven, outcomes_of, transactions_of
from simulation.core.history import Kind, Operation, Poll, Read, Txn

READ: Final = "r"
WRITE: Final = "w"


class Access(NamedTuple):
    """One read or write of a register."""

    how: str
    """``READ`` or ``WRITE``."""
    record: int
    """Names the register."""
    value: int | None
    """What it holds: the record's number, or nothing."""


class Entry(NamedTuple):
    """A transaction begins, or what became of it."""

    kind: Kind
    process: int
    at_us: int
    accesses: tuple[Access, ...]


def elle_lines(entries: Sequence[Entry]) -> Iterator[str]:
    """Give a JSON object per entry."""
    for index, entry in enumerate(entries):
        fields = {
            "index": index,
            "type": entry.kind,
            "process": entry.process,
            "time": entry.at_us * 1000,
            "f": "txn",
            "value": entry.accesses,
        }
        yield json.dumps(fields, separators=(",", ":"))


def entries_of(evidence: Evidence) -> list[Entry]:
    """Return the transactions of a run, each poll of committed records, and the last read.

    Records in logs that are no evidence are left out (``outcomes_of``): they may be lost, deleted
    or compacted. Empty: no transactions, or a coordinator may have forgotten what it answered.
    """
    if is_state_forgiven(evidence):
        return []
    whole = outcomes_of(evidence).by_offset
    sent = {
        record: send.tp
        for _, txn in transactions_of(evidence)
        for send in txn.sends
        if send.tp in whole
        for record in send.records
    }
    told = [entry for each in evidence.history for entry in _entries(each, sent)]
    return [*told, *_last_read(told, sent)]


def _entries(operation: Operation, sent: Collection[int]) -> Iterator[Entry]:
    process, at_us = operation.process, operation.at_us
    match operation.value:
        case Txn() as txn:
            is_known = operation.kind is Kind.OK
            accesses = (
                *_reads(txn.reads, sent, is_known=is_known),
                *_writes(txn, sent),
            )
            yield Entry(operation.kind, process, at_us, accesses)
        case Poll(is_committed=True) as poll if operation.kind is Kind.OK:
            accesses = _reads(poll.reads, sent, is_known=True)
            if accesses:
                yield from _at_once(process, at_us, accesses)
        case _:
            pass


def _reads(reads: Sequence[Read], sent: Collection[int], *, is_known: bool) -> tuple[Access, ...]:
    records = [record for read in reads for _, record in read.records if record in sent]
    return tuple(Access(READ, record, record if is_known else None) for record in records)


def _writes(txn: Txn, sent: Collection[int]) -> Iterator[Access]:
    for send in txn.sends:
        for record in send.records:
            if record in sent:
                yield Access(WRITE, record, record)


def _last_read(told: Sequence[Entry], sent: dict[int, TopicPartition]) -> Iterator[Entry]:
    """Read all registers of those topics of which something was read: others have no reader."""
    seen = dict.fromkeys(
        access.record
        for entry in told
        for access in entry.accesses
        if access.how == READ and access.value is not None
    )
    topics = {sent[record].topic for record in seen}
    accesses = tuple(
        Access(READ, record, record if record in seen else None)
        for record, tp in sent.items()
        if tp.topic in topics
    )
    if accesses:
        process = 1 + max(entry.process for entry in told)
        yield from _at_once(process, 1 + max(entry.at_us for entry in told), accesses)


def _at_once(process: int, at_us: int, accesses: tuple[Access, ...]) -> Iterator[Entry]:
    """Give a read that nothing else is seen to come between."""
    yield Entry(
        Kind.INVOKE, process, at_us, tuple(access._replace(value=None) for access in accesses)
    )
    yield Entry(Kind.OK, process, at_us, accesses)
