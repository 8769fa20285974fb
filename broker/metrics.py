"""Counts, gauges and latencies of one broker, and the rows made of them.

It reads no clock, writes no file and knows no exposition format. Names are those that Kafka's
MBeans get from the usual JMX exporters, ``kafka_server_replicamanager_isrshrinks_total``; those
that begin with ``jbodlab_`` are ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from broker.metric_types import (
    Counter,
    Declarer,
    Gauge,
    MetricKind,
    counter,
    declared,
    gauge,
)
from protocol.metrics.histogram import Histogram
from protocol.metrics.latency import Timed, latency_row
from protocol.metrics.rows import LatencyRow, LatencyScope, MetricRow, Operation, RequestRow

ROWS_MAX: Final = 10_000
"""Event rows kept until the dump takes them; older ones are dropped and counted."""

_BROKER: Final = "jbodlab_broker_"
_CLEANER: Final = "kafka_log_logcleanermanager_"
_NETWORK: Final = "kafka_network_requestmetrics_"
_SERVER: Final = "kafka_server_replicamanager_"
_TOPICS: Final = "kafka_server_brokertopicmetrics_"


@dataclass(frozen=True, slots=True)
class Counters:
    """What a broker counts since it started. Each is moved by a test."""

    isr_expands: Counter = counter(_SERVER + "isrexpands_total", "Replicas that joined an ISR.")
    isr_shrinks: Counter = counter(
        _SERVER + "isrshrinks_total", "ISR changes that dropped replicas."
    )
    failed_isr_updates: Counter = counter(
        _SERVER + "failedisrupdates_total", "ISR changes that the controller refused."
    )
    messages_in: Counter = counter(
        _TOPICS + "messagesin_total",
        "Records appended for producers, those sent again and transaction markers too.",
    )
    bytes_in: Counter = counter(
        _TOPICS + "bytesin_total", "Bytes of those records, as they were sent."
    )
    bytes_out: Counter = counter(_TOPICS + "bytesout_total", "Record bytes sent to consumers.")
    replication_bytes_in: Counter = counter(
        _TOPICS + "replicationbytesin_total", "Record bytes fetched from leaders and appended."
    )
    replication_bytes_out: Counter = counter(
        _TOPICS + "replicationbytesout_total", "Record bytes sent to followers."
    )
    move_bytes: Counter = counter(_BROKER + "move_bytes_total", "Bytes copied into future logs.")
    moves_done: Counter = counter(
        _BROKER + "moves_done_total", "Replicas moved to another log dir."
    )
    moves_failed: Counter = counter(
        _BROKER + "moves_failed_total",
        "Moves that an error or a failed log dir ended; cancelled ones are not among them.",
    )
    log_dir_failures: Counter = counter(
        _BROKER + "log_dir_failures_total", "Log dirs that went offline since the start."
    )
    unexpected_errors: Counter = counter(
        _BROKER + "unexpected_errors_total",
        "Requests and tasks that ended with an error nobody foresaw; each is in the log.",
    )
    malformed_requests: Counter = counter(
        _BROKER + "malformed_requests_total",
        "Connections closed because of what the peer sent.",
    )
    throttled_requests: Counter = counter(
        _BROKER + "throttled_requests_total", "Requests whose clients were told to wait: quotas."
    )
    throttled_ms: Counter = counter(
        _BROKER + "throttled_milliseconds_total", "For how long those clients were told to wait."
    )
    rows_dropped: Counter = counter(
        _BROKER + "metric_rows_dropped_total",
        "Metric rows lost because the dump or the metrics topic did not keep up.",
    )


@dataclass(frozen=True, slots=True)
class Gauges:
    """What is so at this moment; brought up to date when somebody looks."""

    partition_count: Gauge = gauge(_SERVER + "partitioncount", "Hosted partitions, offline too.")
    leader_count: Gauge = gauge(_SERVER + "leadercount", "Partitions led here.")
    offline_replica_count: Gauge = gauge(_SERVER + "offlinereplicacount", "Offline replicas.")
    under_replicated_partitions: Gauge = gauge(
        _SERVER + "underreplicatedpartitions",
        "Partitions led here whose ISR is smaller than their replicas.",
    )
    under_min_isr_partitions: Gauge = gauge(
        _SERVER + "underminisrpartitioncount",
        "Partitions led here whose ISR is smaller than min.insync.replicas.",
    )
    partitions_with_late_transactions: Gauge = gauge(
        _SERVER + "partitionswithlatetransactionscount",
        "Partitions led here with a transaction that was open for too long.",
    )
    producer_id_count: Gauge = gauge(_SERVER + "produceridcount", "Producers known to partitions.")
    broker_state: Gauge = gauge("kafka_server_kafkaserver_brokerstate", "Kafka's BrokerState.")


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

    request_count: Counter = counter(_NETWORK + "requests_total", "Answered requests.")
    error_count: Counter = counter(_NETWORK + "errors_total", "Answers with an error code.")
    received_bytes: Counter = counter(_NETWORK + "requestbytes_total", "Bytes of request bodies.")
    sent_bytes: Counter = counter(_NETWORK + "responsebytes_total", "Bytes of response bodies.")
    total_time_us: Counter = counter(
        _NETWORK + "totaltimeus_total", "Time from request to response, in us."
    )
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


@dataclass(frozen=True, slots=True)
class LogDirStats:
    """The work of one log dir since the broker started."""

    offline: Gauge = gauge("kafka_log_logmanager_logdirectoryoffline", "1 for an offline log dir.")
    cordoned: Gauge = gauge(
        "kafka_log_logmanager_logdirectorycordoned", "1 for a cordoned log dir, online or not."
    )
    queue_depth: Gauge = gauge(_BROKER + "log_dir_queue_depth", "Jobs that wait for this disk.")
    append_count: Counter = counter(
        _BROKER + "log_dir_appends_total", "Appends written to this log dir."
    )
    append_bytes: Counter = counter(
        _BROKER + "log_dir_append_bytes_total", "Bytes appended to this log dir."
    )
    uncleanable_partitions: Gauge = gauge(
        _CLEANER + "uncleanable_partitions_count",
        "Compacted logs of this log dir that the cleaner cannot read and leaves alone.",
    )
    uncleanable_bytes: Gauge = gauge(_CLEANER + "uncleanable_bytes", "What those logs weigh.")
    max_dirty_percent: Gauge = gauge(
        _CLEANER + "max_dirty_percent",
        "The largest share of a compacted log that was not compacted yet.",
    )
    cleaner_idle_ms: Gauge = gauge(
        _CLEANER + "time_since_last_run_ms",
        "Since the cleaner looked for work; -1 before it did.",
    )


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
        self.counters = Counters()
        self.gauges = Gauges()
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
            self.counters.rows_dropped.add()
        self._rows.append(row)

    def drain_rows(self) -> list[MetricRow]:
        """Return the kept event rows, oldest first, and forget them."""
        rows = list(self._rows)
        self._rows.clear()
        return rows

    def request_rows(self, *, at_ms: int, interval_ms: int) -> list[RequestRow | LatencyRow]:
        """Return two rows per API used since the last call, and start the next interval."""
        rows: list[RequestRow | LatencyRow] = []
        for api, stats in self.requests.items():
            interval = stats.interval
            if interval.latency_us.count == 0:
                continue
            rows.append(_request_row(self.broker_id, api, interval, at_ms, interval_ms))
            timed = Timed(self.broker_id, LatencyScope.API, api, Operation.REQUEST)
            latency = interval.latency_us
            rows.append(latency_row(timed, latency, at_ms=at_ms, interval_ms=interval_ms))
            stats.interval = IntervalStats()
        return rows

    def families(self) -> list[Family]:
        """Return every number for an exposition, in a fixed order."""
        return [
            *_families(Counters, (), {(): self.counters}),
            *_families(Gauges, (), {(): self.gauges}),
            *self._log_dir_counts(),
            *_families(LogDirStats, ("logdirectory",), _by_label(self.log_dirs)),
            *_families(RequestStats, ("request",), _by_label(self.requests)),
        ]

    def _log_dir_counts(self) -> Iterator[Family]:
        offline = sum(stats.offline.value for stats in self.log_dirs.values())
        cordoned = sum(stats.cordoned.value for stats in self.log_dirs.values())
        for name, count in (("offline", offline), ("cordoned", cordoned)):
            yield Family(
                f"kafka_log_logmanager_{name}logdirectorycount",
                "gauge",
                f"Log dirs that are {name}.",
                (),
                (Sample((), count),),
            )


def _by_label(owners: Mapping[str, Declarer]) -> dict[tuple[str, ...], Declarer]:
    return {(label,): owner for label, owner in owners.items()}


def _families(
    declarer: type[Declarer],
    label_names: tuple[str, ...],
    owners: Mapping[tuple[str, ...], Declarer],
) -> Iterator[Family]:
    """Return what ``declarer`` declares, with the numbers of each of its ``owners``."""
    for attribute, name, kind, text in declared(declarer):
        samples = [
            Sample(labels, getattr(owner, attribute).value) for labels, owner in owners.items()
        ]
        yield Family(name, kind, text, label_names, samples)


def _request_row(
    broker_id: int, api: str, interval: IntervalStats, at_ms: int, interval_ms: int
) -> RequestRow:
    latency = interval.latency_us
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
