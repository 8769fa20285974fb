"""The rate limits of replication: what leaders serve, what followers fetch, what moves copy.

A limit is asked before each transfer. It counts bytes that others transfer; it neither waits nor
transfers.
Source: ReplicationQuotaManager.scala, SimpleRate.java, SampledStat.java, KIP-73, KIP-113.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from protocol.configs.parsing import BrokerConfig

UNLIMITED: Final = 2**63 - 1
"""The value of each ``*.throttled.rate`` when it is not set."""
SAMPLE_COUNT: Final = 11
"""``replication.quota.window.num``"""
SAMPLE_MS: Final = 1000
"""``replication.quota.window.size.seconds``"""
BURSTS_PER_SAMPLE: Final = 4
"""Into so many transfers what the limit lets through in a sample is cut, so that the overshoot by
one transfer is small beside it."""
SAVINGS_PER_SAMPLE: Final = 8
"""How much of a sample may be saved up: enough for timers and turns that come late."""


class ReplicationQuota:
    """One limit for all transfers of one kind on a broker.

    A transfer always goes through once it is let in, so the rate overshoots by one transfer and is
    paid back: ask ``is_exceeded``, transfer, then ``record``. No debt is paid for longer than all
    samples last, so that one batch goes through however low the limit is. Time in which nothing was
    transferred is saved up for half a burst and no more: after a stall the rate is no higher.
    Times are of a clock that never goes back.
    """

    __slots__ = (
        "_burst_ms",
        "_limit",
        "_paid_until_ms",
        "_recorded_ms",
        "_savings_ms",
        "_window_ms",
    )

    def __init__(
        self,
        limit_bytes_per_second: int = UNLIMITED,
        *,
        sample_count: int = SAMPLE_COUNT,
        sample_ms: int = SAMPLE_MS,
    ) -> None:
        assert sample_count > 0, f"{sample_count} samples"
        assert sample_ms > 0, f"samples of {sample_ms} ms"
        self._limit = limit_bytes_per_second
        self._window_ms = sample_count * sample_ms
        self._burst_ms = sample_ms / BURSTS_PER_SAMPLE
        self._savings_ms = sample_ms / SAVINGS_PER_SAMPLE
        self._paid_until_ms = -math.inf
        """When all that was transferred is paid for, if nothing is forgotten."""
        self._recorded_ms = -math.inf
        """When something was last transferred."""

    @property
    def limit_bytes_per_second(self) -> int:
        """What is let through; less than 1 counts as 1."""
        return self._limit

    @limit_bytes_per_second.setter
    def limit_bytes_per_second(self, limit: int) -> None:
        """Change the limit from the next question on; a debt costs what the higher one lets it."""
        if limit > self._limit and self._paid_until_ms > self._recorded_ms:
            debt_ms = self._paid_until_ms - self._recorded_ms
            self._paid_until_ms = self._recorded_ms + debt_ms * max(self._limit, 1) / limit
        self._limit = limit

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._limit < UNLIMITED

    @property
    def burst_bytes(self) -> int:
        """What one transfer should not exceed: a quarter of what a sample lets through.

        Kafka has no such bound; with it the rate is even also when it is low.
        """
        return max(int(self._limit * self._burst_ms) // 1000, 1)

    def record(self, size_bytes: int, now_ms: int) -> None:
        """Count bytes that were transferred; a negative number takes back what did not happen.

        Nothing is not counted: an empty transfer is none.
        """
        cost_ms = size_bytes * 1000 / max(self._limit, 1)
        if size_bytes > 0:
            self._paid_until_ms = self._paid_at_ms(now_ms) + cost_ms
            self._recorded_ms = now_ms
        else:
            self._paid_until_ms += cost_ms

    def is_exceeded(self, now_ms: int) -> bool:
        """Tell whether a transfer has to wait; how long tells ``wait_ms``."""
        return self.is_limited and self._paid_at_ms(now_ms) > now_ms

    def room_bytes(self, now_ms: int) -> int:
        """Return how many bytes are saved up; negative when the limit is exceeded."""
        return math.floor((now_ms - self._paid_at_ms(now_ms)) * self._limit / 1000)

    def wait_ms(self, now_ms: int) -> int:
        """Return after how many milliseconds, with no transfer meanwhile, it is not exceeded."""
        if not self.is_exceeded(now_ms):
            return 0
        return math.ceil(self._paid_at_ms(now_ms) - now_ms)

    def _paid_at_ms(self, now_ms: int) -> float:
        """Return until when all is paid for; what lies before ``now_ms`` is saved up."""
        if now_ms - self._recorded_ms >= self._window_ms:
            return now_ms
        forgotten_ms = self._recorded_ms + self._window_ms
        return max(min(self._paid_until_ms, forgotten_ms), now_ms - self._savings_ms)


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
