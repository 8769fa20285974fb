"""What members of the consumer protocol are promised on their way to what they shall have.

Source: CurrentAssignmentBuilder; GroupMetadataManager (maybeReconcile, maybeUpdateTargetAssignment,
updateSubscriptionMetadata, consumerGroupFenceMembers); KIP-848.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from typing import Final

from broker.core.groups.consumer import reconciliation, regexes
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_member import ConsumerMember, MemberState
from broker.core.groups.consumer.consumer_rebalances import (
    ConsumerRebalances,
    TimerKey,
    TimerKind,
)
from broker.core.groups.consumer.known_topics import KnownTopics, group_hash, topic_hash
from broker.core.groups.consumer.reconciliation import Owned, Towards
from broker.core.groups.decision import Decision
from simulation.contracts.contract import Broken, of_function, of_method
from simulation.contracts.coordinators.consumer_group import (
    Place,
    held_places,
    names_read,
    places_of,
)

_LOOKED_AT_EVERY_MS: Final = 10_000
"""Regular expressions are not looked at more often, whatever is new."""
_LOOKED_AT_ANYWAY_MS: Final = 600_000


def _claimed(owned: Owned) -> set[Place] | None:
    if owned is None:
        return None
    return {(bytes(row.topic_id), index) for row in owned for index in row.partitions}


@of_function(reconciliation.reconciled)
def reconciled(
    member: ConsumerMember, towards: Towards, owned: Owned, *, subscription_changed: bool
) -> Generator[None, ConsumerMember, Broken]:
    """A member gets what nobody else has, and is asked for the rest before it goes on.

    What it shall have it keeps; nothing is taken from it that it does not say to have given back.
    Of topics that it reads no more it keeps nothing, whatever its target is.
    """
    after = yield
    if member.state is MemberState.UNKNOWN:
        return None
    unread = {each for each in held_places(after.assigned) if each[0] not in towards.subscribed_ids}
    if subscription_changed and unread:
        return f"{unread} are kept by {member}, which reads other topics now"
    shall = {each for each in held_places(towards.target) if each[0] in towards.subscribed_ids}
    return (
        _wrongly_given(member, after, towards, shall)
        or _wrongly_taken(member, after, _claimed(owned), shall)
        or _wrong_step(member, after, towards, shall)
    )


def _wrongly_given(
    member: ConsumerMember, after: ConsumerMember, towards: Towards, shall: set[Place]
) -> Broken:
    got = held_places(after.assigned) - held_places(member.assigned)
    own = held_places(member.revoking)
    if not got <= shall:
        return f"{got - shall} are given to {member}, which shall have {shall}"
    others = {each for each in got if each not in own and towards.is_owned(*each)}
    if others:
        return f"{others} are given to {member}, and somebody has them"
    wrong = {each for each in got if after.assigned[each[0]][each[1]] != towards.epoch}
    return f"{wrong} are given in epoch {towards.epoch}: {after}" if wrong else None


def _wrongly_taken(
    member: ConsumerMember, after: ConsumerMember, claimed: set[Place] | None, shall: set[Place]
) -> Broken:
    gone = places_of(member) - places_of(after)
    if gone and (claimed is None or gone & claimed):
        return f"{gone} are taken from {member}, which says that it has {claimed}"
    had, has = held_places(member.assigned), held_places(after.assigned)
    if lost := (had & shall) - has:
        return f"{lost} are taken from {member}, which shall have them"
    kept = had & has
    if any(after.assigned[t][i] != member.assigned[t][i] for t, i in kept):
        return f"{member} had {member.assigned}, and has since another epoch {after.assigned}"
    return None


def _wrong_step(
    member: ConsumerMember, after: ConsumerMember, towards: Towards, shall: set[Place]
) -> Broken:
    is_settled = member.state is MemberState.STABLE and member.epoch == towards.epoch
    is_giving = after.state is MemberState.UNREVOKED_PARTITIONS
    if is_giving is not bool(held_places(after.revoking)):
        return f"{after} has {after.revoking} to give back"
    if after != member and after.previous_epoch != member.epoch:
        return f"{after} was in epoch {member.epoch}"
    if is_giving or is_settled:
        return f"{member} goes on: {after}" if after.epoch != member.epoch else None
    if extra := held_places(after.assigned) - shall:
        return f"{after} keeps {extra} in epoch {towards.epoch}, and shall have {shall}"
    missing = shall - held_places(after.assigned)
    is_waiting = after.state is MemberState.UNRELEASED_PARTITIONS
    if after.epoch != towards.epoch or bool(missing) is not is_waiting:
        return f"{after} lacks {missing} in epoch {towards.epoch}"
    free = {each for each in missing if not towards.is_owned(*each)}
    return f"{after} waits for {free}, which nobody has" if free else None


@of_method(ConsumerRebalances, "reconcile")
def reconcile(
    rebalances: ConsumerRebalances,
    group: ConsumerGroup,
    member: ConsumerMember,
    owned: Owned,
    decision: Decision,
    *,
    subscription_changed: bool,
) -> Generator[None, ConsumerMember, Broken]:
    """No two members have a partition; who is settled has its target, who gives back has a limit.

    Members of the classic protocol are timed by who tells them to join.
    """
    del owned, subscription_changed
    after = yield
    if group.members.get(member.member_id) != after:
        return f"{after} is told, {group.members.get(member.member_id)} is known"
    if after is member:
        return None
    if after.epoch not in {member.epoch, group.assignment_epoch}:
        return f"{after} goes on from {member}, targets are of {group.assignment_epoch}"
    broken = _shared(group, after) or _unsettled(rebalances, group, member, after)
    if broken is not None or after.classic is not None:
        return broken
    return _wrong_limit(rebalances, group, after, decision.now_ms)


def _shared(group: ConsumerGroup, member: ConsumerMember) -> Broken:
    has = places_of(member)
    for other in group.members.values():
        if other.member_id != member.member_id and (both := places_of(other) & has):
            return f"{both} are with {member} and {other}"
    return None


def _unsettled(
    rebalances: ConsumerRebalances,
    group: ConsumerGroup,
    before: ConsumerMember,
    after: ConsumerMember,
) -> Broken:
    epoch = group.assignment_epoch
    if not after.is_reconciled_to(epoch) or before.is_reconciled_to(epoch):
        return None
    ids = rebalances.topics.ids(group.topics_of(after))
    target = held_places(group.targets.get(after.member_id, {}))
    wanted = {each for each in target if each[0] in ids}
    has = held_places(after.assigned)
    return None if has == wanted else f"{after} is settled, and shall have {wanted}"


def _wrong_limit(
    rebalances: ConsumerRebalances, group: ConsumerGroup, member: ConsumerMember, now_ms: int
) -> Broken:
    due_ms = rebalances.timers.due_ms(
        TimerKey(TimerKind.REBALANCE, group.group_id, member.member_id)
    )
    is_giving = member.state is MemberState.UNREVOKED_PARTITIONS
    wanted = now_ms + member.rebalance_timeout_ms if is_giving else None
    return None if due_ms == wanted else f"{member} has until {due_ms}, not {wanted}"


def _hash_now(topics: KnownTopics, group: ConsumerGroup) -> int:
    found = {name: topics.get(name) for name in names_read(group)}
    return group_hash({name: topic_hash(each) for name, each in found.items() if each is not None})


@of_method(ConsumerRebalances, "begin_epoch_if_due")
def begin_epoch_if_due(
    rebalances: ConsumerRebalances,
    group: ConsumerGroup,
    decision: Decision,
    *,
    subscription_changed: bool,
) -> Generator[None, None, Broken]:
    """An epoch begins when members read other topics, or the topics changed; and only then."""
    del decision
    epoch, hashed, topics = group.epoch, group.metadata_hash, rebalances.topics
    has_looked = group.seen_generation == topics.generation
    yield
    if has_looked and not subscription_changed:
        return (
            None if group.epoch == epoch else f"epoch {group.epoch} after {epoch}: nothing is new"
        )
    now = _hash_now(topics, group)
    wanted = epoch + (subscription_changed or now != hashed)
    if group.epoch != wanted or group.metadata_hash != now:
        return f"epoch {group.epoch} with {group.metadata_hash}, not {wanted} with {now}"
    return None


@of_method(ConsumerRebalances, "assign_if_due")
def assign_if_due(
    rebalances: ConsumerRebalances, group: ConsumerGroup, decision: Decision, *, interval_ms: int
) -> Generator[None, None, Broken]:
    """A group epoch has a target, which gives each partition to one member that reads it.

    It is computed when the last one is old enough, or of a clock that was ahead.
    """
    before, since_ms = group.assignment_epoch, group.assignment_ms
    is_old = since_ms == 0 or not since_ms <= decision.wall_ms < since_ms + interval_ms
    is_due = before < group.epoch and is_old
    yield
    if not is_due:
        is_same = (group.assignment_epoch, group.assignment_ms) == (before, since_ms)
        return None if is_same else f"targets of {group.assignment_epoch}, {before} are not old"
    if (group.assignment_epoch, group.assignment_ms) != (group.epoch, decision.wall_ms):
        return f"targets of {group.assignment_epoch} at {group.assignment_ms} for {group.epoch}"
    if strangers := group.targets.keys() - group.members.keys():
        return f"{strangers} have targets, and are no members"
    return _wrong_targets(rebalances.topics, group)


def _wrong_targets(topics: KnownTopics, group: ConsumerGroup) -> Broken:
    counts = topics.partition_counts(names_read(group))
    owners: dict[Place, str] = {}
    read: set[bytes] = set()
    for member_id, member in group.members.items():
        ids = topics.ids(group.topics_of(member))
        read |= ids
        for place in held_places(group.targets.get(member_id, {})):
            if place[0] not in ids or owners.setdefault(place, member_id) != member_id:
                return f"{place} is for {member_id}, which reads {ids}, or {owners.get(place)}"
    wanted = {(topic_id, index) for topic_id in read for index in range(counts[topic_id])}
    return None if owners.keys() == wanted else f"targets {owners} of {wanted}"


@of_method(ConsumerRebalances, "fence")
def fence(
    rebalances: ConsumerRebalances,
    group: ConsumerGroup,
    member_ids: Sequence[str],
    decision: Decision,
) -> Generator[None, None, Broken]:
    """Who is out has nothing and no timer, and the others begin an epoch without it.

    Where only members of the classic protocol are left, the group may become a classic one.
    """
    del decision
    group_id, epoch = group.group_id, group.epoch
    rest = {name: each for name, each in group.members.items() if name not in member_ids}
    yield
    timed = [TimerKey(kind, group_id, each) for kind in TimerKind for each in member_ids]
    left = [each for each in timed if each in rebalances.timers]
    if left:
        return f"{left} go on without their members"
    if group_id not in rebalances.groups:
        is_right = bool(rest) and all(each.classic is not None for each in rest.values())
        return None if is_right else f"{group_id} is gone, and {rest} are its members"
    if group.members != rest:
        return f"{group.members} are left, not {rest}"
    return None if group.epoch == epoch + 1 else f"epoch {group.epoch} follows {epoch}"


@of_method(ConsumerRebalances, "forget_regexes")
def forget_regexes(
    rebalances: ConsumerRebalances,
    group: ConsumerGroup,
    wanted: Iterable[str | None],
    decision: Decision,
) -> Generator[None, None, Broken]:
    """What a regular expression found is forgotten when nobody subscribes to it any more."""
    del rebalances, decision
    before = dict(group.regexes)
    asked = list(wanted)
    yield
    used = {member.regex for member in group.members.values()}
    kept = {regex: each for regex, each in before.items() if regex in used or regex not in asked}
    return None if group.regexes == kept else f"{group.regexes} of {before}: used are {used}"


@of_function(regexes.resolve_if_due)
def resolve_if_due(
    group: ConsumerGroup, rebalances: ConsumerRebalances, decision: Decision
) -> Generator[None, bool, Broken]:
    """All regular expressions are looked at when one or a topic is new, but not all the time.

    It is told whether they find other topics than they did.
    """
    before, now_ms = dict(group.regexes), decision.wall_ms
    names = frozenset(topic.name for topic in rebalances.topics._image.topics())  # noqa: SLF001 -- as it is told
    asked = {member.regex for member in group.members.values() if member.regex}
    last_ms = max((each.timestamp_ms for each in before.values()), default=None)
    is_early = last_ms is not None and now_ms - last_ms <= _LOOKED_AT_EVERY_MS
    is_new = not asked <= before.keys() or names != group.seen_names
    is_old = last_ms is not None and now_ms - last_ms > _LOOKED_AT_ANYWAY_MS
    is_due = bool(asked) and not is_early and (is_new or is_old)
    told = yield
    if not is_due:
        is_kept = not told and group.regexes == before
        return None if is_kept else f"{group.regexes} is looked at after {before}, at {now_ms}"
    wanted = {
        regex: frozenset(each for each in names if re.fullmatch(regex, each)) for regex in asked
    }
    found = {regex: each.topics for regex, each in group.regexes.items() if regex in asked}
    if found != wanted or any(group.regexes[each].timestamp_ms != now_ms for each in asked):
        return f"{group.regexes} at {now_ms}, not {wanted}"
    old = {regex: each.topics for regex, each in before.items()}
    has_other = any(topics != old.get(regex, frozenset()) for regex, topics in found.items())
    return None if told is has_other else f"{found} of {before} is told as new: {told}"
