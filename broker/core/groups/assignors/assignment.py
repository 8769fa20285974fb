"""What assignors of the consumer group protocol are given and return. Nothing is assigned here."""

from __future__ import annotations

import enum
import struct
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from protocol.ids import uuid_text

AssignedPartitions: TypeAlias = Mapping[bytes, tuple[int, ...]]
"""Partitions in ascending order by the id of their topic; no topic stands there without any."""

_UUID: Final = struct.Struct(">qq")


class SubscriptionType(enum.Enum):
    """Whether all members of a group are subscribed to the same topics."""

    HOMOGENEOUS = "homogeneous"
    HETEROGENEOUS = "heterogeneous"


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """One member as an assignor sees it.

    Source: MemberSubscription.java, MemberAssignment.java.
    """

    topics: Set[bytes]
    """Ids of the topics that it is subscribed to and that exist."""
    rack: str | None = None
    """Kafka's assignors of 4.3 do not look at it."""
    instance_id: str | None = None
    current_partitions: AssignedPartitions = field(default_factory=dict[bytes, tuple[int, ...]])
    """Its target assignment of now; of a static member that replaces another, the other's."""


class Assign(Protocol):
    """An assignor."""

    def __call__(
        self,
        members: Mapping[str, MemberSubscription],
        topics: Mapping[bytes, int],
        type_told: SubscriptionType | None = None,
        /,
    ) -> dict[str, AssignedPartitions]:
        """Return an entry for each of ``members`` (by their ids).

        ``topics`` are partition counts by topic id. Kafka tells the subscription type by the names
        that members are subscribed to, whether or not such topics exist; without ``type_told`` it
        is that of the topics that do.

        Raises:
            PartitionAssignorError: a member is subscribed to a topic that is not in ``topics``.
        """
        ...


class PartitionAssignorError(Exception):
    """A member is subscribed to a topic that does not exist.

    Source: PartitionAssignorException.java.
    """


def subscription_type(members: Mapping[str, MemberSubscription]) -> SubscriptionType:
    """Return what ``members`` are by the topics that exist; without members homogeneous."""
    subscriptions = [member.topics for member in members.values()]
    is_one = all(topics == subscriptions[0] for topics in subscriptions)
    return SubscriptionType.HOMOGENEOUS if is_one else SubscriptionType.HETEROGENEOUS


def check_topics(members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]) -> None:
    """Have every subscription be to topics of ``topics``.

    Raises:
        PartitionAssignorError: one is not.
    """
    for member_id in sorted(members):
        for topic_id in members[member_id].topics:
            if topic_id not in topics:
                raise PartitionAssignorError(
                    f"member {member_id} is subscribed to topic {uuid_text(topic_id)},"
                    " which does not exist"
                )


def still_there(partitions: AssignedPartitions, counts: Mapping[bytes, int]) -> AssignedPartitions:
    """Return those that exist.

    A broker that has just become the coordinator may know fewer than were assigned. Differs from
    Kafka, whose uniform assignor fails for them or assigns them again.
    """
    return {
        each: tuple(partition for partition in found if partition < counts.get(each, 0))
        for each, found in partitions.items()
    }


def topic_order(topic_id: bytes) -> tuple[int, int]:
    """Return what ids are ordered by: two signed numbers.

    Source: Uuid.java compareTo.
    """
    high, low = _UUID.unpack(topic_id)
    return high, low
