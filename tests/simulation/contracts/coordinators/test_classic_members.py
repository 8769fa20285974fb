"""What the contracts of classic members in a group of the other protocol say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from broker.core.groups.consumer.classic_members import ClassicMembers
from broker.core.groups.consumer.conversion import downgraded
from broker.core.groups.group_members import GroupMembers
from protocol.errors import ErrorCode
from protocol.messages.groups import HeartbeatResponse, LeaveGroupResponse
from tests.simulation.contracts.coordinators import consumer_stories as stories
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
JOIN, SYNC, BEAT = ClassicMembers.join, ClassicMembers.sync, ClassicMembers.heartbeat


def without_a_limit(members: ClassicMembers, group: Any, *args: Any) -> object:
    told = JOIN(members, group, *args)
    members._rebalances.cancel(group.group_id, told.member_id)
    return told


def _never(*_: object) -> bool:
    return False


def stays_what_it_is(members: ClassicMembers, *args: Any) -> object:
    rebalances = members._rebalances
    before, rebalances._downgrade = rebalances._downgrade, _never
    told = JOIN(members, *args)
    rebalances._downgrade = before
    return told


def as_if_in_time(members: ClassicMembers, group: Any, request: Any, *args: Any) -> object:
    """Tell a member what it has when it is to join again."""
    before = group.assignment_epoch
    group.assignment_epoch = group.members[request.member_id].epoch
    told = SYNC(members, group, request, *args)
    group.assignment_epoch = before
    return told


def of_nothing(members: ClassicMembers, group: Any, request: Any, *args: Any) -> object:
    member = group.members[request.member_id]
    group.put(replace(member, assigned={}))
    told = SYNC(members, group, request, *args)
    group.put(member)
    return told


def without_time(members: ClassicMembers, group: Any, request: Any, decision: Any) -> object:
    told = BEAT(members, group, request, decision)
    members._rebalances.cancel(group.group_id, request.member_id)
    return told


def as_it_is(groups: GroupMembers, group: Any, leaving: Any, decision: Any) -> bool:
    """Take over what every member shall have, as if it had it already."""
    classic = downgraded(group, leaving, groups.consumer.topics, decision.wall_ms)
    groups.consumer.remove(group, decision)
    groups.classic.adopt(classic, decision, rebalance=False)
    return True


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("ClassicMembers.join", without_a_limit, stories.upgraded),
    ("ClassicMembers.join", stays_what_it_is, stories.downgraded_before_all_have_their_share),
    ("ClassicMembers.sync", as_if_in_time, stories.behind),
    ("ClassicMembers.sync", of_nothing, stories.upgraded),
    ("GroupMembers._downgrade", as_it_is, stories.downgraded_before_all_have_their_share),
    ("GroupMembers._downgrade", answers(True), stories.downgraded_before_all_have_their_share),
    (
        "ClassicMembers.heartbeat",
        answers(HeartbeatResponse(error_code=ErrorCode.NONE)),
        stories.upgraded,
    ),
    ("ClassicMembers.heartbeat", without_time, stories.upgraded),
    (
        "ClassicMembers.leave",
        answers(LeaveGroupResponse(error_code=0, members=[])),
        stories.left_by_a_classic_member,
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
