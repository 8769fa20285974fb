"""The limits of what followers fetch: how much of which partitions a fetch asks, and when.

A partition counts against the quota of the log dir it is rebuilt on, if there is one, else against
the follower's quota if its topic says so.
Source: ReplicaFetcherThread.scala shouldFollowerThrottle, KIP-73.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from broker.core.rebuild_throttle import RebuildThrottle
from broker.core.replication_quota import ReplicationQuota
from broker.engine.follow.followed import ALL_BYTES, Followed

RECHECK_MS: Final = 1000
"""Longest wait before a quota is asked again: its limit may have been changed."""


class Division(NamedTuple):
    """What a fetch may ask; of partitions in neither list as much as before."""

    held: list[Followed]
    """Are left out."""
    changed: list[Followed]
    """Have another ``share_bytes`` than before."""


_NOTHING: Final = Division([], [])


class FollowerThrottle:
    """Asks and feeds the quotas of what one fetcher fetches; all fetchers share the quotas."""

    def __init__(
        self, quota: ReplicationQuota, rebuilds: RebuildThrottle, now_ms: Callable[[], int]
    ) -> None:
        self._quota = quota
        self._rebuilds = rebuilds
        self._now_ms = now_ms
        self._is_divided = False

    def divide(self, ready: Iterable[Followed], partition_max_bytes: int) -> Division:
        """Give each of ``ready`` its share of the next fetch.

        While a quota is exceeded its partitions are held. Else what it has room for and a burst are
        for the first of them, and the others ask for nothing: they learn whether they lag at all. A
        leader gives one batch all the same if nobody else has any. Partitions without lag go on as
        always: they would leave the Isr.
        """
        is_limited = self._is_limited
        if not (is_limited or self._is_divided):
            return _NOTHING
        self._is_divided = is_limited
        now_ms = self._now_ms()
        left_bytes: dict[ReplicationQuota, int] = {}
        division = Division([], [])
        for entry in ready:
            share_bytes = ALL_BYTES
            quota = self._limiting(entry)
            if quota is not None and quota.is_exceeded(now_ms):
                division.held.append(entry)
                continue
            if quota is not None:
                if quota not in left_bytes:
                    left_bytes[quota] = quota.room_bytes(now_ms) + quota.burst_bytes
                share_bytes = min(partition_max_bytes, left_bytes[quota])
                left_bytes[quota] -= share_bytes
            if share_bytes != entry.share_bytes:
                entry.share_bytes = share_bytes
                division.changed.append(entry)
        return division

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

    @property
    def _is_limited(self) -> bool:
        return self._quota.is_limited or bool(self._rebuilds)

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
