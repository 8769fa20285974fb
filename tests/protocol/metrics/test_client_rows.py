"""What a client saw becomes rows per interval and partition, with its silences."""

from __future__ import annotations

from protocol.ids import TopicPartition
from protocol.metrics.client_rows import Sent, client_rows
from protocol.metrics.rows import ClientRow, LatencyRow

TP = TopicPartition("orders", 0)


def acknowledged(at_ms: int, tp: TopicPartition = TP) -> Sent:
    return Sent(tp, (at_ms - 5) * 1000, at_ms * 1000, is_acknowledged=True)


def seen(*sent: Sent) -> list[ClientRow]:
    rows = client_rows("load", sent, epoch_ms=100_000)
    return [row for row in rows if isinstance(row, ClientRow)]


def test_a_silence_belongs_to_the_interval_in_which_it_ended() -> None:
    first, second = seen(acknowledged(100), acknowledged(200), acknowledged(1700))
    assert (first.at_ms, first.acknowledged_count, first.silence_ms) == (101_000, 2, 100)
    assert (second.at_ms, second.silence_ms, second.silence_ended_at_ms) == (102_000, 1500, 101_700)


def test_the_first_acknowledgement_ends_no_silence() -> None:
    (row,) = seen(acknowledged(100))
    assert (row.silence_ms, row.silence_ended_at_ms) == (0, -1)


def test_what_failed_is_counted_and_ends_no_silence() -> None:
    failed = Sent(TP, 150_000, 160_000, is_acknowledged=False, records=3)
    (row,) = seen(acknowledged(100), failed, acknowledged(300))
    assert (row.acknowledged_count, row.failed_count, row.silence_ms) == (2, 3, 200)


def test_partitions_are_told_apart_and_latencies_are_a_topics() -> None:
    other = TopicPartition("orders", 1)
    rows = client_rows("load", [acknowledged(100), acknowledged(101, other)], epoch_ms=0)
    assert [row.partition for row in rows if isinstance(row, ClientRow)] == [0, 1]
    (latency,) = [row for row in rows if isinstance(row, LatencyRow)]
    assert (latency.sample_count, latency.max_us, latency.broker_id) == (2, 5000, -1)
