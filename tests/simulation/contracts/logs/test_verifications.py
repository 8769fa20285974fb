"""What the contracts of transactions that are being verified say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.verification import VerificationGuard, Verifications
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
BEGIN = Verifications.begin


def begun(*asked: tuple[int, int], raises_epochs: bool = True) -> Verifications:
    """Return what is known of producer 7 after it asked in these epochs, with these sequences."""
    known = Verifications()
    for epoch, sequence in asked:
        known.begin(7, epoch, sequence, raises_epochs=raises_epochs, now_ms=1)
    return known


def marked(epoch: int, *, raises_epochs: bool = True) -> Callable[[], object]:
    return lambda: begun((3, 5), raises_epochs=raises_epochs).marker_written(7, epoch)


def another_guard(known: Verifications, producer_id: int, *asked: int, **how: Any) -> object:
    known._of_producers.pop(producer_id, None)
    return BEGIN(known, producer_id, *asked, **how)


def a_guard_that_nobody_keeps(*_: object, **__: object) -> VerificationGuard:
    return VerificationGuard()


def the_last_sequence(
    known: Verifications, producer_id: int, epoch: int, sequence: int, **how: Any
) -> object:
    guard = BEGIN(known, producer_id, epoch, sequence, **how)
    one = known._of_producers[producer_id]
    one.epoch, one.lowest_sequence = epoch, sequence
    return guard


def the_lowest_of_all(
    known: Verifications, producer_id: int, epoch: int, sequence: int, **how: Any
) -> object:
    before = known._of_producers.get(producer_id)
    lowest = sequence if before is None else min(before.lowest_sequence, sequence)
    guard = BEGIN(known, producer_id, epoch, sequence, **how)
    known._of_producers[producer_id].lowest_sequence = lowest
    return guard


def takes_all(known: Verifications, producer_id: int, _epoch: int) -> None:
    known._of_producers.pop(producer_id, None)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("Verifications.begin", another_guard, lambda: begun((3, 5), (3, 6))),
    ("Verifications.begin", a_guard_that_nobody_keeps, lambda: begun((3, 5))),
    ("Verifications.begin", the_last_sequence, lambda: begun((3, 5), (3, 6))),
    ("Verifications.begin", the_last_sequence, lambda: begun((3, 5), (2, 0))),
    ("Verifications.begin", the_lowest_of_all, lambda: begun((3, 5), (4, 6))),
    ("Verifications.data_written", answers(None), lambda: begun((3, 5)).data_written(7)),
    ("Verifications.marker_written", answers(None), marked(4)),
    ("Verifications.marker_written", answers(None), marked(3, raises_epochs=False)),
    ("Verifications.marker_written", takes_all, marked(3)),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
