"""A producer that keeps writing while things break, and the proof afterwards that nothing is lost.

kafka-python, acks=all, idempotent, in a thread of its own. Starts no cluster and breaks nothing.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaTimeoutError
from kafka.structs import TopicPartition

from protocol.cluster_file.spec import ClusterSpec
from protocol.ids import TopicPartition as PartitionId
from protocol.metrics.client_rows import Sent, client_rows
from protocol.metrics.rows import NO_BROKER, ClientRow, LatencyRow, RowOrigin
from protocol.metrics.writer import MetricWriter

DELIVERY_TIMEOUT_MS: Final = 60_000
METADATA_AGE_MS_MAX: Final = 1_000
_OPEN: Final[Mapping[str, Any]] = {}


class Acknowledged(NamedTuple):
    """One record that the cluster took."""

    number: int
    partition: int
    at: float
    """When the client heard of it, in seconds of the monotonic clock."""
    sent_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """What one load did."""

    acknowledged: tuple[Acknowledged, ...]
    failed: tuple[str, ...]
    """Errors that reached the application, after the client's own retries."""
    seconds: float

    @property
    def records_per_second(self) -> float:
        """Acknowledged records a second."""
        return len(self.acknowledged) / self.seconds if self.seconds else 0.0

    def longest_gap_ms(self, partitions: Sequence[int], *, after: float) -> float:
        """Return the longest silence of any of ``partitions`` that ends after ``after``."""
        longest = 0.0
        for partition in partitions:
            times = [each.at for each in self.acknowledged if each.partition == partition]
            gaps = [
                (late - max(early, after)) * 1000
                for early, late in itertools.pairwise(times)
                if late > after
            ]
            longest = max(longest, *gaps, 0.0)
        return longest


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Acknowledged records held against what a consumer reads."""

    acknowledged: int
    read: int
    lost: tuple[int, ...]
    twice: tuple[int, ...]

    @property
    def is_clean(self) -> bool:
        """Whether none is lost and none is there twice."""
        return not self.lost and not self.twice


@dataclass(slots=True)
class _Collected:
    acknowledged: list[Acknowledged] = field(default_factory=list[Acknowledged])
    failed: list[str] = field(default_factory=list[str])


class Load:
    """Writes numbered records to partitions in turn until it is stopped.

    ``partitions`` is how many there are, or the ones to write to.

    ``pace_ms`` is the pause after each round over the partitions; ``first_number`` keeps the
    numbers of several loads on one topic apart; ``security`` are arguments of kafka-python.
    """

    def __init__(  # noqa: PLR0913 - callers name what differs
        self,
        bootstrap_servers: Sequence[str],
        topic: str,
        *,
        partitions: int | Sequence[int],
        size_bytes: int = 100,
        pace_ms: float = 1.0,
        first_number: int = 0,
        security: Mapping[str, Any] = _OPEN,
    ) -> None:
        self._client: Any = {"bootstrap_servers": list(bootstrap_servers), **security}
        self._topic = topic
        self._partitions = range(partitions) if isinstance(partitions, int) else partitions
        self._padding = b"." * max(0, size_bytes - 20)
        self._pace_s = pace_ms / 1000
        self._next_number = first_number
        self._collected = _Collected()
        self._is_abandoned = False
        self._stop = threading.Event()
        self._acknowledged_once = threading.Event()
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    @property
    def acknowledged_count(self) -> int:
        """Records acknowledged so far."""
        return len(self._collected.acknowledged)

    def start(self, deadline_ms: int = 30_000) -> Load:
        """Begin; returns after the first acknowledgement.

        Raises:
            TimeoutError: none came before the deadline.
        """
        self._started = time.monotonic()
        self._thread.start()
        if not self._acknowledged_once.wait(deadline_ms / 1000):
            self._stop.set()
            raise TimeoutError(
                f"no record of {self._topic} was acknowledged within {deadline_ms} ms: "
                f"{self._collected.failed[:1]}"
            )
        return self

    def stop(self) -> LoadReport:
        """End, wait for everything under way, and report."""
        self._stop.set()
        self._thread.join()
        return LoadReport(
            acknowledged=tuple(self._collected.acknowledged),
            failed=tuple(self._collected.failed),
            seconds=time.monotonic() - self._started,
        )

    def abandon(self) -> None:
        """End without waiting for what is under way; for when the cluster is gone anyway."""
        self._is_abandoned = True
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        producer = KafkaProducer(
            **self._client,
            acks="all",
            enable_idempotence=True,
            linger_ms=1,
            retry_backoff_ms=20,
            reconnect_backoff_ms=20,
            request_timeout_ms=10_000,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
        )
        try:
            while not self._stop.wait(self._pace_s):
                self._send_round(producer)
            if not self._is_abandoned:
                producer.flush(timeout=DELIVERY_TIMEOUT_MS / 1000)
        except KafkaTimeoutError as error:
            self._on_failed(error)
        finally:
            close(producer, timeout_s=0 if self._is_abandoned else 5)

    def _send_round(self, producer: Any) -> None:
        for partition in self._partitions:
            number = self._next_number
            self._next_number += 1
            value = b"%d %s" % (number, self._padding)
            future = producer.send(self._topic, value=value, partition=partition)
            sent_at = time.monotonic()
            future.add_callback(self._on_acknowledged, number, partition, sent_at)
            future.add_errback(self._on_failed)

    def _on_acknowledged(self, number: int, partition: int, sent_at: float, _metadata: Any) -> None:
        done = Acknowledged(number, partition, time.monotonic(), sent_at)
        self._collected.acknowledged.append(done)
        self._acknowledged_once.set()

    def _on_failed(self, error: BaseException) -> None:
        self._collected.failed.append(f"{type(error).__name__}: {error}")


def load_rows(topic: str, acknowledged: Sequence[Acknowledged]) -> list[ClientRow | LatencyRow]:
    """Return what a load saw of ``topic``, as metric rows."""
    epoch_ms = time.time_ns() // 1_000_000 - int(time.monotonic() * 1000)
    sent = [
        Sent(
            PartitionId(topic, each.partition),
            int(each.sent_at * 1_000_000),
            int(each.at * 1_000_000),
            is_acknowledged=True,
        )
        for each in acknowledged
    ]
    return client_rows("load", sent, epoch_ms=epoch_ms)


def dump_load(
    spec: ClusterSpec, run_id: str, topic: str, acknowledged: Sequence[Acknowledged]
) -> None:
    """Write what a load saw beside the metric rows of the cluster's own processes."""
    origin = RowOrigin(cluster_id=spec.cluster_id, run_id=run_id)
    now_ms = time.time_ns() // 1_000_000
    writer = MetricWriter(spec.metrics.dump_dir, NO_BROKER, now_ms, origin)

    async def write() -> None:
        await writer.write(load_rows(topic, acknowledged))
        await writer.close()

    asyncio.run(write())


# Any: kafka-python has no types.
def close(producer: Any, *, timeout_s: float) -> None:
    """Close a producer, also one whose records nobody will acknowledge any more.

    Its ``close`` flushes first and stays open when that takes longer; once more does not flush.
    """
    try:
        producer.close(timeout=timeout_s)
    except KafkaTimeoutError:
        producer.flush = _flush_nothing
        producer.close(timeout=0)


def _flush_nothing(timeout: float | None = None) -> None:
    """Stand in for the ``flush`` of a producer that is given up."""


def end_offsets(
    bootstrap_servers: Sequence[str],
    topic: str,
    *,
    partitions: int,
    security: Mapping[str, Any] = _OPEN,
) -> dict[int, int]:
    """Return by partition where the next record will be."""
    consumer = reader(bootstrap_servers, security)
    try:
        assigned = [TopicPartition(topic, partition) for partition in range(partitions)]
        ends: dict[Any, int] = consumer.end_offsets(assigned)
        return {each.partition: offset for each, offset in ends.items()}
    finally:
        consumer.close()


def read_numbers(
    bootstrap_servers: Sequence[str],
    topic: str,
    *,
    partitions: int,
    begins: Mapping[int, int] | None = None,
    deadline_ms: int = 60_000,
    security: Mapping[str, Any] = _OPEN,
) -> list[int]:
    """Read a topic to its present end; return the numbers of its records.

    Args:
        bootstrap_servers: host:port each.
        topic: its name; records of others than a ``Load`` are passed over.
        partitions: how many it has.
        begins: offsets to begin at, by partition; None: at the beginning.
        deadline_ms: for all of it.
        security: arguments of kafka-python.

    Raises:
        TimeoutError: the end was not reached before the deadline.
    """
    consumer = reader(bootstrap_servers, security)
    try:
        assigned = [TopicPartition(topic, partition) for partition in range(partitions)]
        consumer.assign(assigned)
        ends = consumer.end_offsets(assigned)
        consumer.seek_to_beginning(*assigned)
        for partition, offset in (begins or {}).items():
            consumer.seek(TopicPartition(topic, partition), offset)
        return _read_to(consumer, ends, time.monotonic() + deadline_ms / 1000)
    finally:
        consumer.close()


def reader(bootstrap_servers: Sequence[str], security: Mapping[str, Any] = _OPEN) -> Any:
    """Return a consumer without a group that begins where a partition does; close it.

    Asked for offsets, kafka-python (3.0.12) turns to the same broker until its time is up, and does
    not ask who leads by now: so its metadata have to get old soon.
    """
    given: Any = security
    return KafkaConsumer(
        bootstrap_servers=list(bootstrap_servers),
        group_id=None,
        auto_offset_reset="earliest",
        metadata_max_age_ms=METADATA_AGE_MS_MAX,
        **given,
    )


def verify(acknowledged: Sequence[Acknowledged], numbers: Sequence[int]) -> Verification:
    """Hold what was acknowledged against what was read."""
    counts: dict[int, int] = {}
    for number in numbers:
        counts[number] = counts.get(number, 0) + 1
    return Verification(
        acknowledged=len(acknowledged),
        read=len(numbers),
        lost=tuple(each.number for each in acknowledged if each.number not in counts),
        twice=tuple(number for number, count in counts.items() if count > 1),
    )


def _read_to(consumer: Any, ends: dict[Any, int], deadline: float) -> list[int]:
    numbers: list[int] = []
    while any(consumer.position(partition) < end for partition, end in ends.items()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"read {len(numbers)} records, but not to the ends {ends}")
        for records in consumer.poll(timeout_ms=200).values():
            found = (_number(record.value) for record in records)
            numbers.extend(number for number in found if number is not None)
    return numbers


def _number(value: bytes | None) -> int | None:
    """Return the number that a load has written; None of a record that somebody else wrote."""
    first = (value or b"").split(b" ", 1)[0]
    return int(first) if first.isdigit() else None
