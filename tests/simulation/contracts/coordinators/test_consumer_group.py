"""What the contracts of a group of the consumer protocol say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, Final

import pytest

from broker.core.groups.assignors.assignment import SubscriptionType
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
    ConsumerGroupRegularExpressionKey,
)
from protocol.stored_records import GROUP_RECORDS, decode_key
from tests.broker.core.groups.consumer.lab import Lab
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


def loaded(*kinds: type[Any]) -> Callable[[], object]:
    """Let a coordinator load the records of these kinds that a story left."""

    def use() -> None:
        lab = stories.other_topics()
        members = lab.new_members()
        for key, value in lab.records:
            record, about = decode_key(GROUP_RECORDS, key)
            if isinstance(about, kinds):
                members.replay(record, about, value)

    return use


def reads_other_topics() -> object:
    """Let two members read something else."""
    lab = Lab()
    lab.beat("a")
    return lab.beat("b", subscribed_topic_names=["bills"])


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
    *(
        ("ConsumerGroup.subscription_type", answers(told), story)
        for told, story in (
            (SubscriptionType.HETEROGENEOUS, stories.shared),
            (SubscriptionType.HOMOGENEOUS, reads_other_topics),
        )
    ),
    *(
        ("GroupMembers.replay", answers(None), loaded(kind))
        for kind in (
            ConsumerGroupMetadataKey,
            ConsumerGroupMemberMetadataKey,
            ConsumerGroupRegularExpressionKey,
        )
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_groups_of_the_classic_protocol_are_loaded_and_end() -> None:
    def use() -> None:
        lab = Lab()
        lab.stable_classic({"orders": [0]})
        members = lab.new_members()
        records = [(*decode_key(GROUP_RECORDS, key), value) for key, value in lab.records]
        for value in (records[-1][2], None):
            members.replay(*records[-1][:2], value)

    assert told_of(None, "GroupMembers.replay", use) == []
    assert len(told_of(answers(None), "GroupMembers.replay", use)) == 1
