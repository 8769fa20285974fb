"""What clients did of late, held against their quotas.

It counts and tells how long a client is to be throttled; it neither waits nor answers.
Source: ClientQuotaManager.scala, ClientRequestQuotaManager.scala, ControllerMutationQuotaManager.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

from broker.core.client_quotas.connection_rates import ConnectionRates
from broker.core.client_quotas.limits import Asker, Limit, QuotaLimits, Sharers
from broker.core.client_quotas.sampled_rate import SampledRate, Sampling
from broker.core.client_quotas.token_bucket import TokenBucket
from protocol.client_quotas.entities import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Quotas,
)
from protocol.configs.broker import BrokerConfig

REQUEST_THROTTLE_SAMPLES: Final = 1
"""For its share of requests' time no client is throttled longer than this many samples last."""
KNOWN_MAX: Final = 10_000
"""Rates that are kept; from there on those go that no longer matter."""
_RATES: Final = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE)
_Key: TypeAlias = tuple[str, Sharers]


class ClientQuotas:
    """The quotas of one broker. ``replace`` them when they changed."""

    def __init__(self, config: BrokerConfig, *, known_max: int = KNOWN_MAX) -> None:
        """Limit nobody yet. ``known_max``: rates that are kept."""
        self._known_max = known_max
        self._sampling = Sampling(config.quota_window_num, config.quota_window_size_seconds * 1000)
        self._mutation_sampling = Sampling(
            config.controller_quota_window_num, config.controller_quota_window_size_seconds * 1000
        )
        self.connections = ConnectionRates(config)
        self._rates: dict[_Key, SampledRate] = {}
        self._buckets: dict[Sharers, TokenBucket] = {}
        self._limits: dict[str, QuotaLimits] = {}
        self.is_limiting = False
        """Whether there is a quota of anybody."""
        self.replace({})

    def replace(self, quotas: Quotas) -> None:
        """Go by these from now on; what was counted still counts."""
        self.connections.replace(quotas)
        keys = (*_RATES, CONTROLLER_MUTATION_RATE)
        self._limits = {key: QuotaLimits(quotas, key) for key in keys}
        self.is_limiting = any(self._limits.values())

    def record(self, key: str, asker: Asker, value: float, now_ms: int) -> int:
        """Count what a client did; return for how many ms it is to be throttled, 0 if not at all.

        Args:
            key: of a rate; for ``request_percentage`` the value is in percent of a second.
            asker: whose it is.
            value: bytes or percent; negative to take back.
            now_ms: of a clock that never goes back.
        """
        limit = self._limits[key].of(asker)
        if limit is None:
            return 0
        rate = self._rate(key, limit, now_ms)
        rate.record(value, now_ms)
        throttle_ms = rate.throttle_ms(limit.per_second, now_ms)
        if key == REQUEST_PERCENTAGE:
            return min(throttle_ms, REQUEST_THROTTLE_SAMPLES * self._sampling.sample_ms)
        return throttle_ms

    def most_at_once(self, key: str, asker: Asker) -> float:
        """Return what a client may do at once without being throttled for sure."""
        limit = self._limits[key].of(asker)
        if limit is None:
            return math.inf
        return limit.per_second * (self._sampling.samples - 1) * self._sampling.sample_ms / 1000

    def mutation_wait_ms(self, asker: Asker, now_ms: int) -> int:
        """Return for how many ms a client has used up its controller mutations, 0 if it has not."""
        limit = self._limits[CONTROLLER_MUTATION_RATE].of(asker)
        if limit is None:
            return 0
        return self._bucket(limit, now_ms).wait_ms(limit.per_second, now_ms)

    def take_mutations(self, asker: Asker, count: int, now_ms: int) -> None:
        """Count partitions that a client created or deleted; negative: they were not."""
        limit = self._limits[CONTROLLER_MUTATION_RATE].of(asker)
        if limit is not None:
            self._bucket(limit, now_ms).take(count, now_ms)

    def _rate(self, key: str, limit: Limit, now_ms: int) -> SampledRate:
        name = key, limit.sharers
        if name not in self._rates:
            if len(self._rates) >= self._known_max:
                self._rates = {k: it for k, it in self._rates.items() if not it.is_over(now_ms)}
            self._rates[name] = SampledRate(self._sampling)
        return self._rates[name]

    def _bucket(self, limit: Limit, now_ms: int) -> TokenBucket:
        name = limit.sharers
        if name not in self._buckets:
            if len(self._buckets) >= self._known_max:
                self._buckets = {k: it for k, it in self._buckets.items() if not it.is_full(now_ms)}
            self._buckets[name] = TokenBucket(self._mutation_sampling, limit.per_second, now_ms)
        return self._buckets[name]
