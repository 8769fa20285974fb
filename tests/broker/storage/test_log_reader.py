"""Reading across segments: never a gap, never half a batch, never too much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.storage.indexes import AbortedTransaction
from broker.storage.log_reader import read_batches, segment_number
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from protocol.records.batch import iterate_batches
from tests.broker.storage.builders import Config, batch, batches, filled_log, log_on

LOG = filled_log(MemoryDisk(), 100, Config(segment_bytes=1500))
SIZE = len(batch(0))


def offsets(log: PartitionLog, offset: int, max_bytes: int, up_to: int | None = None) -> list[int]:
    read = log.read(offset, max_bytes, up_to=up_to)
    data = b"".join(bytes(buffer) for buffer in read.buffers)
    assert len(data) == read.size_bytes
    found = list(iterate_batches(data))
    assert sum(header.size_bytes for _, header in found) == len(data)
    return [header.base_offset for _, header in found]


@given(st.integers(0, 99), st.integers(0, 5000), st.integers(0, 100))
def test_a_read_is_a_gapless_run_of_whole_batches(offset: int, max_bytes: int, up_to: int) -> None:
    assert len(LOG.segment_base_offsets) > 5
    count = max(1, max_bytes // SIZE)
    end = max(offset, min(offset + count, up_to))
    assert offsets(LOG, offset, max_bytes, up_to=up_to) == list(range(offset, end))
    assert LOG.read(offset, max_bytes, up_to=up_to).next_offset == end


@pytest.mark.parametrize("max_bytes", [1, SIZE, SIZE * 3 + 50, 1499, 1500, 1501, 100_000])
def test_reading_on_from_where_a_read_ended_gives_every_batch_once(max_bytes: int) -> None:
    found: list[int] = []
    while (at := found[-1] + 1 if found else 0) < 100:
        found += offsets(LOG, at, max_bytes)
    assert found == list(range(100))


def test_without_min_one_a_batch_that_does_not_fit_is_left_out() -> None:
    assert LOG.read(0, SIZE - 1, min_one=False).buffers == ()
    assert LOG.read(0, SIZE - 1, min_one=True).size_bytes == SIZE


def test_a_batch_that_holds_the_high_watermark_inside_is_not_given() -> None:
    log = log_on(MemoryDisk())
    log.append([batch(0, 5), batch(5, 5)], now_ms=0)
    assert offsets(log, 0, 10_000, up_to=7) == [0]
    assert offsets(log, 6, 10_000, up_to=7) == []
    assert offsets(log, 6, 10_000) == [5]


def test_gaps_that_compaction_left_are_passed_over() -> None:
    log = log_on(MemoryDisk(), config=Config(segment_bytes=400))
    log.append([batch(offset) for offset in (0, 7, 8, 30, 31, 90)], now_ms=0)
    assert len(log.segment_base_offsets) == 3
    assert offsets(log, 1, 10_000) == [7, 8, 30, 31, 90]
    assert offsets(log, 9, SIZE) == [30]
    assert offsets(log, 40, SIZE) == [90]


def test_a_file_that_became_shorter_is_an_error_of_the_disk() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 5)
    disk.open("orders-0/00000000000000000000.log", create=False).truncate(SIZE * 2 + 10)
    with pytest.raises(OSError, match="read 350 of 850 bytes at 0"):
        read_batches(log.segments, 0, 5, 10_000, log_end_offset=5, min_one=True)


def test_the_segment_of_an_offset_is_the_last_that_begins_before_it() -> None:
    bases = LOG.segment_base_offsets
    for number, base in enumerate(bases):
        assert segment_number(LOG.segments, base) == number
    assert segment_number(LOG.segments, 10_000) == len(bases) - 1
    assert segment_number(LOG.segments, -1) == 0


@given(st.integers(0, 101_000))
def test_a_timestamp_finds_the_first_record_that_has_it_or_a_later_one(timestamp: int) -> None:
    found = LOG.offset_for_timestamp(timestamp)
    expected = -(-timestamp // 1000)
    assert (found and found.offset) == (expected if expected < 100 else None)


def test_a_timestamp_is_found_inside_a_batch_and_not_before_the_log_start() -> None:
    log = log_on(MemoryDisk())
    log.append([batch(0, 5, epoch=3), batch(5, 5, epoch=4)], now_ms=0)
    assert log.offset_for_timestamp(2500) == (3000, 3, 3)
    log.raise_log_start_offset(7)
    assert log.offset_for_timestamp(0) == (7000, 7, 4)
    assert log.offset_for_max_timestamp() == (9000, 9, 4)
    assert log_on(MemoryDisk()).offset_for_max_timestamp() is None


def test_timestamps_that_go_back_are_searched_in_offset_order() -> None:
    log = log_on(MemoryDisk(), config=Config(segment_bytes=400))
    times = [50, 10, 90, 20, 90, 30]
    log.append([batch(n, timestamp=time) for n, time in enumerate(times)], now_ms=0)
    assert [found and found.offset for found in map(log.offset_for_timestamp, (0, 40, 60, 91))] == [
        0,
        0,
        2,
        None,
    ]
    assert log.offset_for_max_timestamp() == (90, 2, 0)
    assert batches(0, 1) == [batch(0)]


def test_aborted_transactions_are_found_by_the_offsets_that_they_touch() -> None:
    log = filled_log(MemoryDisk(), 20, Config(segment_bytes=900))
    first, second = AbortedTransaction(1, 1, 3, 4), AbortedTransaction(2, 2, 8, 9)
    log.segments[0].append_aborted(first)
    log.segments[1].append_aborted(second)
    assert log.aborted_transactions(0, 20) == [first, second]
    assert log.aborted_transactions(0, 2) == [first]
    assert log.aborted_transactions(4, 20) == [second]
    assert log.aborted_transactions(9, 20) == []


def test_what_was_aborted_in_a_later_segment_is_found_and_the_search_ends_behind_it() -> None:
    log = log_on(MemoryDisk(), config=Config(segment_bytes=SIZE * 2))
    log.append(batches(0, 8), now_ms=0)
    second, third, last = log.segments[1:]
    second.append_aborted(AbortedTransaction(1, 0, 3, 4))
    third.append_aborted(AbortedTransaction(2, 1, 5, 2))
    third.append_aborted(AbortedTransaction(3, 2, 5, 6))
    last.append_aborted(AbortedTransaction(4, 0, 7, 8))
    assert [one.producer_id for one in log.aborted_transactions(0, 2)] == [1]
    assert [one.producer_id for one in log.aborted_transactions(4, 5)] == [2, 3]


def test_a_read_tells_the_aborted_transactions_among_its_batches_when_asked() -> None:
    log = log_on(MemoryDisk())
    log.append(batches(0, 8), now_ms=0)
    transactions = [AbortedTransaction(1, 0, 3, 4), AbortedTransaction(2, 5, 7, 8)]
    for one in transactions:
        log.segments[0].append_aborted(one)
    assert log.read(0, SIZE * 2, with_aborted=True).aborted == transactions[:1]
    assert log.read(4, SIZE * 2, with_aborted=True).aborted == transactions[1:]
    assert log.read(0, SIZE * 2).aborted == ()
