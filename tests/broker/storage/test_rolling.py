"""When a segment is left for a new one."""

from __future__ import annotations

from broker.storage.memory_disk import MemoryDisk
from tests.broker.storage.builders import Config, batch, batches, log_on


def test_a_segment_is_left_when_the_next_batch_would_make_it_too_large() -> None:
    size = len(batch(0))
    log = log_on(MemoryDisk(), config=Config(segment_bytes=3 * size))
    log.append(batches(0, 7), now_ms=0)
    assert log.segment_base_offsets == [0, 3, 6]
    log.append([batch(7, size=1000)], now_ms=0)
    log.append([batch(8)], now_ms=0)
    assert log.segment_base_offsets == [0, 3, 6, 7, 8]


def test_a_segment_is_left_when_its_records_are_older_than_segment_ms() -> None:
    log = log_on(MemoryDisk(), config=Config(segment_ms=10_000))
    times = (5_000, 6_000, 15_000, 15_001, 99_000)
    for offset, timestamp in enumerate(times):
        log.append([batch(offset, timestamp=timestamp)], now_ms=0)
    assert log.segment_base_offsets == [0, 3, 4]


def test_records_without_timestamps_age_by_the_clock() -> None:
    log = log_on(MemoryDisk(), config=Config(segment_ms=10_000))
    for offset, now_ms in enumerate((0, 10_000, 10_001)):
        log.append([batch(offset, timestamp=-1)], now_ms=now_ms)
    assert log.segment_base_offsets == [0, 2]


def test_a_segment_is_left_when_its_index_is_full_or_its_offsets_overflow() -> None:
    full = log_on(MemoryDisk(), config=Config(segment_index_bytes=48, index_interval_bytes=1))
    full.append(batches(0, 10), now_ms=0)
    assert len(full.segment_base_offsets) > 1
    log = log_on(MemoryDisk())
    log.append([batch(n, timestamp=0) for n in (0, 2**31 - 1, 2**31)], now_ms=0)
    assert log.segment_base_offsets == [0, 2**31]


def test_a_record_without_timestamp_does_not_age_a_segment_that_has_one() -> None:
    log = log_on(MemoryDisk(), config=Config(segment_ms=10_000))
    log.append([batch(0, timestamp=5_000)], now_ms=0)
    log.append([batch(1, timestamp=-1)], now_ms=10**9)
    assert log.segment_base_offsets == [0]


def test_jitter_rolls_each_log_earlier_at_a_time_of_its_own() -> None:
    config = Config(segment_ms=10_000, segment_jitter_ms=8_000)
    jitters = {
        log_on(MemoryDisk(root), f"orders-{number}", config).segments[0].roll_jitter_ms
        for root in ("/d1", "/d2")
        for number in range(10)
    }
    assert len(jitters) > 15
    assert 0 <= min(jitters) < max(jitters) < 8_000
    log = log_on(MemoryDisk(), config=config)
    wait_ms = 10_000 - log.segments[0].roll_jitter_ms
    for offset, timestamp in enumerate((0, wait_ms, wait_ms + 1)):
        log.append([batch(offset, timestamp=timestamp)], now_ms=0)
    assert log.segment_base_offsets == [0, 2]


def test_jitter_is_the_same_after_a_restart_and_never_passes_segment_ms() -> None:
    config = Config(segment_ms=1_000, segment_jitter_ms=10**9)
    first, second = (log_on(MemoryDisk("/d1"), config=config).segments[0] for _ in range(2))
    assert first.roll_jitter_ms == second.roll_jitter_ms < 1_000


def test_a_segment_begins_where_the_log_ends_though_compaction_left_offsets_out() -> None:
    log = log_on(MemoryDisk(), config=Config(segment_bytes=1))
    log.append([batch(0)], now_ms=0)
    log.append([batch(7)], now_ms=0)
    log.append([batch(2**33)], now_ms=0)
    assert log.segment_base_offsets == [0, 1, 2**33]
