"""Counts, gauges and latencies of one broker, and the rows made of them.

It reads no clock, writes no file and knows no exposition format. Names are in
`broker.metric_names`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from broker.metric_names import LOG_DIR, PLAIN, REQUEST, MetricKind
from protocol.metric_rows import MetricRow, RequestRow

ROWS_MAX: Final = 10_000
"""Event rows kept until the dump takes them; older ones are dropped and counted."""

_SUB_BUCKET_BITS: Final = 3
_BUCKET_COUNT: Final = 40 << _SUB_BUCKET_BITS
"""Values from 0 to 2**40 in steps of at most one eighth."""


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def add(self, amount: int = 1) -> None:
        """Count ``amount`` more."""
        self.value += amount


class Gauge:
    """A number of this moment."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def set(self, value: int) -> None:
        """Replace the number."""
        self.value = value


class Histogram:
    """How often which value was seen, in buckets whose width is at most one eighth of the value."""

    __slots__ = ("count", "counts", "max", "sum")

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0
        self.max = 0
        self.counts = [0] * _BUCKET_COUNT

    def observe(self, value: int) -> None:
        """Count one ``value``; negative ones count as 0."""
        value = max(value, 0)
        self.count += 1
        self.sum += value
        self.max = max(self.max, value)
        self.counts[_bucket(value)] += 1

    def quantile(self, share: float) -> int:
        """Return the upper bound of the bucket that ``share`` (0 to 1) of the values reach.

        At most the largest value seen; 0 when there is none.
        """
        left = share * self.count
        for index, count in enumerate(self.counts):
            left -= count
            if count and left <= 0 and index < _BUCKET_COUNT - 1:
                return min(_upper_bound(index), self.max)
        return self.max


@dataclass(slots=True)
class IntervalStats:
    """What one API did since the last row."""

    latency_us: Histogram = field(default_factory=Histogram)
    error_count: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0


@dataclass(slots=True)
class RequestStats:
    """The requests of one API."""

    request_count: Counter = field(default_factory=Counter)
    error_count: Counter = field(default_factory=Counter)
    received_bytes: Counter = field(default_factory=Counter)
    sent_bytes: Counter = field(default_factory=Counter)
    total_time_us: Counter = field(default_factory=Counter)
    interval: IntervalStats = field(default_factory=IntervalStats)

    def record(
        self, elapsed_us: int, *, received_bytes: int, sent_bytes: int, failed: bool
    ) -> None:
        """Count one answered request. Every request pays for this: no calls that can be spared."""
        self.request_count.value += 1
        self.received_bytes.value += received_bytes
        self.sent_bytes.value += sent_bytes
        self.total_time_us.value += elapsed_us
        interval = self.interval
        interval.latency_us.observe(elapsed_us)
        interval.received_bytes += received_bytes
        interval.sent_bytes += sent_bytes
        if failed:
            self.error_count.add()
            interval.error_count += 1


@dataclass(slots=True)
class LogDirStats:
    """The work of one log dir since the broker started."""

    append_count: Counter = field(default_factory=Counter)
    append_bytes: Counter = field(default_factory=Counter)
    queue_depth: Gauge = field(default_factory=Gauge)
    offline: Gauge = field(default_factory=Gauge)
    cordoned: Gauge = field(default_factory=Gauge)
    uncleanable_partitions: Gauge = field(default_factory=Gauge)
    uncleanable_bytes: Gauge = field(default_factory=Gauge)
    max_dirty_percent: Gauge = field(default_factory=Gauge)
    cleaner_idle_ms: Gauge = field(default_factory=Gauge)


class Sample(NamedTuple):
    """One number of a family, with the values of its labels."""

    labels: tuple[str, ...]
    value: int


class Family(NamedTuple):
    """All numbers of one name."""

    name: str
    kind: MetricKind
    help: str
    label_names: tuple[str, ...]
    samples: Sequence[Sample]


class Metrics:
    """All numbers of one broker; take a metric once and keep it, ``add`` and ``set`` are cheap."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.requests: dict[str, RequestStats] = {}
        self.log_dirs: dict[str, LogDirStats] = {}
        self.isr_expands = Counter()
        self.isr_shrinks = Counter()
        self.failed_isr_updates = Counter()
        self.messages_in = Counter()
        self.bytes_in = Counter()
        self.bytes_out = Counter()
        self.replication_bytes_in = Counter()
        self.replication_bytes_out = Counter()
        self.move_bytes = Counter()
        self.moves_done = Counter()
        self.moves_failed = Counter()
        self.log_dir_failures = Counter()
        self.unexpected_errors = Counter()
        self.malformed_requests = Counter()
        self.rows_dropped = Counter()
        self.partition_count = Gauge()
        self.leader_count = Gauge()
        self.offline_replica_count = Gauge()
        self.under_replicated_partitions = Gauge()
        self.under_min_isr_partitions = Gauge()
        self.partitions_with_late_transactions = Gauge()
        self.producer_id_count = Gauge()
        self.broker_state = Gauge()
        self._rows: deque[MetricRow] = deque()

    def request(self, api: str) -> RequestStats:
        """Return the stats of one API by its Kafka name."""
        stats = self.requests.get(api)
        if stats is None:
            stats = self.requests[api] = RequestStats()
        return stats

    def log_dir(self, path: str) -> LogDirStats:
        """Return the stats of one log dir by its absolute path."""
        stats = self.log_dirs.get(path)
        if stats is None:
            stats = self.log_dirs[path] = LogDirStats()
        return stats

    def record(self, row: MetricRow) -> None:
        """Keep an event row for the dump; beyond ``ROWS_MAX`` the oldest is dropped and counted."""
        if len(self._rows) >= ROWS_MAX:
            self._rows.popleft()
            self.rows_dropped.add()
        self._rows.append(row)

    def drain_rows(self) -> list[MetricRow]:
        """Return the kept event rows, oldest first, and forget them."""
        rows = list(self._rows)
        self._rows.clear()
        return rows

    def request_rows(self, *, at_ms: int, interval_ms: int) -> list[RequestRow]:
        """Return one row per API used since the last call and start the next interval."""
        rows: list[RequestRow] = []
        for api, stats in self.requests.items():
            interval = stats.interval
            if interval.latency_us.count == 0:
                continue
            rows.append(_request_row(self.broker_id, api, interval, (at_ms, interval_ms)))
            stats.interval = IntervalStats()
        return rows

    def families(self) -> list[Family]:
        """Return every number for an exposition, in a fixed order."""
        plain = [
            Family(name, kind, text, (), (Sample((), metric.value),))
            for name, kind, text, metric in self._plain()
        ]
        return [*plain, *self._log_dir_families(), *self._request_families()]

    def _plain(self) -> Iterator[tuple[str, MetricKind, str, Counter | Gauge]]:
        for attribute, name, kind, text in PLAIN:
            metric: Counter | Gauge = getattr(self, attribute)
            yield name, kind, text, metric

    def _log_dir_families(self) -> Iterator[Family]:
        for attribute in ("offline", "cordoned"):
            count = sum(getattr(stats, attribute).value for stats in self.log_dirs.values())
            yield Family(
                f"kafka_log_logmanager_{attribute}logdirectorycount",
                "gauge",
                f"Log dirs that are {attribute}.",
                (),
                (Sample((), count),),
            )
        for attribute, name, kind, text in LOG_DIR:
            samples = [
                Sample((path,), getattr(stats, attribute).value)
                for path, stats in self.log_dirs.items()
            ]
            yield Family(name, kind, text, ("logdirectory",), samples)

    def _request_families(self) -> Iterator[Family]:
        for attribute, name, text in REQUEST:
            samples = [
                Sample((api,), getattr(stats, attribute).value)
                for api, stats in self.requests.items()
            ]
            yield Family(name, "counter", text, ("request",), samples)


def _bucket(value: int) -> int:
    """Return the index of the bucket: exact below 16, then eight buckets per power of two."""
    shift = max(value.bit_length() - 1 - _SUB_BUCKET_BITS, 0)
    index = (shift << _SUB_BUCKET_BITS) + (value >> shift)
    return min(index, _BUCKET_COUNT - 1)


def _upper_bound(index: int) -> int:
    """Return the largest value of a bucket."""
    if index < 2 << _SUB_BUCKET_BITS:
        return index
    shift = (index >> _SUB_BUCKET_BITS) - 1
    mantissa = index - (shift << _SUB_BUCKET_BITS)
    return ((mantissa + 1) << shift) - 1


def _request_row(
    broker_id: int, api: str, interval: IntervalStats, times: tuple[int, int]
) -> RequestRow:
    latency = interval.latency_us
    at_ms, interval_ms = times
    return RequestRow(
        at_ms=at_ms,
        interval_ms=interval_ms,
        broker_id=broker_id,
        api=api,
        request_count=latency.count,
        error_count=interval.error_count,
        p50_us=latency.quantile(0.5),
        p99_us=latency.quantile(0.99),
        max_us=latency.max,
        received_bytes=interval.received_bytes,
        sent_bytes=interval.sent_bytes,
    )
