"""The follower's replication quota: which partitions a fetch leaves out, and for how long.

Source: ReplicaFetcherThread.scala shouldFollowerThrottle, KIP-73.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from broker.core.replication_quota import ReplicationQuota
from broker.replication.followed import Followed

RECHECK_MS: Final = 1000
"""Longest wait before the quota is asked again: its limit may have been changed."""


class FollowerThrottle:
    """Asks and feeds the quota of what this broker fetches; one for all its fetchers."""

    def __init__(self, quota: ReplicationQuota, now_ms: Callable[[], int]) -> None:
        self._quota = quota
        self._now_ms = now_ms

    def held_back(self, ready: Iterable[Followed], partition_max_bytes: int) -> list[Followed]:
        """Return those of ``ready`` that the next fetch has to leave out.

        Partitions without lag go on: they would leave the Isr.
        """
        quota = self._quota
        if not quota.is_limited:
            return []
        each_bytes = min(partition_max_bytes, quota.burst_bytes)
        room_bytes = quota.room_bytes(self._now_ms())
        held: list[Followed] = []
        for entry in ready:
            if entry.is_in_sync or not entry.replica.is_throttled:
                continue
            if room_bytes < 0:
                held.append(entry)
            room_bytes -= each_bytes
        return held

    def most_bytes(self, entry: Followed, partition_max_bytes: int) -> int:
        """Return how much a fetch may ask of one partition."""
        if entry.is_in_sync or not self._quota.is_limited or not entry.replica.is_throttled:
            return partition_max_bytes
        return min(partition_max_bytes, self._quota.burst_bytes)

    def fetched(self, entry: Followed, size_bytes: int, leader_high_watermark: int) -> None:
        """Count what came for one partition, after it was given to the log."""
        if entry.replica.is_throttled:
            self._quota.record(size_bytes, self._now_ms())
            entry.is_in_sync = entry.replica.position().fetch_offset >= leader_high_watermark

    def wait_ms(self) -> int:
        """Return after how long partitions that were held back are worth another look."""
        return min(self._quota.wait_ms(self._now_ms()), RECHECK_MS)
