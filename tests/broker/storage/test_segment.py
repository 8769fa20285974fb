"""One segment: its indexes on disk and in memory, locating, cutting, rebuilding."""

from __future__ import annotations

import random
import struct

import pytest

from broker.storage.batch_scan import CorruptBatch
from broker.storage.files import LogDirFiles
from broker.storage.indexes import AbortedTransaction, OffsetIndex, TimestampOffset
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.segment import Segment
from broker.storage.segment_files import PartitionFiles
from protocol.records.batch import iterate_batches, stamp
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_end_marker
from protocol.records.records import ControlRecordType
from tests.broker.storage import test_log_recovery as recovery
from tests.broker.storage.builders import Config, batch, batches, log_on

NAME = "t-0/00000000000000000000"


@pytest.fixture
def disk() -> MemoryDisk:
    made = MemoryDisk()
    made.make_dir("t-0")
    return made


def segment_on(disk: MemoryDisk, base_offset: int = 0, config: Config | None = None) -> Segment:
    directory = PartitionFiles(LogDirFiles(disk), "t-0")
    return Segment(directory, base_offset, config or Config(), created_ms=0)


def write(segment: Segment, *parts: bytes) -> None:
    for part in parts:
        for position, header in iterate_batches(part):
            segment.note(header, segment.size_bytes + position)
        segment.append([part])


def reopened(disk: MemoryDisk) -> Segment:
    segment = segment_on(disk)
    segment.open_existing(disk.size(f"{NAME}.log"))
    return segment


def test_an_index_entry_is_made_when_more_than_the_interval_was_written(disk: MemoryDisk) -> None:
    segment = segment_on(disk)
    size = len(batch(0))
    write(segment, *batches(0, 6))
    # 256 bytes are passed after the second batch of 173 bytes, so every third one is indexed.
    index = segment.offset_index
    entries = [index.entry(number) for number in range(len(index))]
    assert entries == [(2, 2 * size), (4, 4 * size)]
    times = segment.time_index
    assert [times.entry(number) for number in range(len(times))] == [(2000, 2), (4000, 4)]


def test_sealing_writes_both_indexes_with_the_last_timestamp(disk: MemoryDisk) -> None:
    segment = segment_on(disk)
    write(segment, *batches(0, 4))
    assert not disk.exists(f"{NAME}.index")
    segment.seal()
    assert disk.size(f"{NAME}.index") == 8
    assert disk.size(f"{NAME}.timeindex") == 24
    assert segment.time_index.last == TimestampOffset(3000, 3)


def test_every_offset_is_located_also_in_gaps_and_inside_batches(disk: MemoryDisk) -> None:
    segment = segment_on(disk)
    write(segment, batch(0, 5), batch(5, 5), batch(20, 5))
    located = {offset: segment.locate(offset) for offset in (0, 4, 5, 12, 22, 24, 25)}
    starts = {offset: found and found[1].base_offset for offset, found in located.items()}
    assert starts == {0: 0, 4: 0, 5: 5, 12: 20, 22: 20, 24: 20, 25: None}
    assert segment.position_of(25) == segment.size_bytes
    assert segment_on(MemoryDisk()).locate(0) is None


def test_a_reopened_segment_reads_its_indexes_when_needed(disk: MemoryDisk) -> None:
    segment = segment_on(disk)
    write(segment, *batches(0, 20))
    segment.seal()
    again = reopened(disk)
    assert again.position_of(17) == segment.position_of(17)
    assert again.offset_index.entries == segment.offset_index.entries
    assert again.first_timestamp() == 0


DAMAGES = ["missing", "torn", "preallocated", "beyond", "garbage", "astray", "another's", "below"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_rebuilt_from_the_batches(disk: MemoryDisk, damage: str) -> None:
    segment = segment_on(disk)
    write(segment, *batches(0, 20))
    segment.seal()
    good = {suffix: disk.read_file(NAME + suffix) for suffix in (".index", ".timeindex")}
    beyond = OffsetIndex(0)
    beyond.append(5, 1 << 20)
    content = {
        "torn": good[".index"][:-3],
        "preallocated": good[".index"] + bytes(4096 - len(good[".index"])),
        "beyond": bytes(beyond.entries),
        "garbage": b"\xff" * 16,
        "astray": struct.pack(">ii", 5, 77),
        "another's": struct.pack(">ii", 3, disk.size(f"{NAME}.log") // 2),
        "below": struct.pack(">ii", -2, 0),
    }
    if damage == "missing":
        disk.remove(f"{NAME}.index")
    else:
        disk.write_file(f"{NAME}.index", content[damage])
    again = reopened(disk)
    assert again.position_of(17) == segment.position_of(17)
    assert {suffix: disk.read_file(NAME + suffix) for suffix in good} == good


def test_appends_go_on_after_a_reopening_as_if_it_had_not_been(disk: MemoryDisk) -> None:
    straight = segment_on(MemoryDisk())
    straight.directory.files.disk.make_dir("t-0")
    write(straight, *batches(0, 30))
    segment = segment_on(disk)
    write(segment, *batches(0, 17))
    segment.write_indexes()
    again = reopened(disk)
    assert again.restore_tail() == 17
    write(again, *batches(17, 30))
    again.write_indexes()
    assert again.offset_index.entries == straight.offset_index.entries
    assert again.time_index.entries == straight.time_index.entries
    assert disk.read_file(f"{NAME}.index") == bytes(straight.offset_index.entries)


def test_truncation_cuts_file_and_indexes_at_a_batch(disk: MemoryDisk) -> None:
    segment = segment_on(disk)
    write(segment, batch(0, 5), batch(5, 5), batch(10, 5), batch(15, 5))
    segment.append_aborted(AbortedTransaction(1, 0, 4, 5))
    segment.append_aborted(AbortedTransaction(1, 5, 12, 13))
    segment.truncate_to(12)
    assert disk.size(f"{NAME}.log") == segment.size_bytes == len(batch(0, 5)) * 2
    assert segment.restore_tail() == 10
    assert segment.largest_timestamp == TimestampOffset(9000, 9)
    assert [found.last_offset for found in segment.aborted_transactions()] == [4]
    write(segment, batch(12))
    assert segment.locate(12) == (len(batch(0, 5)) * 2, next(iterate_batches(batch(12)))[1])


def test_a_rebuild_stops_at_damage_and_keeps_what_is_before(disk: MemoryDisk) -> None:
    segment = segment_on(disk)
    write(segment, *batches(0, 10))
    damaged = bytearray(disk.read_file(f"{NAME}.log"))
    size = len(batch(0))
    damaged[7 * size + 100] ^= 1
    disk.write_file(f"{NAME}.log", bytes(damaged))
    again = reopened(disk)
    with pytest.raises(CorruptBatch) as caught:
        again.rebuild(again.size_bytes, verify=True)
    assert caught.value.position == 7 * size
    again.cut_file(7 * size)
    assert again.restore_tail() == 7


def test_offsets_that_go_back_or_pass_int32_are_damage(disk: MemoryDisk) -> None:
    for second in (batch(0), batch(2**31)):
        disk.write_file(f"{NAME}.log", batch(0) + second)
        again = reopened(disk)
        with pytest.raises(CorruptBatch) as caught:
            again.rebuild(again.size_bytes, verify=True)
        assert caught.value.position == len(batch(0))


@pytest.mark.parametrize("bit", [61, 31, 5])
def test_a_base_offset_that_was_misread_names_no_largest_timestamp(
    disk: MemoryDisk, bit: int
) -> None:
    """Seed 1069005: a cut log could not be closed, as its time index cannot hold 2**61."""
    segment = segment_on(disk)
    write(segment, *batches(0, 2))
    segment.write_indexes()
    disk.write_file(f"{NAME}.log", batch(0) + batch(1 | 1 << bit, timestamp=1000))
    again = reopened(disk)
    again.restore_tail(below=2 if bit < 31 else None)
    again.seal()
    assert again.largest_timestamp.offset == 0


def test_a_full_index_takes_no_more_entries(disk: MemoryDisk) -> None:
    segment = segment_on(disk, config=Config(index_interval_bytes=1, segment_index_bytes=48))
    write(segment, *batches(0, 20))
    assert segment.index_is_full()
    segment.seal()
    assert disk.size(f"{NAME}.timeindex") <= 48
    assert segment.locate(19) is not None


def test_deleting_removes_every_file_of_the_segment(disk: MemoryDisk) -> None:
    segment = segment_on(disk)
    write(segment, *batches(0, 5))
    segment.append_aborted(AbortedTransaction(1, 0, 4, 5))
    segment.seal()
    segment.sync()
    assert len(disk.list_dir("t-0")) == 4
    segment.delete()
    assert disk.list_dir("t-0") == []


def test_unloaded_indexes_come_back(disk: MemoryDisk) -> None:
    segment = segment_on(disk)
    write(segment, *batches(0, 20))
    segment.seal()
    before = segment.position_of(13)
    segment.unload()
    assert segment.position_of(13) == before


@pytest.mark.parametrize("interval_bytes", [1, 4096])
def test_damage_where_a_segment_shall_end_is_cut_off(disk: MemoryDisk, interval_bytes: int) -> None:
    """Seed 981218: a disk had written batch 10 elsewhere, and the replica was fetched no more."""
    segment = segment_on(disk, config=Config(index_interval_bytes=interval_bytes))
    write(segment, *batches(0, 20))
    position = segment.position_of(10)
    data = bytearray(disk.read_file(f"{NAME}.log"))
    data[position : segment.position_of(11)] = bytes(segment.position_of(11) - position)
    disk.write_file(f"{NAME}.log", bytes(data))
    segment.truncate_to(10)
    assert (segment.size_bytes, segment.restore_tail()) == (position, 10)


def transactional_log(disk: MemoryDisk) -> PartitionLog:
    """Two segments, an aborted transaction in each."""
    log = log_on(disk, config=recovery.CONFIG)
    for first in (0, 6):
        open_one = BatchOptions(
            base_offset=first,
            leader_epoch=0,
            producer_id=7,
            producer_epoch=0,
            base_sequence=first,
            is_transactional=True,
        )
        marker = build_end_marker(
            ControlRecordType.ABORT,
            producer_id=7,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp_ms=1,
        )
        stamp(marker, 0, base_offset=first + 1, leader_epoch=0)
        transaction = [bytes(build_batch([NewRecord(b"v")], open_one)), bytes(marker)]
        log.append([*transaction, *batches(first + 2, first + 6)], now_ms=0)
    return log


@pytest.mark.parametrize("damage", [b"\x00\x07" + bytes(32), bytes(33), b""])
def test_a_damaged_transaction_index_is_read_from_the_log_again(damage: bytes) -> None:
    disk = MemoryDisk()
    log = transactional_log(disk)
    expected = log.aborted_transactions(0, 12)
    assert [one.first_offset for one in expected] == [0, 6]
    last = max(name for name in disk.list_dir(recovery.NAME) if name.endswith(".txnindex"))
    log.close()
    if damage:
        disk.write_file(f"{recovery.NAME}/{last}", damage)
    assert (
        recovery.reopen(disk, was_clean=1, recovery_point=12).log.aborted_transactions(0, 12)
        == expected
    )


@pytest.mark.parametrize("chance", range(8))
@pytest.mark.parametrize("damage", [b"", bytes(34)])
def test_a_recovery_leaves_no_transaction_index_to_a_power_cut(damage: bytes, chance: int) -> None:
    """Seed 986131: what is durable already no recovery or flush looks at again."""
    disk = MemoryDisk()
    log = transactional_log(disk)
    expected = log.aborted_transactions(0, 12)
    log.flush()
    last = max(name for name in disk.list_dir(recovery.NAME) if name.endswith(".txnindex"))
    if damage:
        disk.write_file(f"{recovery.NAME}/{last}", damage)
    recovery.reopen(disk, recovery_point=12)
    disk.power_cut(random.Random(chance))
    assert (
        recovery.reopen(disk, was_clean=1, recovery_point=12).log.aborted_transactions(0, 12)
        == expected
    )
