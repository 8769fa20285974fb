"""What consumers of the classic protocol say and are told: subscriptions and assignments as bytes.

Source: ConsumerProtocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from protocol.errors import Malformed
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from protocol.ports import Buffer
from protocol.stored_records import decode_payload, encode_versioned

_VERSION_0: Final = bytes(2)
"""Each version begins as this one does."""
_NEWEST: Final = 3


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return all topics together; None when one of ``subscriptions`` is something else.

    Source: ClassicGroup.computeSubscribedTopics.
    """
    topics: set[str] = set()
    try:
        for subscription in subscriptions:
            leading = _VERSION_0 + subscription[len(_VERSION_0) :]
            topics.update(decode_payload(ConsumerProtocolSubscription, leading).topics)
    except Malformed:
        return None
    return frozenset(topics)


def subscription_of(data: Buffer) -> ConsumerProtocolSubscription:
    """Return all that a consumer says.

    Raises:
        Malformed: it is something else.
    """
    return decode_payload(ConsumerProtocolSubscription, data)


def assignment_of(data: Buffer) -> ConsumerProtocolAssignment:
    """Return what a consumer was assigned.

    Raises:
        Malformed: it is something else.
    """
    return decode_payload(ConsumerProtocolAssignment, data)


def encoded_assignment(partitions: Mapping[str, Sequence[int]], version: int) -> bytes:
    """Return an assignment as its consumer reads it, in the version of its subscription."""
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=indexes)
            for name, indexes in partitions.items()
        ]
    )
    return encode_versioned(assignment, min(max(version, 0), _NEWEST))
