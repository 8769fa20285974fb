"""What the contracts of rebalances say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.decision import Decision
from broker.core.groups.rebalances import Rebalances, TimerKey, TimerKind
from tests.simulation.contracts.coordinators.classic_stories import (
    beats,
    goes_over,
    joins_again,
    nobody_asks_for_shares,
    nobody_comes,
    one_is_silent,
    one_leaves,
    stable,
    static_one_comes_back,
)
from tests.simulation.contracts.wrong_rules import answers, told_of

PREPARING, STABLE = GroupState.PREPARING_REBALANCE, GroupState.STABLE
Wrong = Callable[..., Any]


def waits_on(rebalances: Rebalances, group: ClassicGroup, *_: object) -> None:
    rebalances._timers.set(TimerKey(TimerKind.JOIN, group.group_id), 1 << 40)


def begins_at_once(rebalances: Rebalances, group: ClassicGroup, decision: Decision) -> None:
    group.move_to(PREPARING, decision.wall_ms)
    rebalances._timers.set(TimerKey(TimerKind.JOIN, group.group_id), decision.now_ms)


def keeps_all(rebalances: Rebalances, group: ClassicGroup, decision: Decision) -> None:
    rebalances._timers.cancel(TimerKey(TimerKind.JOIN, group.group_id))
    group.begin_generation(decision.wall_ms)


def stores_nothing(_: Rebalances, group: ClassicGroup, __: object, decision: Decision) -> None:
    group.move_to(STABLE, decision.wall_ms)


def removes_quietly(_: Rebalances, group: ClassicGroup, who: str, __: Decision) -> None:
    group.join_waiters.pop(who, None)
    group.sync_waiters.pop(who, None)
    group.remove(who)


def begins_for_ever(_: Rebalances, group: ClassicGroup, decision: Decision) -> None:
    group.unsynced.clear()
    group.move_to(PREPARING, decision.wall_ms)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("Rebalances.begin", begins_at_once, joins_again),
    ("Rebalances.begin", begins_for_ever, joins_again),
    ("Rebalances.complete_if_all_joined", answers(None), joins_again),
    ("Rebalances.end_join_phase", answers(None), stable),
    ("Rebalances.end_join_phase", waits_on, stable),
    ("Rebalances.complete_join", keeps_all, stable),
    ("Rebalances.complete_join", answers(None), stable),
    ("Rebalances.assign", answers(None), stable),
    ("Rebalances.assign", stores_nothing, stable),
    ("Rebalances.end_sync_phase", answers(None), nobody_asks_for_shares),
    ("Rebalances.forget_unsynced", answers(None), stable),
    ("Rebalances.end_session", answers(None), one_is_silent),
    ("Rebalances.go_on_without", answers(None), one_leaves),
    ("Rebalances.go_on_without", answers(None), one_is_silent),
    ("Rebalances.remove", removes_quietly, one_leaves),
    ("Rebalances.remove", answers(None), one_leaves),
    ("Rebalances.fence", removes_quietly, static_one_comes_back),
    ("Rebalances.send_away", answers(None), goes_over),
    ("Rebalances.renew_session", answers(None), beats),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_an_id_that_is_never_taken_back_is_told() -> None:
    assert told_of(None, "Rebalances.end_session", nobody_comes) == []
    assert told_of(answers(None), "Rebalances.end_session", nobody_comes)
