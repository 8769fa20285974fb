"""A budget that fills up at a rate and may be overdrawn once. Source: TokenBucket.java, KIP-599."""

from __future__ import annotations

import math

from broker.core.client_quotas.sampled_rate import Sampling


class TokenBucket:
    """One budget, full at first. Times are of a clock that never goes back."""

    __slots__ = ("_burst_s", "_filled_ms", "_limit", "_tokens")

    def __init__(self, sampling: Sampling, limit: float, now_ms: int) -> None:
        """``limit`` is in tokens a second; what all samples let through may be saved up."""
        self._burst_s = sampling.samples * sampling.sample_ms / 1000
        self._limit = limit
        self._tokens = limit * self._burst_s
        self._filled_ms = now_ms

    def take(self, tokens: float, now_ms: int) -> None:
        """Take so many, even if there are fewer; a negative number gives back."""
        self._fill(now_ms)
        self._tokens = min(self._tokens - tokens, self._limit * self._burst_s)

    def wait_ms(self, limit: float, now_ms: int) -> int:
        """Return after how long the budget is no more overdrawn, at the limit that holds now."""
        self._fill(now_ms)
        self._limit = limit
        return max(0, math.floor(-self._tokens / limit * 1000 + 0.5))

    def is_full(self, now_ms: int) -> bool:
        """Tell whether nothing that was taken matters any more."""
        self._fill(now_ms)
        return self._tokens >= self._limit * self._burst_s

    def _fill(self, now_ms: int) -> None:
        gained = self._limit * (now_ms - self._filled_ms) / 1000
        self._tokens = min(self._tokens + gained, self._limit * self._burst_s)
        self._filled_ms = now_ms
