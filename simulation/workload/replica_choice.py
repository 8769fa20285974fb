"""Which replica a consumer fetches a partition from: its leader, or the one that the leader named.

Source: KIP-392, FetchCollector and AbstractFetch.selectReadReplica of the Java client.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from protocol.ids import NO_LEADER, TopicPartition

NO_CHOICE: Final = -1
"""What a leader names that is to be read from itself."""


class _Named(NamedTuple):
    """A replica that a leader named, and until when that holds."""

    broker: int
    until_s: float


class ReplicaChoice:
    """What one consumer was told by leaders."""

    def __init__(self, max_age_ms: int) -> None:
        """``max_age_ms``: after so long the leader is asked again."""
        self._max_age_s = max_age_ms / 1000
        self._named: dict[TopicPartition, _Named] = {}

    def source(self, tp: TopicPartition, leader: int) -> int:
        """Return whom to fetch from; without a leader nobody."""
        named = self._named.get(tp)
        if named is None or leader == NO_LEADER:
            return leader
        if asyncio.get_running_loop().time() >= named.until_s:
            del self._named[tp]
            return leader
        return named.broker

    def take(self, tp: TopicPartition, broker: int) -> None:
        """Read from ``broker`` from now on, unless it is ``NO_CHOICE``."""
        if broker != NO_CHOICE:
            until_s = asyncio.get_running_loop().time() + self._max_age_s
            self._named[tp] = _Named(broker, until_s)

    def forget(self, tp: TopicPartition) -> bool:
        """Go back to the leader; tell whether it was another replica until now."""
        return self._named.pop(tp, None) is not None
