"""The topics that consumers say they subscribe to, read from what they join with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from protocol.errors import Malformed
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.stored_records import decode_payload

_VERSION_0: Final = bytes(2)
"""Each version begins as this one does."""


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
