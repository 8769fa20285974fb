"""What the contracts of members on their way to their targets say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pytest

from broker.core.groups.consumer import reconciliation, regexes
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_member import ConsumerMember, MemberState
from broker.core.groups.consumer.consumer_rebalances import ConsumerRebalances
from broker.core.groups.consumer.reconciliation import Towards
from broker.core.groups.decision import Decision
from broker.core.groups.topic_patterns import ResolvedRegularExpression
from tests.broker.core.groups.consumer.lab import Lab, image_with
from tests.simulation.contracts.coordinators import consumer_stories as stories
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
RECONCILED: Final = partial(reconciliation.reconciled)
"""Not the rule itself: that is where the wrong one is planted."""
RESOLVE: Final = partial(regexes.resolve_if_due)
RECONCILE = ConsumerRebalances.reconcile


def all_at_once(member: ConsumerMember, towards: Towards, *_: object, **__: object) -> object:
    """Give a member its whole target, whoever has it."""
    given = {topic: dict.fromkeys(found, towards.epoch) for topic, found in towards.target.items()}
    return replace(
        member, epoch=towards.epoch, previous_epoch=member.epoch, assigned=given, revoking={}
    )


def unasked(
    member: ConsumerMember, towards: Towards, _owned: object, *, subscription_changed: bool
) -> object:
    """Take what a member does not say that it has."""
    return RECONCILED(member, towards, [], subscription_changed=subscription_changed)


def settled(member: ConsumerMember, towards: Towards, owned: Any, **changed: bool) -> object:
    """Let nobody wait."""
    found = RECONCILED(member, towards, owned, **changed)
    return replace(found, state=MemberState.STABLE)


def since_now(member: ConsumerMember, towards: Towards, owned: Any, **changed: bool) -> object:
    """Count all as given now."""
    found = RECONCILED(member, towards, owned, **changed)
    again = {topic: dict.fromkeys(held, found.epoch + 1) for topic, held in found.assigned.items()}
    return replace(found, assigned=again)


def keeps_the_rest(member: ConsumerMember, towards: Towards, *_: object, **__: object) -> object:
    """Let a member go on with what it is to give back."""
    return replace(
        member, state=MemberState.STABLE, epoch=towards.epoch, previous_epoch=member.epoch
    )


def stays_where_it_is(member: ConsumerMember, *_: object, **__: object) -> ConsumerMember:
    return member


def untimed(rebalances: ConsumerRebalances, *args: Any, **kwargs: Any) -> object:
    after = RECONCILE(rebalances, *args, **kwargs)
    rebalances.cancel(args[0].group_id, after.member_id)
    return after


def to_the_epoch_of_the_group(
    rebalances: ConsumerRebalances, group: ConsumerGroup, member: ConsumerMember, *_: Any, **__: Any
) -> object:
    group.put(replace(member, epoch=group.epoch + 1))
    return group.members[member.member_id]


def always_another(_rebalances: object, group: ConsumerGroup, *_: object, **__: object) -> None:
    group.epoch += 1


def for_nobody(_rebalances: object, group: ConsumerGroup, decision: Any, **__: object) -> None:
    group.assignment_epoch, group.assignment_ms = group.epoch, decision.wall_ms


def only_forgets(
    _rebalances: object, group: ConsumerGroup, member_ids: list[str], *_: object
) -> None:
    for member_id in member_ids:
        group.remove(member_id)


def forgets_used(_rebalances: object, group: ConsumerGroup, *_: object) -> None:
    for regex in list(group.regexes):
        group.put_regex(regex, None)


def finds(
    topics: Callable[[str, frozenset[str]], frozenset[str]], *, is_always: bool = False
) -> Wrong:
    """Look at all regular expressions where it is due, or always; let each find other topics."""

    def rule(group: ConsumerGroup, rebalances: ConsumerRebalances, decision: Decision) -> bool:
        if not is_always:
            told = RESOLVE(group, rebalances, decision)
            looked_at = {
                regex: each
                for regex, each in group.regexes.items()
                if each.timestamp_ms == decision.wall_ms
            }
            for regex, each in looked_at.items():
                group.put_regex(regex, replace(each, topics=topics(regex, each.topics)))
            return told
        for regex in group.regex_subscribers:
            found = topics(regex, rebalances.topics.names())
            group.put_regex(regex, ResolvedRegularExpression(found, 0, decision.wall_ms))
        return False

    return rule


def two_look_for_topics() -> object:
    """Let a second member come with a regular expression when the first one's was just found."""
    lab = Lab(image_with(orders=2, bills=2))
    lab.beat("a", subscribed_topic_regex="b.*")
    lab.beat("b", subscribed_topic_regex="o.*")
    lab.beat("a")
    lab.later(10_001)
    return lab.beat("a")


def still_holds(
    member: ConsumerMember, towards: Towards, owned: Any, *, subscription_changed: bool
) -> ConsumerMember:
    """Leave a member the topics that it reads no more until it has another target."""
    if subscription_changed and member.epoch == towards.epoch:
        return member
    return RECONCILED(member, towards, owned, subscription_changed=subscription_changed)


def reads_less_before_a_new_assignment() -> object:
    config = {"group_consumer_assignment_interval_ms": 1_000}
    lab = Lab(image_with(orders=1, bills=1), **config)
    lab.beat("a", subscribed_topic_names=["orders", "bills"])
    return lab.beat("a", subscribed_topic_names=["bills"])


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("reconciliation.reconciled", all_at_once, stories.shared),
    ("reconciliation.reconciled", unasked, stories.silent_about_what_it_has),
    ("reconciliation.reconciled", settled, stories.shared),
    ("reconciliation.reconciled", since_now, stories.shared),
    ("reconciliation.reconciled", stays_where_it_is, stories.shared),
    ("reconciliation.reconciled", keeps_the_rest, stories.shared),
    ("reconciliation.reconciled", still_holds, reads_less_before_a_new_assignment),
    ("ConsumerRebalances.reconcile", untimed, stories.silent_about_what_it_has),
    ("ConsumerRebalances.reconcile", to_the_epoch_of_the_group, stories.shared),
    ("ConsumerRebalances.begin_epoch_if_due", answers(None), stories.answer_is_lost),
    ("ConsumerRebalances.begin_epoch_if_due", always_another, stories.shared),
    ("ConsumerRebalances.assign_if_due", answers(None), stories.shared),
    ("ConsumerRebalances.assign_if_due", for_nobody, stories.shared),
    ("ConsumerRebalances.fence", answers(None), stories.left_alone),
    ("ConsumerRebalances.fence", only_forgets, stories.left_alone),
    ("ConsumerRebalances.forget_regexes", answers(None), stories.other_topics),
    ("regexes.resolve_if_due", answers(value=True), stories.shared),
    ("regexes.resolve_if_due", answers(value=False), two_look_for_topics),
    ("regexes.resolve_if_due", finds(lambda _, __: frozenset[str]()), two_look_for_topics),
    ("regexes.resolve_if_due", finds(lambda _, all_: all_, is_always=True), two_look_for_topics),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_every_story_keeps_all_promises() -> None:
    found: Mapping[str, object] = vars(stories)
    for name, story in found.items():
        if callable(story) and getattr(story, "__module__", "") == stories.__name__:
            assert told_of(None, "", story) == [], name
