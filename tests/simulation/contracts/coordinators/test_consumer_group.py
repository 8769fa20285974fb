"""What the contracts of a group of the consumer protocol say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, Final

import pytest

from broker.core.groups.consumer import group_log
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_member import ConsumerMember
from broker.core.groups.consumer.consumer_rebalances import ConsumerRebalances
from broker.core.groups.consumer.group_log import Change, Groups
from broker.core.groups.decision import Decision
from protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
)
from tests.simulation.contracts.coordinators import consumer_stories as stories
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
APPLY: Final = partial(group_log.apply)
"""Not the rule itself: that is where the wrong one is planted."""
PUT = ConsumerGroup.put


def owns_late(group: ConsumerGroup, member: ConsumerMember) -> None:
    """Forget what a member keeps when it changes."""
    PUT(group, member)
    group._release(member)


def names_twice(group: ConsumerGroup, member: ConsumerMember) -> None:
    PUT(group, member)
    group._count(member, 1)


def keeps_instances(group: ConsumerGroup, member_id: str) -> None:
    member = group.members.pop(member_id, None)
    group._count(member, -1)
    group._release(member)


def without(key: type) -> Wrong:
    """Leave records of one kind out."""

    def apply(groups: Groups, change: Change) -> None:
        if not isinstance(change.key, key) or change.key.group_id not in groups:
            APPLY(groups, change)

    return apply


def forgets_what_is_given_back(groups: Groups, change: Change) -> None:
    if isinstance(change.key, ConsumerGroupCurrentMemberAssignmentKey) and change.value:
        change = Change(change.key, copy(change.value))
        change.value.partitions_pending_revocation = []
    APPLY(groups, change)


def writes_nothing(rebalances: ConsumerRebalances, changes: Any, decision: Decision) -> None:
    del decision
    for change in changes:
        APPLY(rebalances.groups, change)


WRONG_RULES: Final[list[tuple[str, Wrong | property, Callable[[], object]]]] = [
    ("ConsumerGroup.put", owns_late, stories.shared),
    ("ConsumerGroup.put", names_twice, stories.shared),
    ("ConsumerGroup.remove", keeps_instances, stories.away_and_back),
    ("ConsumerGroup.preferred_assignor", answers(None), stories.by_ranges),
    ("ConsumerGroup.topics", answers([]), stories.other_topics),
    ("group_log.apply", without(ConsumerGroupMetadataKey), stories.shared),
    ("group_log.apply", without(ConsumerGroupMemberMetadataKey), stories.other_topics),
    ("group_log.apply", forgets_what_is_given_back, stories.silent_about_what_it_has),
    ("ConsumerRebalances.write", writes_nothing, stories.shared),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
