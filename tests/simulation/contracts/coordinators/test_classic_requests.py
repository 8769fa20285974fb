"""What the contracts of requests of the classic protocol say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from broker.core.coordination import Decided
from broker.core.groups.classic_groups import ClassicGroups
from broker.core.groups.membership import ExpiryRule
from protocol.errors import ErrorCode
from tests.broker.core.groups.lab import GROUP, REBALANCE_MS, Lab
from tests.simulation.contracts.coordinators.classic_stories import (
    a_stranger_leaves,
    beats,
    commits,
    deletes,
    joins_again,
    lab_of,
    loads,
    one_asks_twice_for_its_share,
    stable,
)
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
NOTHING = answers(Decided())
SYNC = ClassicGroups.sync


def forgets_who_asked_first(groups: ClassicGroups, waiter: int, *args: Any) -> Decided:
    decided = SYNC(groups, waiter, *args)
    own = [each for each in decided.answers if each.waiter == waiter]
    return replace(decided, answers=own)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("ClassicGroups.heartbeat", NOTHING, beats),
    ("ClassicGroups.sync", NOTHING, stable),
    ("ClassicGroups.sync", forgets_who_asked_first, one_asks_twice_for_its_share),
    ("ClassicGroups.leave", NOTHING, a_stranger_leaves),
    ("ClassicGroups.loaded", NOTHING, loads),
    ("ClassicGroups.validate_commit", answers(None), commits(1)),
    ("ClassicGroups.topics_in_use", answers(["orders"]), lambda: Lab().groups.topics_in_use("g")),
    ("ClassicGroups.expiry", answers(ExpiryRule()), lambda: lab_of()[0].groups.expiry(GROUP)),
    (
        "ClassicGroups.deletion_error",
        answers(ErrorCode.NONE),
        lambda: lab_of()[0].groups.deletion_error(GROUP),
    ),
    ("ClassicGroups.offsets_gone", answers(()), deletes),
    ("ClassicGroups.delete", answers(()), deletes),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_a_commit_of_an_older_generation_is_told() -> None:
    assert told_of(answers(None), "ClassicGroups.validate_commit", commits(0))


def test_what_is_due_and_not_done_is_told() -> None:
    def use() -> None:
        lab = Lab()
        lab.join(lab.id_for())
        lab.groups.expire(10 * REBALANCE_MS, 0)

    assert told_of(None, "ClassicGroups.expire", use) == []
    assert told_of(NOTHING, "ClassicGroups.expire", use)


def test_a_rebalance_that_nobody_hears_of_is_told() -> None:
    heartbeat = ClassicGroups.heartbeat

    def says_nothing(groups: ClassicGroups, *asked: Any) -> Decided:
        decided = heartbeat(groups, *asked)
        for each in decided.answers:
            each.response.error_code = ErrorCode.NONE
        return decided

    assert told_of(says_nothing, "ClassicGroups.heartbeat", joins_again)
