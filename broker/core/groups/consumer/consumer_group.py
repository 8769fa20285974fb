"""One group of the consumer protocol: its members, what each shall have, who has what.

It decides nothing and has no timers. Its records change it (`group_log`), when they are written as
when they are loaded. Source: ConsumerGroup, ModernGroup.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from broker.core.groups.assignors.assignment import AssignedPartitions, SubscriptionType
from broker.core.groups.consumer.consumer_member import ConsumerMember
from broker.core.groups.topic_patterns import ResolvedRegularExpression

FIRST_EPOCH: Final = 1
"""Of a group without members, and of its empty assignment."""
NEVER_ASSIGNED_MS: Final = 0
NEVER_SEEN: Final = -1


class ConsumerGroupState(Enum):
    """Where a group is; the values are Kafka's words."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    """A new assignment is due."""
    RECONCILING = "Reconciling"
    """Not every member has what it shall have."""
    STABLE = "Stable"
    DEAD = "Dead"
    """Only told, of groups that are not there."""


class ConsumerGroup:
    """Members by id, in the order in which they came."""

    __slots__ = (
        "_classic_supporters",
        "_names",
        "_owners",
        "_regex_topics",
        "assignment_epoch",
        "assignment_ms",
        "assignors",
        "epoch",
        "group_id",
        "has_partition_metadata_record",
        "instances",
        "members",
        "metadata_hash",
        "regex_subscribers",
        "regexes",
        "seen_generation",
        "seen_names",
        "targets",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        """Of all topics that it reads; signed."""
        self.assignment_epoch = FIRST_EPOCH
        """The group epoch that the targets were computed for."""
        self.assignment_ms = NEVER_ASSIGNED_MS
        """When they were, by the time of day; 0: never, or an earlier release did."""
        self.members: dict[str, ConsumerMember] = {}
        self.instances: dict[str, str] = {}
        """Member ids by the instance ids of static members."""
        self.targets: dict[str, AssignedPartitions] = {}
        """What each member shall have."""
        self.assignors: dict[str, int] = {}
        """How many members ask for each."""
        self.regexes: dict[str, ResolvedRegularExpression] = {}
        self.regex_subscribers: dict[str, int] = {}
        self.has_partition_metadata_record = False
        """Whether the log has what releases before 4.1 wrote instead of the hash."""
        self.seen_generation = NEVER_SEEN
        """Of the metadata that the hash was compared with last; not stored."""
        self.seen_names: frozenset[str] = frozenset()
        """The topics of the cluster when the regular expressions were resolved last."""
        self._names: dict[str, int] = {}
        """How many members name each topic."""
        self._regex_topics: dict[str, int] = {}
        """How many regular expressions found each topic."""
        self._owners: dict[tuple[bytes, int], str] = {}
        """Which member has a partition, or is giving it back."""
        self._classic_supporters: dict[str, int] = {}

    @property
    def state(self) -> ConsumerGroupState:
        """Where it is."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """Return who has an instance id."""
        member_id = None if instance_id is None else self.instances.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    # What members read.

    def topics(self) -> list[str]:
        """Return every topic that somebody reads, by name or by a regular expression, sorted."""
        return sorted(self._names.keys() | self._regex_topics.keys())

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """Return what one member reads; what is not resolved yet finds nothing."""
        found = self.regexes.get(member.regex) if member.regex else None
        return member.topics if found is None else member.topics | found.topics

    def subscription_type(self) -> SubscriptionType:
        """Tell whether all members read the same. Source: ConsumerGroup.subscriptionType."""
        count = len(self.members)
        if not self.regex_subscribers:
            is_one = all(names == count for names in self._names.values())
        else:
            is_one = (
                next(iter(self.regex_subscribers.values())) == count
                and not self._names
                and all(found == 1 for found in self._regex_topics.values())
            )
        return SubscriptionType.HOMOGENEOUS if is_one else SubscriptionType.HETEROGENEOUS

    # Who has what.

    def is_owned(self, topic_id: bytes, partition: int) -> bool:
        """Tell whether some member has a partition, or is giving it back."""
        return (topic_id, partition) in self._owners

    def preferred_assignor(self) -> str | None:
        """Return the one that most members ask for, of two the uniform one; None when none does.

        Source: ConsumerGroup.preferredServerAssignor, whose map has "uniform" before "range".
        """
        last_name_first = sorted(self.assignors, reverse=True)
        return max(last_name_first, key=self.assignors.__getitem__, default=None)

    # Members of the classic protocol.

    @property
    def classic_count(self) -> int:
        """How many members speak the classic protocol."""
        return sum(member.classic is not None for member in self.members.values())

    def supports(self, names: Iterable[str]) -> bool:
        """Tell whether somebody with these classic protocols can be a member."""
        count = self.classic_count
        return any(self._classic_supporters.get(name, 0) == count for name in names)

    # Changes; only its records make them.

    def put(self, member: ConsumerMember) -> None:
        """Take a member over, new or changed."""
        old = self.members.get(member.member_id)
        self.members[member.member_id] = member
        self._count(old, -1)
        self._count(member, 1)
        self._release(old)
        for place in _places(member):
            self._owners[place] = member.member_id
        if member.instance_id is not None:
            self.instances[member.instance_id] = member.member_id

    def remove(self, member_id: str) -> None:
        """Forget a member; without need if it is not there."""
        member = self.members.pop(member_id, None)
        self._count(member, -1)
        self._release(member)
        if member is not None and self.instances.get(member.instance_id or "") == member_id:
            del self.instances[member.instance_id or ""]

    def put_regex(self, regex: str, resolved: ResolvedRegularExpression | None) -> None:
        """Take over what a regular expression found; None forgets it."""
        old = self.regexes.pop(regex, None)
        for topic in () if old is None else old.topics:
            _add(self._regex_topics, topic, -1)
        if resolved is not None:
            self.regexes[regex] = resolved
            for topic in resolved.topics:
                _add(self._regex_topics, topic, 1)

    def forget_topics(self) -> None:
        """Have the topics of the cluster looked at again when a member is heard next."""
        self.seen_generation, self.seen_names = NEVER_SEEN, frozenset()

    def _release(self, member: ConsumerMember | None) -> None:
        if member is None:
            return
        for place in _places(member):
            if self._owners.get(place) == member.member_id:
                del self._owners[place]

    def _count(self, member: ConsumerMember | None, by: int) -> None:
        if member is None:
            return
        for topic in member.topics:
            _add(self._names, topic, by)
        if member.assignor is not None:
            _add(self.assignors, member.assignor, by)
        if member.regex:
            _add(self.regex_subscribers, member.regex, by)
        if member.classic is not None:
            for row in member.classic.supported_protocols:
                _add(self._classic_supporters, row.name, by)


def _places(member: ConsumerMember) -> Iterable[tuple[bytes, int]]:
    for held in (member.assigned, member.revoking):
        for topic_id, partitions in held.items():
            for partition in partitions:
                yield topic_id, partition


def _add(counts: dict[str, int], name: str, by: int) -> None:
    count = counts.get(name, 0) + by
    if count:
        counts[name] = count
    else:
        counts.pop(name, None)
