"""Segments that leave a log and cleaned ones that take their place, cut at every operation."""

from __future__ import annotations

import pytest

from broker.storage.files import LogDirFiles
from broker.storage.layout import CLEANED_SUFFIX
from broker.storage.log_recovery import KnownOffsets, open_log
from broker.storage.log_segments import SetAside
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.segment import Segment
from broker.storage.segment_files import PartitionFiles
from protocol.records.batch import iterate_batches
from tests.broker.storage.builders import (
    Config,
    batch,
    batches,
    faulty,
    filled_log,
    log_on,
    offsets_read,
    produced,
)

CONFIG = Config(segment_bytes=900)
KEPT = (0, 4, 7)
"""Offsets of the first two segments that the cleaning in these tests keeps."""


def cleaned_segment(log: PartitionLog, offsets: tuple[int, ...] = KEPT) -> Segment:
    """What a cleaner would have written of the first segments."""
    directory = log.segments[0].directory
    segment = Segment(directory, 0, CONFIG, created_ms=0, suffix=CLEANED_SUFFIX)
    segment.file()
    for offset in offsets:
        data = batch(offset)
        for _, header in iterate_batches(data):
            segment.note(header, segment.size_bytes)
        segment.append([data])
    segment.seal()
    return segment


def clean(log: PartitionLog) -> SetAside:
    return log.replace_segments(list(log.segments[:2]), [cleaned_segment(log)])


def names(disk: MemoryDisk, suffix: str) -> list[str]:
    return [name for name in disk.list_dir("orders-0") if name.endswith(suffix)]


def test_the_oldest_segments_leave_and_wait_for_their_removal() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 20, CONFIG)
    bases, size_bytes = log.segment_base_offsets, log.size_bytes
    aside = log.remove_oldest(2, now_ms=0)
    assert log.segment_base_offsets == bases[2:]
    assert log.log_start_offset == bases[2]
    assert log.size_bytes == size_bytes - aside.size_bytes
    assert offsets_read(log, bases[2]) == list(range(bases[2], 20))
    assert len(names(disk, ".log.deleted")) == 2
    aside.remove()
    assert names(disk, ".deleted") == []
    aside.remove()


def test_the_active_segment_is_rolled_when_it_is_to_go() -> None:
    log = filled_log(MemoryDisk(), 20, CONFIG)
    log.remove_oldest(len(log.segments), now_ms=5)
    assert log.segment_base_offsets == [20]
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (20, 20, 0)
    assert log.append([batch(20)], now_ms=6) == 21


def test_an_emptied_log_goes_on_where_it_ended_after_a_power_cut() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 20, CONFIG)
    disk.sync_dir("")
    log.remove_oldest(len(log.segments), now_ms=5)
    disk.power_cut()
    directory = PartitionFiles(LogDirFiles(disk), "orders-0")
    opened = open_log(directory, CONFIG, KnownOffsets(), now_ms=0).log
    assert opened.log_end_offset == 20


@pytest.mark.parametrize("end", [0, 20])
def test_the_loop_sees_a_segment_at_every_operation_of_a_log_that_begins_anew(end: int) -> None:
    disk = MemoryDisk()
    log = filled_log(disk, end, CONFIG)
    seen: list[bool] = []
    disk.before_change = lambda _operation, _name: seen.append(log.has_sealed_to_sync)

    log.truncate_fully_and_start_at(30)
    log.append([batch(2**31 + 30)], now_ms=0)  # Too far away for the empty segment: another one.

    assert len(seen) > 2
    assert log.segment_base_offsets == [2**31 + 30]


def test_snapshots_leave_with_their_segments() -> None:
    disk = MemoryDisk()
    log = log_on(disk, config=Config(segment_bytes=200))
    log.append([produced(offset, 5, offset) for offset in range(10)], now_ms=0)
    assert len(names(disk, ".snapshot")) == len(log.segments) - 1
    log.remove_oldest(3, now_ms=0)
    first, *rest = log.segment_base_offsets
    assert [int(name[:20]) for name in names(disk, ".snapshot")] == [first, *rest]


def test_a_removed_log_takes_what_was_set_aside_with_it() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 20, CONFIG)
    aside = log.remove_oldest(1, now_ms=0)
    log.rename("orders-0.gone-delete")
    log.delete_files()
    aside.remove()
    assert disk.list_dir("") == []


def test_cleaned_segments_take_the_place_of_a_run() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 20, CONFIG)
    bases = log.segment_base_offsets
    aside = clean(log)
    assert log.segment_base_offsets == [0, *bases[2:]]
    assert offsets_read(log, 0) == [*KEPT, *range(bases[2], 20)]
    assert log.size_bytes == sum(segment.size_bytes for segment in log.segments)
    assert names(disk, ".swap") == names(disk, ".cleaned") == []
    assert len(names(disk, ".log.deleted")) == 2
    aside.remove()
    assert names(disk, ".deleted") == []
    assert log.append([batch(20)], now_ms=0) == 21


def test_the_active_segment_cannot_be_replaced() -> None:
    log = filled_log(MemoryDisk(), 20, CONFIG)
    with pytest.raises(AssertionError, match="active"):
        log.replace_segments(list(log.segments), [cleaned_segment(log)])


@pytest.mark.parametrize("power_cut", [False, True], ids=["killed", "power cut"])
def test_a_replacement_cut_at_any_operation_leaves_the_old_or_the_new_segments(
    *, power_cut: bool
) -> None:
    outcomes: set[bool] = set()
    count = 1
    while (disk := cut_at(count, power_cut=power_cut)) is not None:
        directory = PartitionFiles(LogDirFiles(disk), "orders-0")
        log = open_log(directory, CONFIG, KnownOffsets(), now_ms=0).log
        offsets = offsets_read(log, 0)
        old, new = list(range(20)), [*KEPT, *range(10, 20)]
        assert offsets in (old, new), f"cut at operation {count}"
        outcomes.add(offsets == new)
        count += 1
    assert count > 10
    assert outcomes == {True, False}


def cut_at(count: int, *, power_cut: bool) -> MemoryDisk | None:
    """The disk after a replacement failed at its ``count``-th operation; None when it ended."""
    memory = MemoryDisk()
    disk = faulty(memory)
    log = filled_log(disk, 20, CONFIG)
    assert log.segment_base_offsets[:3] == [0, 5, 10]
    log.flush()
    disk.sync_dir("")
    disk.set_fault("eio", from_nth=count)
    try:
        clean(log)
    except OSError:
        if power_cut:
            memory.power_cut()
        return memory
    return None


def test_what_was_set_aside_is_gone_after_a_start() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 20, CONFIG)
    log.remove_oldest(2, now_ms=0)
    directory = PartitionFiles(LogDirFiles(disk), "orders-0")
    opened = open_log(directory, CONFIG, KnownOffsets(), now_ms=0).log
    assert names(disk, ".deleted") == []
    assert opened.log_start_offset == log.log_start_offset
    assert offsets_read(opened, opened.log_start_offset) == list(range(10, 20))


def test_batches_after_a_removal_are_found_by_offset() -> None:
    log = filled_log(MemoryDisk(), 20, CONFIG)
    log.remove_oldest(1, now_ms=0)
    log.append(batches(20, 30), now_ms=0)
    log.truncate_to(22)
    assert offsets_read(log, log.log_start_offset) == list(range(5, 22))
