"""What the contracts of joins say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.coordination import Decided
from broker.core.groups.classic_group import GroupState
from broker.core.groups.classic_groups import ClassicGroups
from broker.core.groups.joins import Joining
from tests.simulation.contracts.coordinators.classic_stories import (
    joins_again,
    static_leader_comes_back,
    static_one_comes_back,
)
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
NOTHING = answers(Decided())

WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("ClassicGroups.join", NOTHING, joins_again),
    ("ClassicGroups.join", NOTHING, static_one_comes_back),
]


def _replaced(*, leads: bool, begins: bool) -> Wrong:
    """Return a rule that gives a static member its new id, and does only some of the rest."""
    right = ClassicGroups.join

    def join(groups: ClassicGroups, joining: Joining, now_ms: int, wall_ms: int) -> Decided:
        group = groups.get(joining.request.group_id)
        request = joining.request
        is_back = request.group_instance_id == "a" and not request.member_id
        if group is None or not is_back:
            return right(groups, joining, now_ms, wall_ms)
        (old,) = (each for each in group.members.values() if each.instance_id == "a")
        group.replace_id(old, "anew")
        group.leader_id = "anew" if leads else next(iter(group.members))
        if begins:
            group.move_to(GroupState.PREPARING_REBALANCE, wall_ms)
        return Decided()

    return join


@pytest.mark.parametrize(("leads", "begins"), [(True, False), (False, True)])
def test_a_static_leader_that_comes_back_leads_and_assigns_anew(leads: bool, begins: bool) -> None:
    use = static_leader_comes_back(while_it_assigns=True)
    assert told_of(None, "ClassicGroups.join", use) == []
    (told,) = told_of(_replaced(leads=leads, begins=begins), "ClassicGroups.join", use)
    assert ("may assign to" if leads else "led, now") in told


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
