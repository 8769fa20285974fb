"""The rate limit of moves between log dirs: measured over sliding samples, asked before each copy.

It counts bytes that others copied; it neither waits nor copies.
Source: ReplicationQuotaManager.scala, SimpleRate.java, SampledStat.java, KIP-113.
"""

from __future__ import annotations

from typing import Final

UNLIMITED: Final = 2**63 - 1
"""``replica.alter.log.dirs.io.max.bytes.per.second`` when it is not set."""
SAMPLE_COUNT: Final = 11
"""``alter.log.dirs.replication.quota.window.num``"""
SAMPLE_MS: Final = 1000
"""``alter.log.dirs.replication.quota.window.size.seconds``"""


class _Sample:
    __slots__ = ("size_bytes", "started_ms")

    def __init__(self, started_ms: int) -> None:
        self.started_ms = started_ms
        self.size_bytes = 0


class MoveThrottle:
    """One limit for all moves of a broker.

    A copy always goes through once it is let in, so the rate overshoots by one copy and is paid
    back: ask ``is_exceeded``, copy, then ``record``. Times are of a clock that never goes back.
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

    def record(self, size_bytes: int, now_ms: int) -> None:
        """Count bytes that were copied."""
        if not self._samples or now_ms - self._samples[-1].started_ms >= self._sample_ms:
            self._samples.append(_Sample(now_ms))
            if len(self._samples) > self._sample_count:
                del self._samples[0]
        self._samples[-1].size_bytes += size_bytes

    def rate_bytes_per_second(self, now_ms: int) -> float:
        """Return the rate since the oldest sample that still counts, over at least one sample."""
        self._drop_old(now_ms)
        if not self._samples:
            return 0.0
        elapsed_ms = max(now_ms - self._samples[0].started_ms, self._sample_ms)
        return sum(sample.size_bytes for sample in self._samples) * 1000 / elapsed_ms

    def is_exceeded(self, now_ms: int) -> bool:
        """Tell whether a mover has to leave out this round and ask again after its back-off."""
        if self.limit_bytes_per_second >= UNLIMITED:
            return False
        return self.rate_bytes_per_second(now_ms) > self.limit_bytes_per_second

    def _drop_old(self, now_ms: int) -> None:
        expired_ms = now_ms - self._sample_count * self._sample_ms
        while self._samples and self._samples[0].started_ms <= expired_ms:
            del self._samples[0]
