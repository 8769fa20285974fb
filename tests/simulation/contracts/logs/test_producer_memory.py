"""What the contracts of what is remembered of producers say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

from broker.core.producer_entry import Producer, WrittenBatch
from broker.core.producers import ProducerStates
from broker.core.transactions import EndMarker
from protocol.records.batch import TRANSACTIONAL_BIT
from tests.broker.core.producing import append, entry, header
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]


def written(*, opens: bool = False) -> ProducerStates:
    states = ProducerStates()
    append(states, header(0, attributes=TRANSACTIONAL_BIT if opens else 0), 0)
    append(states, header(1, attributes=TRANSACTIONAL_BIT if opens else 0), 1)
    return states


def mark(*, epoch: int = 0, coordinator_epoch: int = 3, version: int = 0) -> EndMarker:
    return EndMarker(7, epoch, coordinator_epoch, is_commit=True, transaction_version=version)


def expire(states: ProducerStates) -> None:
    states.expire(5000, 1000)


def forgets_all(states: ProducerStates, *_: object) -> None:
    states.clear()


def says_all_expired(states: ProducerStates, *_: object) -> list[int]:
    return list(states._producers)


def loads_the_first(states: ProducerStates, entries: Iterable[Any]) -> None:
    states._producers = {one.producer_id: Producer.from_entry(one) for one in list(entries)[:1]}


def batches(count: int) -> list[WrittenBatch]:
    return [WrittenBatch(number, number, number, 0, 5) for number in range(count)]


def recall() -> None:
    producer = Producer(0)
    producer.batches = batches(8)[-1:]
    producer.recall(batches(8))


def late(timeout_max_ms: int = 100) -> bool:
    return written(opens=True).has_late_transaction(400_000, timeout_max_ms)


def expire_a_verification() -> None:
    states = ProducerStates()
    states.begin_verification(7, 0, 0, raises_epochs=False, now_ms=0)
    expire(states)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("ProducerStates.has_late_transaction", answers(False), late),
    ("ProducerStates.has_late_transaction", answers(True), lambda: late(100_000)),
    ("ProducerStates.expire", answers([]), lambda: expire(written())),
    ("ProducerStates.expire", answers([]), expire_a_verification),
    ("ProducerStates.expire", says_all_expired, lambda: expire(written(opens=True))),
    ("ProducerStates.forget", forgets_all, lambda: written(opens=True).forget([7])),
    ("ProducerStates.truncate_from_end", answers(None), lambda: written().truncate_from_end(1)),
    (
        "ProducerStates.truncate_from_end",
        forgets_all,
        lambda: written(opens=True).truncate_from_end(1),
    ),
    (
        "ProducerStates.load",
        loads_the_first,
        lambda: ProducerStates([entry(), entry()._replace(producer_id=8)]),
    ),
    ("ProducerStates.snapshot_entries", answers([]), lambda: written().snapshot_entries()),
    ("Producer.recall", answers(None), recall),
    ("Producer.lacks_batches", answers(True), lambda: Producer(0).lacks_batches(0)),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
