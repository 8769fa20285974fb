"""What the contracts of waiting produces say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from broker.core.delayed import DelayedProduce
from protocol.errors import ErrorCode
from tests.simulation.contracts.wrong_rules import answers, told_of


def settled() -> DelayedProduce:
    delayed = DelayedProduce(2, lambda: None)
    delayed.complete(0, ErrorCode.NONE)
    return delayed


def keeps_the_last_code(delayed: DelayedProduce, index: int, code: ErrorCode) -> None:
    delayed.codes[index] = code


WRONG_RULES: Final[list[tuple[str, Callable[..., object], Callable[[], object]]]] = [
    ("complete", answers(None), settled),
    (
        "complete",
        keeps_the_last_code,
        lambda: settled().complete(0, ErrorCode.REQUEST_TIMED_OUT),
    ),
    ("complete", keeps_the_last_code, lambda: settled().complete(1, ErrorCode.NONE)),
    ("expire", answers([]), lambda: settled().expire()),
    ("expire", answers([1]), lambda: settled().expire()),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], use: Callable[[], object]
) -> None:
    assert told_of(None, f"DelayedProduce.{rule}", use) == []
    assert told_of(wrong, f"DelayedProduce.{rule}", use)
