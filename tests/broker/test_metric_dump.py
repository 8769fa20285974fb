"""The dump samples once per interval, and a folder that cannot be written stops nothing."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from broker.metric_dump import MetricDump
from broker.metrics import Metrics
from protocol.metrics.rows import LatencyRow, LogDirRow, MetricRow, ReplicaRow, RequestRow


class FakeClock:
    def __init__(self) -> None:
        self.ms = 1_000

    def now_ms(self) -> int:
        return self.ms


class FakeSource:
    def __init__(self, replica_count: int = 0) -> None:
        self.replica_count = replica_count

    def log_dir_rows(self, at_ms: int, interval_ms: int) -> list[LogDirRow]:
        return [
            LogDirRow(
                at_ms=at_ms,
                interval_ms=interval_ms,
                broker_id=1,
                broker_epoch=7,
                log_dir="/d1",
                directory_id="x",
                online=True,
                used_bytes=0,
                total_bytes=-1,
                usable_bytes=-1,
                replica_count=0,
                future_count=0,
                queue_depth_count=0,
                append_count_total=0,
                append_bytes_total=0,
            )
        ]

    def latency_rows(self, at_ms: int, interval_ms: int) -> list[LatencyRow]:
        return []

    def replica_rows(self, at_ms: int, interval_ms: int) -> list[ReplicaRow]:
        row = ReplicaRow(
            at_ms=at_ms,
            interval_ms=interval_ms,
            broker_id=1,
            topic="orders",
            partition=0,
            log_dir="/d1",
            is_leader=True,
            is_future=False,
            leader_epoch=0,
            log_start_offset=0,
            log_end_offset=0,
            high_watermark=0,
            isr_count=1,
            is_under_min_isr=False,
            size_bytes=0,
            lag=0,
        )
        return [row] * self.replica_count


class FakeWriter:
    def __init__(self) -> None:
        self.rows: list[MetricRow] = []
        self.error: OSError | None = None
        self.is_closed = False

    async def write(self, rows: Iterable[MetricRow]) -> None:
        if self.error is not None:
            raise self.error
        self.rows.extend(rows)

    async def close(self) -> None:
        self.is_closed = True


def dump_of(writer: FakeWriter, metrics: Metrics, clock: FakeClock) -> MetricDump:
    return MetricDump(writer, FakeSource(), metrics, clock, interval_ms=1_000)


async def test_each_interval_writes_requests_log_dirs_and_events():
    writer, metrics, clock = FakeWriter(), Metrics(1), FakeClock()
    dump = dump_of(writer, metrics, clock)
    metrics.request("Fetch").record(10, received_bytes=1, sent_bytes=1, failed=False)
    clock.ms = 1_500
    await dump.write_interval()
    request = writer.rows[0]
    assert isinstance(request, RequestRow)
    assert (request.at_ms, request.interval_ms) == (1_500, 500)
    assert isinstance(writer.rows[1], LatencyRow)
    assert isinstance(writer.rows[2], LogDirRow)
    assert len(writer.rows) == 3


async def test_rows_that_cannot_be_written_are_counted_and_said_once(
    caplog: pytest.LogCaptureFixture,
):
    writer, metrics = FakeWriter(), Metrics(1)
    writer.error = OSError(28, "No space left on device")
    dump = dump_of(writer, metrics, FakeClock())
    await dump.write_interval()
    await dump.write_interval()
    assert metrics.counters.rows_dropped.value == 2
    assert caplog.text.count("metric rows are lost") == 1


async def test_closing_writes_the_last_interval():
    writer = FakeWriter()
    await dump_of(writer, Metrics(1), FakeClock()).close()
    assert len(writer.rows) == 1
    assert writer.is_closed


async def test_many_replicas_are_sampled_all_at_once_but_not_in_every_interval():
    writer = FakeWriter()
    dump = MetricDump(writer, FakeSource(1_200), Metrics(1), FakeClock(), interval_ms=1_000)
    counts: list[int] = []
    for _ in range(5):
        writer.rows.clear()
        await dump.write_interval()
        counts.append(sum(isinstance(row, ReplicaRow) for row in writer.rows))
    assert counts == [1_200, 0, 0, 1_200, 0]
    writer.rows.clear()
    await dump.close()
    assert sum(isinstance(row, ReplicaRow) for row in writer.rows) == 1_200
