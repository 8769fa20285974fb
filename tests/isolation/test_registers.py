"""Transactions as reads and writes of registers."""

from __future__ import annotations

import json

from simulation.core.checkers.evidence import Evidence
from simulation.core.history import Kind
from tests.isolation.registers import READ, WRITE, Access, Entry, elle_lines, entries_of
from tests.simulation.core.checkers.transaction_story import RESULTS, TransactionStory, send


def entries(story: TransactionStory) -> list[Entry]:
    return entries_of(Evidence(history=story.history.operations, samples=story.samples))


def read(record: int, value: int | None) -> Access:
    return Access(READ, record, value)


def write(record: int) -> Access:
    return Access(WRITE, record, record)


def test_who_reads_last_has_what_any_reader_was_given() -> None:
    story = TransactionStory()
    story.ended_log((7, 1), (7, 2), "commit", (7, 3), "commit")
    story.txn(send(1, 0), send(2, 1))
    story.txn(send(3, 3))
    story.poll("reader", (0, 1), (1, 2))
    found = entries(story)
    assert [(entry.kind, entry.accesses) for entry in found] == [
        (Kind.INVOKE, (write(1), write(2))),
        (Kind.OK, (write(1), write(2))),
        (Kind.INVOKE, (write(3),)),
        (Kind.OK, (write(3),)),
        (Kind.INVOKE, (read(1, None), read(2, None))),
        (Kind.OK, (read(1, 1), read(2, 2))),
        (Kind.INVOKE, (read(1, None), read(2, None), read(3, None))),
        (Kind.OK, (read(1, 1), read(2, 2), read(3, None))),
    ]
    last = found[-1]
    assert last.process not in {entry.process for entry in found[:-2]}
    assert last.at_us > max(entry.at_us for entry in found[:-2])


def test_a_transformer_reads_and_writes_in_one_transaction() -> None:
    story = TransactionStory()
    story.ended_log((7, 100), "commit")
    story.ended_log((7, 5), "commit", tp=RESULTS)
    story.txn(send(100, 0))
    story.transform([0], send(5, 0, RESULTS))
    told = [entry.accesses for entry in entries(story) if entry.kind is Kind.OK]
    assert told == [(write(100),), (read(100, 100), write(5)), (read(100, 100),)]


def test_readers_of_what_is_not_committed_are_asked_nothing() -> None:
    story = TransactionStory()
    story.ended_log((7, 1), "abort")
    story.begin_txn(send(1)).fail("aborted")
    story.poll("reader", (0, 1), is_committed=False)
    assert [entry.kind for entry in entries(story)] == [Kind.INVOKE, Kind.FAIL]


def test_logs_that_are_no_evidence_are_left_out() -> None:
    story = TransactionStory()
    story.ended_log((7, 1), "commit", start=1)  # what is before may have been deleted
    story.txn(send(1, 1))
    story.poll("reader", (1, 1))
    assert not [access for entry in entries(story) for access in entry.accesses]


def test_a_line_is_as_elle_reads_it() -> None:
    entry = Entry(Kind.OK, 4, 17, (write(1), read(2, None)))
    (line,) = elle_lines([entry])
    assert json.loads(line) == {
        "index": 0,
        "type": "ok",
        "process": 4,
        "time": 17_000,
        "f": "txn",
        "value": [["w", 1, 1], ["r", 2, None]],
    }
