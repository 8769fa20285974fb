"""Parts of a coordinator of groups that break one promise each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker.core.coordination import Record
from broker.core.groups.classic_group import ClassicGroup
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.decision import Decision
from broker.core.groups.group_members import GroupMembers
from broker.core.groups.group_offsets import Committed, GroupOffsets, offset_key
from broker.core.groups.membership import Committer
from broker.core.groups.rebalances import Rebalances
from protocol.ids import TopicPartition


class ForgetfulOffsets(GroupOffsets):
    """Answers commits and remembers none."""

    def committed(self, group_id: str) -> Mapping[TopicPartition, Committed]:
        del group_id
        return {}


class StubbornOffsets(GroupOffsets):
    """Answers that offsets are deleted and keeps them."""

    def delete(self, group_id: str, tps: Iterable[TopicPartition]) -> list[Record]:
        return [(offset_key(group_id, tp), None) for tp in tps if tp in self.committed(group_id)]


class SilentOffsets(GroupOffsets):
    """Deletes offsets and writes nothing about it."""

    def delete(self, group_id: str, tps: Iterable[TopicPartition]) -> list[Record]:
        super().delete(group_id, tps)
        return []


class LenientMembers(GroupMembers):
    """Lets anybody commit."""

    __slots__ = ()

    def validate_commit(
        self, group_id: str, committer: Committer, tps: Iterable[TopicPartition], now_ms: int
    ) -> None:
        del group_id, committer, tps, now_ms


class UnclaimedGroup(ConsumerGroup):
    """Takes what a member has for free."""

    __slots__ = ()

    def is_owned(self, topic_id: bytes, partition: int) -> bool:
        del topic_id, partition
        return False


class GenerousRebalances(Rebalances):
    """Gives every member what the first one gets."""

    __slots__ = ()

    def assign(
        self, group: ClassicGroup, assignments: Mapping[str, bytes], decision: Decision
    ) -> None:
        longest = max(assignments.values(), key=len)
        super().assign(group, dict.fromkeys(assignments, longest), decision)
