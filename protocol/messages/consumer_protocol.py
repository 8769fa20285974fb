"""What consumers put into JoinGroup and SyncGroup: subscriptions and assignments."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.ports import Buffer
from protocol.wire.table import BYTES, STRING, array, field, message, struct
from protocol.wire.types import INT32


@struct
class TopicPartition:
    topic: str = field(STRING, "1+")
    partitions: Sequence[int] = field(array(INT32), "1+")


@message(None, "data", versions="0-3")
class ConsumerProtocolSubscription:
    """Source: ConsumerProtocolSubscription.json."""

    topics: Sequence[str] = field(array(STRING))
    user_data: Buffer | None = field(BYTES, default=None, nullable="0+")
    owned_partitions: Sequence[TopicPartition] = field(array(TopicPartition), "1+", ignorable=True)
    generation_id: int = field(INT32, "2+", default=-1, ignorable=True)
    rack_id: str | None = field(STRING, "3+", default=None, nullable="3+", ignorable=True)


@struct
class ConsumerProtocolAssignmentTopicPartition:
    topic: str = field(STRING)
    partitions: Sequence[int] = field(array(INT32))


@message(None, "data", versions="0-3")
class ConsumerProtocolAssignment:
    """Source: ConsumerProtocolAssignment.json."""

    assigned_partitions: Sequence[ConsumerProtocolAssignmentTopicPartition] = field(
        array(ConsumerProtocolAssignmentTopicPartition)
    )
    user_data: Buffer | None = field(BYTES, default=None, nullable="0+")
