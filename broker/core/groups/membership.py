"""What the offsets of a group ask of those that are members of it.

A group whose clients only keep offsets here, and assign partitions themselves, has no members: a
simple group. Source: GroupMetadata.scala, ClassicGroup.java.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from broker.core.coordination import Record
from protocol.ids import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Committer:
    """Who commits, as a request says."""

    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1
    """-1 from a client outside of the group; the member epoch in the new protocol."""
    has_member_epoch: bool = False
    """Whether the version of the request knows epochs of the new protocol (OffsetCommit 9)."""
    is_transactional: bool
    """Whether TxnOffsetCommit says so, which clients of old versions send without a member."""


class ExpiryRule(NamedTuple):
    """Which offsets of a group may expire, and since when they count as unused."""

    may_expire: bool = True
    unused_since_ms: int | None = None
    """By the time of day; None: since each was committed."""
    kept_topics: Collection[str] = ()
    """Those that members still read."""


class Membership(Protocol):
    """The members of all groups of a shard."""

    def group_ids(self) -> Iterable[str]:
        """Give every group that has members, or had."""
        ...

    def knows(self, group_id: str) -> bool:
        """Tell whether it is one of them."""
        ...

    def validate_commit(
        self, group_id: str, committer: Committer, tps: Iterable[TopicPartition], now_ms: int
    ) -> None:
        """Check who commits to ``tps``; a member of the classic protocol that does so is alive.

        Raises:
            KafkaError: ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
                REBALANCE_IN_PROGRESS, STALE_MEMBER_EPOCH, GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION.
        """
        ...

    def validate_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Check who asks for offsets.

        Raises:
            KafkaError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION.
        """
        ...

    def topics_in_use(self, group_id: str) -> Collection[str]:
        """Return the topics whose offsets may not be deleted.

        Raises:
            KafkaError: NON_EMPTY_GROUP, when none may be.
        """
        ...

    def expiry(self, group_id: str) -> ExpiryRule:
        """Return what of a group's offsets may expire."""
        ...

    def offsets_gone(self, group_id: str) -> Sequence[Record]:
        """Forget a group without offsets, if it has no member either; return the tombstones."""
        ...
