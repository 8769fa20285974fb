"""What the contracts of joins say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.coordination import Decided
from tests.simulation.contracts.coordinators.classic_stories import (
    joins_again,
    static_one_comes_back,
)
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
NOTHING = answers(Decided())

WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("ClassicGroups.join", NOTHING, joins_again),
    ("ClassicGroups.join", NOTHING, static_one_comes_back),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
