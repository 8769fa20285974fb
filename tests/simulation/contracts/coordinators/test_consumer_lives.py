"""What the contracts of groups that are loaded, asked and change sides say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import pytest

from broker.core.groups.classic_groups import ClassicGroups
from broker.core.groups.consumer import conversion
from broker.core.groups.consumer.committing import commit_error, fetch_error
from broker.core.groups.consumer.consumer_groups import ConsumerGroups
from broker.core.groups.membership import Committer, ExpiryRule
from protocol.errors import ErrorCode, KafkaError
from tests.simulation.contracts.coordinators import consumer_stories as stories
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
UPGRADED: Final = partial(conversion.upgraded)
DOWNGRADED: Final = partial(conversion.downgraded)
"""Not the rules themselves: those are where wrong ones are planted."""
ADOPT = ClassicGroups.adopt


def committed(epoch_before: int, *, member_id: str = "b") -> Callable[[], object]:
    def use() -> object:
        lab = stories.shared()
        group = lab.group
        epoch = lab.epochs["b"] - epoch_before
        committer = Committer(
            member_id=member_id, generation=epoch, has_member_epoch=True, is_transactional=False
        )
        return commit_error(group, committer, [stories.ORDERS_0], lab.members.consumer.topics)

    return use


def fetched(epoch_before: int) -> Callable[[], object]:
    def use() -> object:
        lab = stories.shared()
        return fetch_error(lab.group, "b", lab.epochs["b"] - epoch_before)

    return use


def committed_in_an_upgraded_group() -> None:
    lab, classic_id = stories.upgraded()
    committer = Committer(member_id=classic_id, generation=9, is_transactional=False)
    with suppress(KafkaError):
        lab.members.validate_commit(stories.GROUP, committer, [stories.ORDERS_0], 0)


def takes_no_member(groups: ConsumerGroups, now_ms: int) -> None:
    while groups.rebalances.timers.take_due(now_ms) is not None:
        pass


def writes_alone(groups: ConsumerGroups, group_id: str, changes: Any, decision: Any) -> None:
    del group_id
    groups.rebalances.write(changes, decision)


def without_assignments(group: Any, topics: Any, **limits: Any) -> object:
    return UPGRADED(group, topics, **limits)[:-1]


def in_a_generation_before(group: Any, *args: Any) -> object:
    classic = DOWNGRADED(group, *args)
    classic.generation -= 1
    return classic


def without_members(group: Any, *args: Any) -> object:
    classic = DOWNGRADED(group, *args)
    classic.members.clear()
    return classic


def as_if_led(groups: ClassicGroups, group: Any, decision: Any, *, rebalance: bool) -> None:
    del rebalance
    ADOPT(groups, group, decision, rebalance=False)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("ConsumerGroups.loaded", answers(None), stories.loaded_in_the_middle),
    ("ConsumerGroups.write_upgraded", writes_alone, stories.upgraded),
    ("ConsumerGroups.take_due", takes_no_member, stories.too_late),
    ("ConsumerGroups.take_due", takes_no_member, stories.left_alone),
    ("ConsumerGroups.expiry", answers(ExpiryRule()), stories.expired),
    ("committing.commit_error", answers(ErrorCode.NONE), committed(1)),
    ("committing.commit_error", answers(ErrorCode.NONE), committed(-1)),
    ("committing.commit_error", answers(ErrorCode.NONE), committed(0, member_id="x")),
    ("committing.commit_error", answers(ErrorCode.STALE_MEMBER_EPOCH), committed(0)),
    ("committing.commit_error", answers(ErrorCode.NONE), committed_in_an_upgraded_group),
    ("committing.fetch_error", answers(ErrorCode.NONE), fetched(1)),
    ("committing.fetch_error", answers(ErrorCode.STALE_MEMBER_EPOCH), fetched(0)),
    ("conversion.upgraded", without_assignments, stories.upgraded),
    ("conversion.downgraded", in_a_generation_before, stories.downgraded),
    ("conversion.downgraded", without_members, stories.downgraded),
    ("ClassicGroups.adopt", as_if_led, stories.downgraded),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
