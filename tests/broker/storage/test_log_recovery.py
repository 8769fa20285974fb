"""Opening one log after everything that can have happened to its files."""

from __future__ import annotations

import pytest

from broker.core.producer_entry import Duplicate
from broker.storage.faults import FaultyDisk
from broker.storage.files import LogDirFiles
from broker.storage.log_recovery import KnownOffsets, OpenedLog, open_log
from broker.storage.memory_disk import MemoryDisk
from broker.storage.segment_files import PartitionFiles
from protocol.errors import KafkaError
from protocol.faults.model import FileClass
from protocol.ports import Disk
from protocol.records.batch import HEADER_SIZE_BYTES, Compression, read_batch_header
from protocol.records.build import NewRecord
from protocol.records.build_message_set import MessageSetOptions, build_message_set
from tests.broker.storage.builders import (
    BitsInTurn,
    Config,
    OneBit,
    batch,
    batches,
    filled_log,
    log_on,
    offsets_read,
    produced,
)

NAME = "orders-0"
FIRST = f"{NAME}/00000000000000000000.log"
CONFIG = Config(segment_bytes=900)
SIZE = len(batch(0))


def reopen(disk: Disk, **known: int) -> OpenedLog:
    offsets = KnownOffsets(
        recovery_point=known.get("recovery_point", 0),
        log_start_offset=known.get("log_start_offset", 0),
        was_clean=bool(known.get("was_clean", 0)),
    )
    return open_log(PartitionFiles(LogDirFiles(disk), NAME), CONFIG, offsets, now_ms=0)


def corrupt(disk: MemoryDisk, name: str, position: int) -> None:
    data = bytearray(disk.read_file(name))
    data[position] ^= 1
    disk.write_file(name, bytes(data))


@pytest.fixture
def disk() -> MemoryDisk:
    """Twelve batches in three segments, closed cleanly."""
    made = MemoryDisk()
    log = filled_log(made, 12, CONFIG)
    assert log.segment_base_offsets == [0, 5, 10]
    log.write_leader_epochs([(0, 0)])
    log.close()
    return made


def test_a_clean_log_is_taken_as_it_is(disk: MemoryDisk) -> None:
    opened = reopen(disk, was_clean=1, recovery_point=12)
    assert offsets_read(opened.log, 0) == list(range(12))
    assert opened.log.recovery_point == 12
    # Its dir was closed, it was not: a move was about to leave it (seed 780281).
    assert reopen(disk, was_clean=1).log.recovery_point == 0
    assert opened.leader_epochs == [(0, 0)]


def test_a_directory_without_any_file_is_an_empty_log(disk: MemoryDisk) -> None:
    disk.remove_tree(NAME)
    disk.make_dir(NAME)
    log = reopen(disk, log_start_offset=7).log
    assert (log.log_start_offset, log.log_end_offset) == (7, 7)
    assert log.append([batch(7)], now_ms=0) == 8


@pytest.mark.scenario(40)
def test_the_first_bad_batch_behind_the_recovery_point_ends_the_log(disk: MemoryDisk) -> None:
    corrupt(disk, f"{NAME}/00000000000000000005.log", SIZE * 2 + 80)
    log = reopen(disk, recovery_point=6).log
    assert log.log_end_offset == 7
    assert log.segment_base_offsets == [0, 5]
    assert log.recovery_point == 6
    assert [name for name in disk.list_dir(NAME) if name.startswith("00000000000000000010")] == []
    assert offsets_read(log, 0) == list(range(7))
    assert log.append([batch(7)], now_ms=0) == 8


@pytest.mark.scenario(40)
def test_what_is_before_the_recovery_point_is_not_read_again(disk: MemoryDisk) -> None:
    corrupt(disk, FIRST, SIZE + 80)
    assert reopen(disk, recovery_point=6).log.log_end_offset == 12
    assert reopen(disk, recovery_point=0).log.log_end_offset == 1


@pytest.mark.parametrize("cut_bytes", [1, 40, SIZE - 1])
def test_a_torn_tail_is_cut(disk: MemoryDisk, cut_bytes: int) -> None:
    last = f"{NAME}/00000000000000000010.log"
    disk.open(last, create=False).append([batch(12)[:cut_bytes]])
    log = reopen(disk, recovery_point=12).log
    assert log.log_end_offset == 12
    assert disk.size(last) == 2 * SIZE


def test_damage_that_a_clean_marker_hides_is_recovered_all_the_same(disk: MemoryDisk) -> None:
    disk.open(f"{NAME}/00000000000000000010.log", create=False).append([b"garbage"])
    assert reopen(disk, was_clean=1).log.log_end_offset == 12


@pytest.mark.parametrize("kept", [(), ("index",), ("timeindex",), ("index", "timeindex")])
def test_index_files_that_the_active_segment_lacks_come_with_its_next_flush(
    disk: MemoryDisk, kept: tuple[str, ...]
) -> None:
    """Thousands of logs that were never flushed are opened without making a file in each."""
    names = [name for name in disk.list_dir(NAME) if name.endswith("index")]
    before = {name: disk.read_file(f"{NAME}/{name}") for name in names}
    assert len(before) == 6
    for name in names:
        if name.partition(".")[2] in kept:
            disk.write_file(f"{NAME}/{name}", b"stale")
        else:
            disk.remove(f"{NAME}/{name}")
    log = reopen(disk).log
    made = [name for name in disk.list_dir(NAME) if name.endswith("index")]
    is_active = "00000000000000000010".__eq__
    assert {name.partition(".")[2] for name in made if is_active(name[:20])} == set(kept)
    assert len([name for name in made if not is_active(name[:20])]) == 4
    log.append([batch(12)], now_ms=0)
    log.flush()
    log.close()
    for name in names:
        data = disk.read_file(f"{NAME}/{name}")
        assert data.startswith(before[name]), name
    assert offsets_read(reopen(disk, was_clean=1).log, 0) == list(range(13))


def test_lost_indexes_are_built_again(disk: MemoryDisk) -> None:
    names = [name for name in disk.list_dir(NAME) if name.endswith("index")]
    before = {name: disk.read_file(f"{NAME}/{name}") for name in names}
    for name in names:
        disk.remove(f"{NAME}/{name}")
    log = reopen(disk, recovery_point=0).log
    log.close()
    assert {name: disk.read_file(f"{NAME}/{name}") for name in names} == before


def test_indexes_without_a_segment_are_removed(disk: MemoryDisk) -> None:
    disk.write_file(f"{NAME}/00000000000000000099.index", b"")
    disk.write_file(f"{NAME}/00000000000000000099.timeindex", b"")
    reopen(disk, was_clean=1)
    assert not any(name.startswith("00000000000000000099") for name in disk.list_dir(NAME))


@pytest.mark.scenario(39)
def test_files_that_were_being_deleted_cleaned_or_written_are_removed(disk: MemoryDisk) -> None:
    left = [
        "00000000000000000000.log.deleted",
        "00000000000000000005.log.cleaned",
        "00000000000000000005.log.swap",
        "leader-epoch-checkpoint.tmp",
    ]
    for name in left:
        disk.write_file(f"{NAME}/{name}", b"")
    log = reopen(disk, was_clean=1).log
    assert not set(left) & set(disk.list_dir(NAME))
    assert offsets_read(log, 0) == list(range(12))


@pytest.mark.scenario(39)
def test_a_finished_compaction_replaces_the_segments_that_it_covers(disk: MemoryDisk) -> None:
    disk.write_file(f"{NAME}/00000000000000000000.log.swap", batch(2) + batch(9))
    disk.write_file(f"{NAME}/00000000000000000000.index.swap", b"")
    disk.write_file(f"{NAME}/00000000000000000000.timeindex.swap", b"")
    log = reopen(disk, was_clean=1).log
    assert log.segment_base_offsets == [0, 10]
    assert offsets_read(log, 0) == [2, 9, 10, 11]


def test_a_log_that_ends_before_its_start_begins_anew_there(disk: MemoryDisk) -> None:
    log = reopen(disk, log_start_offset=40).log
    assert (log.log_start_offset, log.log_end_offset) == (40, 40)
    assert log.segment_base_offsets == [40]


@pytest.mark.parametrize("damage", ["missing", "garbage", "empty"])
def test_lost_leader_epochs_are_read_from_the_batches(damage: str) -> None:
    disk = MemoryDisk()
    log = log_on(disk, config=CONFIG)
    log.append([*batches(0, 4), *batches(4, 6, epoch=2), *batches(6, 9, epoch=5)], now_ms=0)
    log.write_leader_epochs([(0, 0), (2, 4), (5, 6)])
    log.close()
    name = f"{NAME}/leader-epoch-checkpoint"
    disk.remove(name)
    if damage != "missing":
        disk.write_file(name, b"garbage" if damage == "garbage" else b"")
    assert reopen(disk, was_clean=1).leader_epochs == [(0, 0), (2, 4), (5, 6)]
    assert disk.read_file(name) == b"0\n3\n0 0\n2 4\n5 6\n"


def test_epochs_are_brought_into_the_bounds_of_the_log(disk: MemoryDisk) -> None:
    disk.write_file(f"{NAME}/leader-epoch-checkpoint", b"0\n4\n0 0\n1 3\n2 6\n9 12\n")
    opened = reopen(disk, was_clean=1, log_start_offset=4)
    assert opened.leader_epochs == [(1, 4), (2, 6)]


def test_epochs_of_batches_that_no_checkpoint_knows_are_added() -> None:
    disk = MemoryDisk()
    log = log_on(disk, config=CONFIG)
    log.write_leader_epochs([(0, 0)])
    log.append([*batches(0, 3), *batches(3, 5, epoch=7)], now_ms=0)
    assert reopen(disk).leader_epochs == [(0, 0), (7, 3)]


def test_producers_come_back_after_a_kill_and_after_a_clean_stop() -> None:
    disk = MemoryDisk()
    log = log_on(disk, config=CONFIG)
    log.append([produced(offset, 7, offset) for offset in range(30)], now_ms=0)
    expected = log.producer_entries
    assert [entry.last_sequence for entry in expected] == [29]
    assert reopen(disk, recovery_point=20).producers.snapshot_entries() == expected
    reopen(disk).log.close()
    opened = reopen(disk, was_clean=1)
    assert opened.producers.snapshot_entries() == opened.log.producer_entries == expected


def test_after_a_kill_the_last_five_batches_of_the_active_segment_are_known() -> None:
    disk = MemoryDisk()
    log = log_on(disk)
    log.append([produced(offset, 7, offset) for offset in range(8)], now_ms=0)
    producers = reopen(disk).producers
    for offset in range(3, 8):
        again = read_batch_header(produced(offset, 7, offset))
        assert producers.check(again) == Duplicate(offset, offset, again.max_timestamp)
    with pytest.raises(KafkaError):
        producers.check(read_batch_header(produced(2, 7, 2)))


def test_recovery_drops_snapshots_of_what_was_cut() -> None:
    disk = MemoryDisk()
    log = log_on(disk, config=Config(segment_bytes=300))
    log.append([produced(offset, 7, offset) for offset in range(12)], now_ms=0)
    corrupt(disk, FIRST, 62)
    opened = reopen(disk)
    assert opened.log.log_end_offset == 0
    assert opened.producers.snapshot_entries() == []
    assert [name for name in disk.list_dir(NAME) if name.endswith(".snapshot")] == []


def old_messages() -> list[bytes]:
    """Entries of all formats with the offsets 0 to 11: messages, wrappers, then batches."""
    records = [NewRecord(b"value %d" % at, timestamp_ms=1000 * at) for at in range(3)]
    entries: list[bytes] = []
    for at, (magic, codec) in enumerate(
        [(0, Compression.NONE), (0, Compression.GZIP), (1, Compression.SNAPPY)]
    ):
        options = MessageSetOptions(magic=magic, base_offset=3 * at, compression=codec)
        entries.append(bytes(build_message_set(records, options)))
    return [*entries, *batches(9, 12, epoch=3)]


@pytest.mark.parametrize("was_clean", [0, 1])
def test_a_log_that_old_brokers_began_is_opened_whole(was_clean: int) -> None:
    disk = MemoryDisk()
    disk.make_dir(NAME)
    disk.write_file(FIRST, b"".join(old_messages()))
    opened = reopen(disk, was_clean=was_clean)
    assert (opened.log.log_end_offset, opened.leader_epochs) == (12, [(3, 9)])
    stored = b"".join(bytes(one) for one in opened.log.read(0, 10_000).buffers)
    assert stored == b"".join(old_messages())
    assert opened.log.append([batch(12, epoch=3)], now_ms=0) == 13


def test_a_read_may_begin_inside_a_wrapper_and_behind_it() -> None:
    disk = MemoryDisk()
    disk.make_dir(NAME)
    disk.write_file(FIRST, b"".join(old_messages()))
    log = reopen(disk).log
    (from_inside,) = log.read(4, 1, min_one=True).buffers
    assert bytes(from_inside) == old_messages()[1]
    found = log.offset_for_timestamp(1500)
    assert found is not None
    assert found.offset == 8


def test_a_bad_sum_in_an_old_message_ends_the_log_there() -> None:
    disk = MemoryDisk()
    disk.make_dir(NAME)
    disk.write_file(FIRST, b"".join(old_messages()))
    corrupt(disk, FIRST, len(old_messages()[0]) + 40)
    assert reopen(disk).log.log_end_offset == 3


def test_producers_of_segments_that_are_gone_survive_a_recovery_from_the_first_one() -> None:
    disk = MemoryDisk()
    log = log_on(disk, config=CONFIG)
    log.append([produced(0, 7, 0), *batches(1, 12)], now_ms=0)
    second = log.segment_base_offsets[1]
    log.remove_oldest(1, now_ms=0).remove()
    assert log.segment_base_offsets[0] == second
    opened = reopen(disk, log_start_offset=second)
    assert [entry.producer_id for entry in opened.producers.snapshot_entries()] == [7]


def test_old_segments_that_came_back_behind_a_cut_log_are_dropped() -> None:
    disk = MemoryDisk()
    filled_log(disk, 12, CONFIG).close()
    other = MemoryDisk()
    cut = log_on(other, config=CONFIG)
    cut.append([*batches(0, 3), *batches(3, 5, epoch=1)], now_ms=0)
    disk.write_file(FIRST, other.read_file(FIRST))
    opened = reopen(disk)
    assert opened.log.log_end_offset == 5
    assert opened.leader_epochs == [(0, 0), (1, 3)]
    assert opened.log.segment_base_offsets == [0, 5]


def test_snapshots_behind_the_recovery_point_are_taken_anew() -> None:
    disk = MemoryDisk()
    log = log_on(disk, config=Config(segment_bytes=300))
    log.append([produced(offset, 7, offset) for offset in range(12)], now_ms=0)
    log.close()
    names = [name for name in disk.list_dir(NAME) if name.endswith(".snapshot")]
    first = disk.read_file(f"{NAME}/{names[0]}")
    for name in names[1:]:
        disk.write_file(f"{NAME}/{name}", first)
    opened = reopen(disk)
    assert [entry.last_sequence for entry in opened.producers.snapshot_entries()] == [11]
    assert disk.read_file(f"{NAME}/{names[1]}") != first


@pytest.mark.parametrize("byte", range(SIZE, 2 * SIZE))
def test_a_bit_that_is_misread_once_costs_no_record(disk: MemoryDisk, byte: int) -> None:
    """In the second batch of five: base offset and leader epoch lie outside of its CRC."""
    faulty = FaultyDisk(disk, chance=OneBit(8 * byte + 7))
    rule = faulty.set_fault("bit_flip", files=(FileClass.LOG,), times=1)
    opened = reopen(faulty)
    assert rule.hits == 1
    assert opened.log.log_end_offset == 12
    assert offsets_read(opened.log, 0) == list(range(12))
    assert opened.leader_epochs == [(0, 0)]


@pytest.mark.parametrize(("was_clean", "read", "at"), [(0, 1, 2 * SIZE), (1, 1, 0), (1, 2, 0)])
def test_a_misread_header_of_the_last_batch_moves_no_end(was_clean: int, read: int, at: int):
    """No batch behind it tells that its base offset or leader epoch is another (seed 756138)."""
    for bit in range(8 * at, 8 * (at + HEADER_SIZE_BYTES)):
        made = MemoryDisk()
        filled_log(made, 3, CONFIG).close()
        faulty = FaultyDisk(made, chance=OneBit(bit))
        rule = faulty.set_fault("bit_flip", files=(FileClass.LOG,), from_nth=read, times=1)
        opened = reopen(faulty, was_clean=was_clean, recovery_point=3 * was_clean)
        assert rule.hits == 1
        assert (opened.log.log_end_offset, opened.leader_epochs) == (3, [(0, 0)]), bit


@pytest.mark.parametrize("read", [1, 3])
def test_a_log_that_is_cut_ends_behind_the_batches_that_were_checked(read: int) -> None:
    """Seed 982169: the base offset of the last one was misread once it was cut."""
    made = MemoryDisk()
    filled_log(made, 3, CONFIG).close()
    corrupt(made, FIRST, 3 * SIZE - 1)
    faulty = FaultyDisk(made, chance=OneBit(8 * (SIZE + 3) + 1))
    faulty.set_fault("bit_flip", files=(FileClass.LOG,), from_nth=read, times=1)
    opened = reopen(faulty)
    assert (opened.log.log_end_offset, opened.log.size_bytes) == (2, 2 * SIZE)


@pytest.mark.parametrize("read", [1, 3, 4, 5])
def test_a_misread_header_before_damage_moves_no_end(read: int) -> None:
    """Seed 1111269: a log ended at 1048578, as nothing whole stood behind a misread batch."""
    for bit in range(8 * SIZE, 8 * (SIZE + HEADER_SIZE_BYTES)):
        made = MemoryDisk()
        filled_log(made, 3, CONFIG).close()
        corrupt(made, FIRST, 3 * SIZE - 1)
        faulty = FaultyDisk(made, chance=OneBit(bit))
        faulty.set_fault("bit_flip", files=(FileClass.LOG,), from_nth=read, times=1)
        opened = reopen(faulty)
        assert (opened.log.log_end_offset, opened.log.size_bytes) == (2, 2 * SIZE), bit
        assert opened.leader_epochs == [(0, 0)], bit


def test_what_is_misplaced_on_the_disk_is_cut_after_a_second_look(disk: MemoryDisk) -> None:
    corrupt(disk, FIRST, 4)
    assert reopen(disk).log.size_bytes == SIZE


def test_two_looks_that_complain_of_different_batches_cut_nothing(disk: MemoryDisk) -> None:
    """Seed 1042598: each misread another base offset, and the second was believed."""
    bits = (8 * (SIZE + 3) + 1, 8 * (2 * SIZE + 6) + 1)
    faulty = FaultyDisk(disk, chance=BitsInTurn(bits))
    rule = faulty.set_fault("bit_flip", files=(FileClass.LOG,), times=2)
    opened = reopen(faulty)
    assert rule.hits == 2
    assert offsets_read(opened.log, 0) == list(range(12))
