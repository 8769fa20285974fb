"""What the contracts of those who wait at a broker say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.delayed import DelayedProduce, ProduceWaiters
from broker.core.first_metadata import FirstMetadata
from broker.core.timers import Timers
from protocol.errors import ErrorCode
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]


def waiting() -> ProduceWaiters:
    waiters = ProduceWaiters()
    for offset in (20, 10, 10):
        waiters.add(offset, DelayedProduce(1, lambda: None), 0)
    return waiters


def reach() -> None:
    waiting().reached(10, ErrorCode.NONE)


def forgets_whom_it_reached(waiters: ProduceWaiters, offset: int, _: ErrorCode) -> None:
    waiters._waits = [wait for wait in waiters._waits if wait[0] > offset]


def comes_last(waiters: ProduceWaiters, offset: int, delayed: DelayedProduce, index: int) -> None:
    waiters._waits.append((offset, delayed, index))


def timers() -> Timers[str]:
    made: Timers[str] = Timers()
    for key, due_ms in (("late", 30), ("soon", 20)):
        made.set(key, due_ms)
    return made


def gate() -> FirstMetadata:
    return FirstMetadata(requests_max=2, bytes_max=100)


def let_wait(size_bytes: int = 60) -> None:
    one = gate()
    number = one.take(size_bytes, now_ms=5, timeout_ms=10)
    if number is not None:
        one.leave(number)


def counts_no_bytes(one: FirstMetadata, number: int) -> None:
    one._waiting.pop(number)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("ProduceWaiters.reached", answers(None), reach),
    ("ProduceWaiters.reached", forgets_whom_it_reached, reach),
    ("ProduceWaiters.add", comes_last, waiting),
    ("ProduceWaiters.add", answers(None), waiting),
    ("Timers.next_due_ms", answers(30), lambda: timers().next_due_ms()),
    ("Timers.next_due_ms", answers(None), lambda: timers().next_due_ms()),
    ("Timers.take_due", answers("soon"), lambda: timers().take_due(19)),
    ("Timers.take_due", answers("late"), lambda: timers().take_due(40)),
    ("Timers.take_due", answers("soon"), lambda: timers().take_due(25)),
    ("Timers.take_due", answers(None), lambda: timers().take_due(20)),
    ("FirstMetadata.take", answers(None), let_wait),
    ("FirstMetadata.take", answers(1), lambda: let_wait(101)),
    ("FirstMetadata.leave", counts_no_bytes, let_wait),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
