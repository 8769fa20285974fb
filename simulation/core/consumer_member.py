"""A member of a group of the consumer protocol (KIP-848): what its next heartbeat says.

It is what Kafka's own consumer of 4.3 does, by the exchanges that were recorded of it. Source:
ConsumerHeartbeatRequestManager.java, ConsumerMembershipManager.java.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from protocol.errors import ErrorCode
from protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

JOINING: Final = 0
LEAVING: Final = -1
_FENCED: Final = (
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    # The disks that had the group lost it. Kafka's consumer ends, and whoever runs it has another.
    ErrorCode.GROUP_ID_NOT_FOUND,
)

TopicIdPartition: TypeAlias = tuple[bytes, int]


class GroupMetadata(NamedTuple):
    """As whom a transaction commits offsets. Source: ConsumerGroupMetadata.java."""

    group: str
    member_id: str
    member_epoch: int


class ConsumerMember:
    """One member, from when it joins until it leaves."""

    def __init__(
        self, group: str, member_id: str, topics: Iterable[str], *, rebalance_timeout_ms: int
    ) -> None:
        """``member_id`` is the member's own choice, and stays."""
        self._group = group
        self.member_id = member_id
        self.epoch = JOINING
        self.owned: tuple[TopicIdPartition, ...] = ()
        """What it reads."""
        self.target: tuple[TopicIdPartition, ...] = ()
        """What the coordinator wants it to read."""
        self.is_settled = True
        """Whether it was told of no other target since it reads what it reads."""
        self.heartbeat_interval_ms = 0
        """What the coordinator asks for; 0: it was not heard yet."""
        self._topics = tuple(sorted(topics))
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._tells_all = True
        self._tells_owned = True

    @property
    def metadata(self) -> GroupMetadata:
        """Who it is by now."""
        return GroupMetadata(self._group, self.member_id, self.epoch)

    def reconciled(self) -> None:
        """Note that it reads its target from now on, and nothing else."""
        self.owned, self.is_settled, self._tells_owned = self.target, True, True

    def heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        """Return the next heartbeat: all that there is to tell, or what changed since the last."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group, member_id=self.member_id, member_epoch=self.epoch
        )
        if self._tells_all:
            request.rebalance_timeout_ms = self._rebalance_timeout_ms
            request.subscribed_topic_names = self._topics
        if self._tells_all or self._tells_owned:
            request.topic_partitions = _by_topic(self.owned)
        self._tells_all = self._tells_owned = False
        return request

    def leave(self) -> ConsumerGroupHeartbeatRequest:
        """Return the last heartbeat."""
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self.member_id,
            member_epoch=LEAVING,
            subscribed_topic_names=[],
            topic_partitions=[],
        )

    def answered(self, answer: ConsumerGroupHeartbeatResponse) -> ErrorCode:
        """Take an answer; after one that says it is no member it owns nothing, and joins anew."""
        code = ErrorCode(answer.error_code)
        if code is not ErrorCode.NONE:
            self.not_answered()
            if code in _FENCED:
                self.epoch, self.owned, self.target, self.is_settled = JOINING, (), (), True
            return code
        self.epoch = answer.member_epoch
        self.heartbeat_interval_ms = answer.heartbeat_interval_ms
        if answer.assignment is not None:
            self.target = _partitions(answer.assignment.topic_partitions)
            self.is_settled = False
        return code

    def not_answered(self) -> None:
        """Note that nobody knows whether the last heartbeat came: the next one tells all."""
        self._tells_all = True


def _by_topic(owned: Iterable[TopicIdPartition]) -> list[TopicPartitions]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, partition in owned:
        topics.setdefault(topic_id, []).append(partition)
    return [TopicPartitions(topic_id=each, partitions=found) for each, found in topics.items()]


def _partitions(topics: Sequence[TopicPartitions]) -> tuple[TopicIdPartition, ...]:
    return tuple(
        sorted(
            (bytes(topic.topic_id), partition) for topic in topics for partition in topic.partitions
        )
    )
