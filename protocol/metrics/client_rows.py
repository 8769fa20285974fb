"""What a producing client saw, as metric rows. It sends nothing and reads no clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from protocol.ids import TopicPartition
from protocol.metrics.histogram import Histogram
from protocol.metrics.latency import Timed, latency_row
from protocol.metrics.rows import NO_BROKER, ClientRow, LatencyRow, LatencyScope, Operation

INTERVAL_MS: Final = 1_000


class Sent(NamedTuple):
    """One request of a client to one partition, over by now."""

    tp: TopicPartition
    sent_us: int
    """On any clock, as ``ended_us``."""
    ended_us: int
    is_acknowledged: bool
    records: int = 1


@dataclass(slots=True)
class _Seen:
    """What was seen of one partition during one interval."""

    acknowledged_count: int = 0
    failed_count: int = 0
    silence_us: int = 0
    silence_ended_us: int = -1


@dataclass(slots=True)
class _Interval:
    """One interval."""

    partitions: dict[TopicPartition, _Seen] = field(default_factory=dict[TopicPartition, _Seen])
    latency: dict[str, Histogram] = field(default_factory=dict[str, Histogram])
    """By topic."""


def client_rows(
    client: str, sent: Iterable[Sent], *, epoch_ms: int, interval_ms: int = INTERVAL_MS
) -> list[ClientRow | LatencyRow]:
    """Return the rows of one client, the oldest first.

    Args:
        client: its name.
        sent: everything that it sent, in any order.
        epoch_ms: the time of day at 0 us of the clock of ``sent``.
        interval_ms: how much time a row covers.
    """
    intervals: dict[int, _Interval] = {}
    last_us: dict[TopicPartition, int] = {}
    for one in sorted(sent, key=lambda each: each.ended_us):
        interval = intervals.setdefault(one.ended_us // (interval_ms * 1000), _Interval())
        _add(interval, one, last_us)
    return [
        row
        for number, interval in intervals.items()
        for row in _rows(client, interval, epoch_ms, (number + 1) * interval_ms, interval_ms)
    ]


def _add(interval: _Interval, one: Sent, last_us: dict[TopicPartition, int]) -> None:
    seen = interval.partitions.setdefault(one.tp, _Seen())
    if not one.is_acknowledged:
        seen.failed_count += one.records
        return
    seen.acknowledged_count += one.records
    latency = interval.latency.setdefault(one.tp.topic, Histogram())
    latency.observe(one.ended_us - one.sent_us)
    silence_us = one.ended_us - last_us.get(one.tp, one.ended_us)
    if silence_us > seen.silence_us:
        seen.silence_us, seen.silence_ended_us = silence_us, one.ended_us
    last_us[one.tp] = one.ended_us


def _rows(
    client: str, interval: _Interval, epoch_ms: int, end_ms: int, interval_ms: int
) -> Iterable[ClientRow | LatencyRow]:
    for tp, seen in sorted(interval.partitions.items()):
        ended_us = seen.silence_ended_us
        yield ClientRow(
            at_ms=epoch_ms + end_ms,
            interval_ms=interval_ms,
            client=client,
            topic=tp.topic,
            partition=tp.partition,
            acknowledged_count=seen.acknowledged_count,
            failed_count=seen.failed_count,
            silence_ms=seen.silence_us // 1000,
            silence_ended_at_ms=-1 if ended_us < 0 else epoch_ms + ended_us // 1000,
        )
    for topic, histogram in sorted(interval.latency.items()):
        timed = Timed(NO_BROKER, LatencyScope.CLIENT, topic, Operation.PRODUCE)
        yield latency_row(timed, histogram, at_ms=epoch_ms + end_ms, interval_ms=interval_ms)
