"""What the contracts of what compaction leaves of batches say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.batch_cleaning import index_keys, last_of_producers
from broker.core.offset_map import OffsetMap
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader, read_batch_header
from protocol.records.build import build_batch
from tests.broker.core.producing import entry
from tests.broker.core.test_batch_cleaning import cleaning, keyed
from tests.broker.core.test_cleaned_transactions import ABORT, Entry, data, following
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]


def clean(*pairs: tuple[bytes | None, bytes | None]) -> Buffer | None:
    batch = build_batch(keyed(*pairs))
    last = {b"a": 0, b"b": 5}
    return cleaning(last).clean(read_batch_header(batch), batch)


def keeps_all(_: object, header: BatchHeader, batch: Buffer) -> Buffer:
    return batch


def index() -> None:
    batch = build_batch(keyed((b"a", b"1"), (b"b", b"2")))
    index_keys(OffsetMap(1000, keys_max=9), read_batch_header(batch), batch, 0)


def put() -> None:
    OffsetMap(1000, keys_max=9).put(b"a", 5)


def marker() -> None:
    transactions = following(Entry(7, 10))
    transactions.read_data(data(10))
    transactions.read_marker(data(13), ABORT)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("BatchCleaning.clean", keeps_all, lambda: clean((b"a", b"1"), (b"b", b"2"))),
    ("BatchCleaning.clean", keeps_all, lambda: clean((b"a", None))),
    ("BatchCleaning.clean", answers(None), lambda: clean((b"a", b"1"))),
    ("batch_cleaning.last_of_producers", answers({}), lambda: last_of_producers([entry()])),
    ("batch_cleaning.index_keys", answers(True), index),
    ("OffsetMap.put", answers(True), put),
    ("OffsetMap.put", answers(True), index),
    ("CleanedTransactions.read_data", answers(False), marker),
    ("CleanedTransactions.read_marker", answers(True), marker),
    ("CleanedTransactions.expect", answers(None), lambda: following(Entry(7, 10))),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
