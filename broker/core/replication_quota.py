"""The rate limits of replication: what leaders serve, what followers fetch, what moves copy.

A rate is measured over sliding samples and asked for before each transfer. It counts bytes that
others transfer; it neither waits nor transfers.
Source: ReplicationQuotaManager.scala, SimpleRate.java, SampledStat.java, KIP-73, KIP-113.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from protocol.configs import BrokerConfig

UNLIMITED: Final = 2**63 - 1
"""The value of each ``*.throttled.rate`` when it is not set."""
SAMPLE_COUNT: Final = 11
"""``replication.quota.window.num``"""
SAMPLE_MS: Final = 1000
"""``replication.quota.window.size.seconds``"""
BURSTS_PER_SAMPLE: Final = 4
"""Into so many transfers what the limit lets through in a sample is cut, so that the overshoot by
one transfer is small beside it."""


class _Sample:
    __slots__ = ("size_bytes", "started_ms")

    def __init__(self, started_ms: int) -> None:
        self.started_ms = started_ms
        self.size_bytes = 0


class ReplicationQuota:
    """One limit for all transfers of one kind on a broker.

    A transfer always goes through once it is let in, so the rate overshoots by one transfer and is
    paid back: ask ``is_exceeded``, transfer, then ``record``. Times are of a clock that never goes
    back.
    """

    __slots__ = ("_sample_count", "_sample_ms", "_samples", "limit_bytes_per_second")

    def __init__(
        self,
        limit_bytes_per_second: int = UNLIMITED,
        *,
        sample_count: int = SAMPLE_COUNT,
        sample_ms: int = SAMPLE_MS,
    ) -> None:
        assert sample_count > 0, f"{sample_count} samples"
        assert sample_ms > 0, f"samples of {sample_ms} ms"
        self.limit_bytes_per_second = limit_bytes_per_second
        """May be changed at any time; it holds from the next question on."""
        self._sample_count = sample_count
        self._sample_ms = sample_ms
        self._samples: list[_Sample] = []

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.limit_bytes_per_second < UNLIMITED

    @property
    def burst_bytes(self) -> int:
        """What one transfer should not exceed: a quarter of what a sample lets through.

        Kafka has no such bound; with it the rate is even also when it is low.
        """
        return max(self.limit_bytes_per_second * self._sample_ms // (1000 * BURSTS_PER_SAMPLE), 1)

    def record(self, size_bytes: int, now_ms: int) -> None:
        """Count bytes that were transferred; a negative number takes back what did not happen.

        Nothing is not counted: else the time since an empty transfer would be saved up for later.
        """
        if size_bytes == 0:
            return
        if not self._samples or now_ms - self._samples[-1].started_ms >= self._sample_ms:
            self._samples.append(_Sample(now_ms))
            if len(self._samples) > self._sample_count:
                del self._samples[0]
        self._samples[-1].size_bytes += size_bytes

    def rate_bytes_per_second(self, now_ms: int) -> float:
        """Return the rate since the oldest sample that still counts, over at least one sample."""
        elapsed_ms = self._elapsed_ms(now_ms)
        return self._total_bytes() * 1000 / elapsed_ms

    def is_exceeded(self, now_ms: int) -> bool:
        """Tell whether a transfer has to wait; how long tells ``wait_ms``."""
        return self.is_limited and self.room_bytes(now_ms) < 0

    def room_bytes(self, now_ms: int) -> int:
        """Return how many bytes fit under the limit now; negative when it is exceeded."""
        elapsed_ms = self._elapsed_ms(now_ms)
        return self.limit_bytes_per_second * elapsed_ms // 1000 - self._total_bytes()

    def wait_ms(self, now_ms: int) -> int:
        """Return after how many milliseconds, with no transfer meanwhile, it is not exceeded."""
        if not self.is_exceeded(now_ms):
            return 0
        total_bytes = self._total_bytes()
        ready_ms = now_ms
        for sample in self._samples:
            expires_ms = sample.started_ms + self._sample_count * self._sample_ms
            paid_ms = max(ready_ms, sample.started_ms + self._paid_after_ms(total_bytes))
            if paid_ms < expires_ms:
                return paid_ms - now_ms
            ready_ms = max(ready_ms, expires_ms)
            total_bytes -= sample.size_bytes
        return ready_ms - now_ms

    def _paid_after_ms(self, size_bytes: int) -> int:
        """Return how long after its first byte ``size_bytes`` are no longer too much."""
        limit = self.limit_bytes_per_second
        if size_bytes <= limit * self._sample_ms // 1000:
            return 0
        return UNLIMITED if limit <= 0 else -(-size_bytes * 1000 // limit)

    def _total_bytes(self) -> int:
        return sum(sample.size_bytes for sample in self._samples)

    def _elapsed_ms(self, now_ms: int) -> int:
        expired_ms = now_ms - self._sample_count * self._sample_ms
        while self._samples and self._samples[0].started_ms <= expired_ms:
            del self._samples[0]
        if not self._samples:
            return self._sample_ms
        return max(now_ms - self._samples[0].started_ms, self._sample_ms)


class ReplicationQuotas(NamedTuple):
    """The three limits of a broker."""

    leader: ReplicationQuota
    follower: ReplicationQuota
    moves: ReplicationQuota

    @staticmethod
    def of(config: BrokerConfig) -> ReplicationQuotas:
        """Return quotas with the limits and samples of ``config``."""
        count = config.replication_quota_window_num
        sample_ms = config.replication_quota_window_size_seconds * 1000
        quotas = ReplicationQuotas(
            ReplicationQuota(sample_count=count, sample_ms=sample_ms),
            ReplicationQuota(sample_count=count, sample_ms=sample_ms),
            ReplicationQuota(
                sample_count=config.alter_log_dirs_replication_quota_window_num,
                sample_ms=config.alter_log_dirs_replication_quota_window_size_seconds * 1000,
            ),
        )
        quotas.configure(config)
        return quotas

    def configure(self, config: BrokerConfig) -> None:
        """Take over the limits; they hold at once."""
        moves = config.replica_alter_log_dirs_io_max_bytes_per_second
        self.leader.limit_bytes_per_second = config.leader_replication_throttled_rate
        self.follower.limit_bytes_per_second = config.follower_replication_throttled_rate
        self.moves.limit_bytes_per_second = moves


def is_throttled_replica(entries: Sequence[str], *, partition: int, broker_id: int) -> bool:
    """Tell whether a topic's ``*.replication.throttled.replicas`` names a replica.

    ``entries`` are valid: ``*`` or ``partition:broker``.
    """
    return "*" in entries or f"{partition}:{broker_id}" in entries
