"""The limits of what followers fetch: which partitions a fetch leaves out, and for how long.

A partition counts against the quota of the log dir it is rebuilt on, if there is one, else against
the follower's quota if its topic says so.
Source: ReplicaFetcherThread.scala shouldFollowerThrottle, KIP-73.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from broker.core.rebuild_throttle import RebuildThrottle
from broker.core.replication_quota import ReplicationQuota
from broker.replication.followed import Followed

RECHECK_MS: Final = 1000
"""Longest wait before a quota is asked again: its limit may have been changed."""


class FollowerThrottle:
    """Asks and feeds the quotas of what this broker fetches; one for all its fetchers."""

    def __init__(
        self, quota: ReplicationQuota, rebuilds: RebuildThrottle, now_ms: Callable[[], int]
    ) -> None:
        self._quota = quota
        self._rebuilds = rebuilds
        self._now_ms = now_ms

    def held_back(self, ready: Iterable[Followed], partition_max_bytes: int) -> list[Followed]:
        """Return those of ``ready`` that the next fetch has to leave out.

        Partitions without lag go on: they would leave the Isr.
        """
        if not self._quota.is_limited and not self._rebuilds:
            return []
        now_ms = self._now_ms()
        rooms: dict[ReplicationQuota, int] = {}
        held: list[Followed] = []
        for entry in ready:
            quota = self._limiting(entry)
            if quota is None:
                continue
            room_bytes = rooms[quota] if quota in rooms else quota.room_bytes(now_ms)
            if room_bytes < 0:
                held.append(entry)
            rooms[quota] = room_bytes - min(partition_max_bytes, quota.burst_bytes)
        return held

    def most_bytes(self, entry: Followed, partition_max_bytes: int) -> int:
        """Return how much a fetch may ask of one partition."""
        if not self._quota.is_limited and not self._rebuilds:
            return partition_max_bytes
        quota = self._limiting(entry)
        return partition_max_bytes if quota is None else min(partition_max_bytes, quota.burst_bytes)

    def fetched(self, entry: Followed, size_bytes: int, leader_high_watermark: int) -> None:
        """Count what came for one partition, after it was given to the log."""
        replica = entry.replica
        rebuild = self._rebuilds.quota_of(replica.tp) if self._rebuilds else None
        if rebuild is None and not replica.is_throttled:
            return
        (self._quota if rebuild is None else rebuild).record(size_bytes, self._now_ms())
        entry.is_in_sync = replica.position().fetch_offset >= leader_high_watermark
        if entry.is_in_sync:
            self._rebuilds.done(replica.tp)

    def wait_ms(self, held: Iterable[Followed]) -> int:
        """Return after how long one of ``held`` is worth another look."""
        now_ms = self._now_ms()
        quotas = {quota: None for entry in held if (quota := self._limiting(entry)) is not None}
        return min([RECHECK_MS, *(quota.wait_ms(now_ms) for quota in quotas)]) if quotas else 0

    def _limiting(self, entry: Followed) -> ReplicationQuota | None:
        """Return the quota that ``entry`` has to ask before it is fetched."""
        if entry.is_in_sync:
            return None
        rebuild = self._rebuilds.quota_of(entry.replica.tp)
        if rebuild is not None:
            return rebuild
        return self._quota if self._quota.is_limited and entry.replica.is_throttled else None
