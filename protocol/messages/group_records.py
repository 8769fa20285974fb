"""Records of ``__consumer_offsets`` about committed offsets and classic groups.

What precedes a key (its record type) and a value (its version): ``protocol.stored_records``.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.ports import Buffer
from protocol.wire.table import BYTES, STRING, array, field, message, struct
from protocol.wire.types import INT32, INT64, UUID


@message(0, "coordinator-key", versions="0")
class LegacyOffsetCommitKey:
    """Source: LegacyOffsetCommitKey.json. Before Kafka 0.9; read, no longer written."""

    group: str = field(STRING)
    topic: str = field(STRING)
    partition: int = field(INT32)


@message(0, "coordinator-value", versions="0")
class LegacyOffsetCommitValue:
    """Source: LegacyOffsetCommitValue.json."""

    offset: int = field(INT64)
    metadata: str = field(STRING)
    commit_timestamp: int = field(INT64)


@message(1, "coordinator-key", versions="0")
class OffsetCommitKey:
    """Source: OffsetCommitKey.json."""

    group: str = field(STRING)
    topic: str = field(STRING)
    partition: int = field(INT32)


@message(1, "coordinator-value", versions="0-4", flexible="4+")
class OffsetCommitValue:
    """Source: OffsetCommitValue.json."""

    offset: int = field(INT64)
    leader_epoch: int = field(INT32, "3+", default=-1, ignorable=True)
    """Of the last consumed record; -1 when the client did not tell."""
    metadata: str = field(STRING)
    """Whatever the client wanted to keep."""
    commit_timestamp: int = field(INT64)
    expire_timestamp: int = field(INT64, "1", default=-1, ignorable=True)
    """When the offset expires; -1 leaves that to the broker."""
    topic_id: bytes = field(UUID, "4+", tag=0, ignorable=True)


@message(2, "coordinator-key", versions="0")
class GroupMetadataKey:
    """Source: GroupMetadataKey.json."""

    group: str = field(STRING)


@struct
class MemberMetadata:
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+", ignorable=True)
    """Names a static member (KIP-345)."""
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    rebalance_timeout: int = field(INT32, "1+", default=-1, ignorable=True)
    """In ms."""
    session_timeout: int = field(INT32)
    """In ms."""
    subscription: Buffer = field(BYTES)
    """A ConsumerProtocolSubscription after its version, when consumers meet."""
    assignment: Buffer = field(BYTES)
    """A ConsumerProtocolAssignment after its version, when consumers meet."""


@message(2, "coordinator-value", versions="0-4", flexible="4+")
class GroupMetadataValue:
    """Source: GroupMetadataValue.json."""

    protocol_type: str = field(STRING)
    generation: int = field(INT32)
    protocol: str | None = field(STRING, nullable="0+")
    """None while the group is empty or rebalances for the first time."""
    leader: str | None = field(STRING, nullable="0+")
    """The member id of the leader."""
    current_state_timestamp: int = field(INT64, "2+", default=-1, ignorable=True)
    members: Sequence[MemberMetadata] = field(array(MemberMetadata))
