"""What a flush syncs, and what it need not."""

from __future__ import annotations

from broker.core.producers import ProducerStates
from broker.storage.files import LogDirFiles
from broker.storage.log_segments import LogSegments
from broker.storage.log_sync import LogSync
from broker.storage.memory_disk import MemoryDisk
from broker.storage.segment import Segment
from broker.storage.segment_files import PartitionFiles
from broker.storage.snapshots import Snapshots
from tests.broker.storage.builders import Config


def three_segments() -> tuple[MemoryDisk, LogSegments, LogSync]:
    disk = MemoryDisk()
    disk.make_dir("t-0")
    directory = PartitionFiles(LogDirFiles(disk), "t-0")
    segments = [Segment(directory, base, Config(), created_ms=0) for base in (0, 10, 20)]
    for segment in segments:
        segment.file()
    log = LogSegments(directory, segments, ProducerStates(), Snapshots(directory))
    return disk, log, LogSync(directory, 0)


def durable(disk: MemoryDisk) -> list[str]:
    disk.power_cut()
    return [name for name in disk.list_dir("t-0") if name.endswith(".log")]


def test_only_segments_behind_the_recovery_point_are_synced() -> None:
    disk, log, sync = three_segments()
    sync.flush(log.segments, 3, 30)
    before = disk.operations_count
    sync.flush(log.segments, 3, 30)
    assert disk.operations_count == before
    assert sync.recovery_point == 30
    assert len(durable(disk)) == 3


def test_the_active_segment_can_be_left_out() -> None:
    _, log, sync = three_segments()
    sync.flush(log.segments, 2, 20)
    assert sync.recovery_point == 20


def test_a_cut_makes_the_next_flush_sync_up_to_the_end() -> None:
    _, log, sync = three_segments()
    sync.flush(log.segments, 3, 30)
    sync.cut(25)
    assert sync.recovery_point == 25
    assert sync.is_due
    sync.flush(log.segments, 2, 20)
    assert sync.is_due
    sync.flush(log.segments, 3, 25)
    assert not sync.is_due


def test_a_synced_file_system_leaves_nothing_to_do() -> None:
    disk, log, sync = three_segments()
    sync.cut(0)
    sync.synced(30)
    before = disk.operations_count
    sync.flush(log.segments, 3, 30)
    assert disk.operations_count == before
