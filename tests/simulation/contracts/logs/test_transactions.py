"""What the contracts of transactions in a log say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.append import PreparedAppend
from broker.core.markers import prepare_marker
from broker.core.partition import Partition
from broker.core.replica_producers import ReplicaProducers
from broker.core.transactions import (
    EndedTransaction,
    EndedTransactions,
    EndMarker,
    build_marker,
    read_marker,
)
from protocol.records.batch import read_batch_header
from tests.broker.core.test_markers import partition_in_transaction
from tests.broker.core.test_replica_producers import data, marker, note
from tests.broker.core.test_transactions import ended
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
MARKER: Final = EndMarker(7, 2, 0, is_commit=False)


def ending() -> ReplicaProducers:
    """One open since offset 2, one that ended at 4 and is not replicated."""
    producers = ReplicaProducers()
    note(producers, data(0, 7), data(2, 8), marker(4, 7))
    return producers


def remembers_all(known: EndedTransactions, one: EndedTransaction, high_watermark: int) -> None:
    known._aborted.clear()


def opens_nothing_again(producers: ReplicaProducers, offset: int) -> None:
    producers.states.truncate_from_end(offset)
    producers.ended.truncate_from_end(offset)


def prepared() -> PreparedAppend:
    batch = memoryview(build_marker(MARKER, 60))
    partition = partition_in_transaction()
    return prepare_marker(partition, MARKER, batch, is_log_append_time=False, now_ms=60)


def stamps_nothing(partition: Partition, one: EndMarker, batch: memoryview, **_: Any) -> object:
    return PreparedAppend(1, 1, len(batch), -1, None)


def read() -> EndMarker | None:
    batch = build_marker(MARKER, 60)
    return read_marker(read_batch_header(batch), batch, 0)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    (
        "ReplicaProducers.last_stable_offset",
        answers(4),
        lambda: ending().last_stable_offset(4, 0),
    ),
    (
        "ReplicaProducers.last_stable_offset",
        answers(5),
        lambda: ending().last_stable_offset(5, 3),
    ),
    (
        "ReplicaProducers.last_stable_offset",
        answers(0),
        lambda: ReplicaProducers().last_stable_offset(5, 3),
    ),
    ("ReplicaProducers.transaction_ended", answers(None), ending),
    ("ReplicaProducers.truncate_from_end", answers(None), lambda: ending().truncate_from_end(1)),
    ("ReplicaProducers.truncate_from_end", answers(None), lambda: ending().truncate_from_end(4)),
    (
        "ReplicaProducers.truncate_from_end",
        opens_nothing_again,
        lambda: ending().truncate_from_end(4),
    ),
    ("ReplicaProducers.restart_at", answers(None), lambda: ending().restart_at(9)),
    ("ReplicaProducers.note_replicated", answers(None), ending),
    (
        "EndedTransactions.aborted_between",
        answers(()),
        lambda: ending().ended.aborted_between(0, 9),
    ),
    (
        "EndedTransactions.aborted_between",
        answers(()),
        lambda: EndedTransactions(5).aborted_between(0, 9),
    ),
    ("EndedTransactions.add", remembers_all, lambda: EndedTransactions().add(ended(0, 1), 0)),
    ("transactions.read_marker", answers(MARKER._replace(is_commit=True)), read),
    ("transactions.read_marker", answers(MARKER._replace(producer_epoch=1)), read),
    ("markers.prepare_marker", stamps_nothing, prepared),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
