"""The rate of something, measured over the last samples; and how long who is above a limit waits.

Source: Rate.java, SampledStat.java, QuotaUtils.java.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple


class Sampling(NamedTuple):
    """Over what a rate is measured; ``quota.window.num`` and ``quota.window.size.seconds``."""

    samples: int
    """Samples that count, the one under way included."""
    sample_ms: int


class SampledRate:
    """One rate. Times are of a clock that never goes back."""

    __slots__ = ("_samples", "_sampling")

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._samples: deque[list[float]] = deque()
        """[begin in ms, sum, last record in ms], the oldest first."""

    def record(self, value: float, now_ms: int) -> None:
        """Count; a negative value takes back what did not happen."""
        samples = self._samples
        if not samples or now_ms - samples[-1][0] >= self._sampling.sample_ms:
            samples.append([now_ms, 0.0, now_ms])
        samples[-1][1] += value
        samples[-1][2] = now_ms

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """Return how long nothing may be counted so that the rate falls to ``limit``, 0 if below.

        A rate O over a window W falls to T when it is measured over W + X: X = (O - T) / T * W.
        """
        if self.is_over(now_ms):
            return 0
        window_ms = self._window_ms(now_ms)
        rate = sum(total for _, total, _ in self._samples) * 1000 / window_ms
        if rate <= limit:
            return 0
        return math.floor((rate - limit) / limit * window_ms + 0.5)

    def is_over(self, now_ms: int) -> bool:
        """Tell whether nothing that was counted matters any more."""
        self._expire(now_ms)
        return not self._samples

    def _expire(self, now_ms: int) -> None:
        samples, sample_ms = self._sampling
        while self._samples and now_ms - self._samples[0][2] >= samples * sample_ms:
            self._samples.popleft()

    def _window_ms(self, now_ms: int) -> float:
        """Return what is measured over: at least all samples but one, as if they had been empty."""
        samples, sample_ms = self._sampling
        elapsed_ms = now_ms - self._samples[0][0]
        missing = max(samples - 1 - elapsed_ms // sample_ms, 0)
        return max(elapsed_ms + missing * sample_ms, sample_ms)
