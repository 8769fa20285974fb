"""One member of a group of the consumer protocol, as a value: each change makes a new one.

Source: ConsumerGroupMember, MemberState, ModernGroupMember.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, TypeAlias

from protocol.messages.consumer_group_records import ClassicMemberMetadata
from protocol.messages.consumer_groups import TopicPartitions

JOINING_EPOCH: Final = 0
"""Of who joins, or joins again."""
LEAVING_EPOCH: Final = -1
STATIC_LEAVING_EPOCH: Final = -2
"""Of a static member that is away and keeps its partitions until its session ends."""

Held: TypeAlias = Mapping[bytes, Mapping[int, int]]
"""Topic id -> partition -> group epoch at which the member got it (KIP-1251)."""


class MemberState(IntEnum):
    """How far a member is on its way to its target; the numbers are stored."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It has to give partitions back before it can be in the next epoch."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that others have to give back."""
    UNKNOWN = 127
    """Written by a later release."""

    @classmethod
    def stored(cls, value: int) -> MemberState:
        """Return the state that a record means."""
        return cls(value) if value in _STATES else cls.UNKNOWN


_STATES: Final = frozenset(state.value for state in MemberState)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """All that is known of a member, but for its target."""

    member_id: str
    epoch: int = JOINING_EPOCH
    previous_epoch: int = LEAVING_EPOCH
    instance_id: str | None = None
    """Set for a static member."""
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    """So long it may take to give partitions back."""
    topics: frozenset[str] = frozenset()
    """Those that it names; what its regular expression finds comes on top."""
    regex: str | None = ""
    """Empty for none, as Kafka stores it; None is the same."""
    assignor: str | None = None
    """None leaves the choice to the group."""
    classic: ClassicMemberMetadata | None = None
    """Set when it speaks the classic protocol."""
    state: MemberState = MemberState.STABLE
    assigned: Held = field(default_factory=dict[bytes, Mapping[int, int]])
    revoking: Held = field(default_factory=dict[bytes, Mapping[int, int]])
    """What it was told to give back, and has not yet."""

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Tell whether it has exactly what the target of this epoch gives it."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def assignment_epoch(self, topic_id: bytes, partition: int) -> int | None:
        """Return since which epoch it has a partition; None when it has it not."""
        for held in (self.assigned, self.revoking):
            epoch = held.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None

    def has_at_least(self, owned: Iterable[TopicPartitions] | None) -> bool:
        """Tell whether all that it says it owns is assigned to it; None says nothing."""
        if owned is None:
            return False
        return all(
            index in self.assigned.get(bytes(row.topic_id), {})
            for row in owned
            for index in row.partitions
        )
