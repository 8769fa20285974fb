"""Producer snapshots of a log: which are kept, and what is read after them."""

from __future__ import annotations

from broker.core.producers import ProducerStates
from broker.storage.files import LogDirFiles
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.segment_files import PartitionFiles
from broker.storage.snapshots import Snapshots
from tests.broker.storage.builders import Config, produced


def producing_log(disk: MemoryDisk, end: int) -> PartitionLog:
    log = PartitionLog.create(
        LogDirFiles(disk), "t-0", Config(segment_bytes=300), now_ms=0, topic_id=bytes(16)
    )
    for offset in range(end):
        log.append([produced(offset, 7, offset)], now_ms=0)
    return log


def snapshot_offsets(disk: MemoryDisk) -> list[int]:
    return [int(name[:20]) for name in disk.list_dir("t-0") if name.endswith(".snapshot")]


def test_every_roll_takes_a_snapshot_before_its_first_batch() -> None:
    disk = MemoryDisk()
    log = producing_log(disk, 10)
    assert snapshot_offsets(disk) == log.segment_base_offsets[1:]


def test_only_snapshots_of_segments_and_the_newest_are_kept() -> None:
    disk = MemoryDisk()
    disk.make_dir("t-0")
    directory = PartitionFiles(LogDirFiles(disk), "t-0")
    log_snapshots = Snapshots(directory)
    producers = ProducerStates()
    for offset in (3, 5, 8, 20):
        log_snapshots.take(offset, producers)
    log_snapshots.keep_of_segments([0, 5, 10])
    assert log_snapshots.offsets == snapshot_offsets(disk) == [5, 20]
    log_snapshots.remove_above(5)
    assert log_snapshots.offsets == [5]


def test_loading_takes_the_newest_good_snapshot_and_what_was_written_after_it() -> None:
    disk = MemoryDisk()
    log = producing_log(disk, 10)
    newest, older = snapshot_offsets(disk)[-1], snapshot_offsets(disk)[-2]
    snapshots = Snapshots(PartitionFiles(LogDirFiles(disk), "t-0"), snapshot_offsets(disk))
    assert snapshots.load(log.segments, 10).snapshot_entries() == log.producer_entries
    disk.write_file(f"t-0/{newest:020d}.snapshot", b"damaged")
    assert snapshots.load(log.segments, 10).snapshot_entries() == log.producer_entries
    assert snapshot_offsets(disk)[-1] == older


def test_loading_without_any_snapshot_reads_the_whole_log() -> None:
    disk = MemoryDisk()
    log = producing_log(disk, 10)
    snapshots = Snapshots(PartitionFiles(LogDirFiles(disk), "t-0"))
    assert snapshots.load(log.segments, 10).snapshot_entries() == log.producer_entries
