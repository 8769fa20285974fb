"""A log against a list: whatever happens, what is read is what the list says."""

from __future__ import annotations

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker.storage.checkpoints import parse_leader_epochs
from broker.storage.files import LogDirFiles
from broker.storage.log_recovery import KnownOffsets, open_log
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.segment_files import PartitionFiles
from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import iterate_batches
from tests.broker.storage.builders import (
    Config,
    batch,
    filled_log,
    log_on,
    offsets_read,
    produced,
)

NAME = "orders-0"
CONFIG = Config(segment_bytes=900)
SEEDS = st.integers(0, 2**16)


class LogAgainstList(RuleBasedStateMachine):
    """The model: batches as (base offset, next offset, bytes), the end, and what is durable."""

    @initialize()
    def create(self) -> None:
        self.disk = MemoryDisk()
        self.log = PartitionLog.create(LogDirFiles(self.disk), NAME, CONFIG, now_ms=0)
        self.disk.sync_dir("")
        self.model: list[tuple[int, int, bytes]] = []
        self.end = 0
        self.checkpointed = 0

    @rule(
        counts=st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), max_size=4),
        gap=st.integers(0, 3),
    )
    def append(self, counts: list[list[int]], gap: int) -> None:
        buffers: list[bytes] = []
        for group in counts:
            parts: list[bytes] = []
            for count in group:
                base = self.end + gap
                data = batch(base, count, size=random.Random(base).randrange(200))
                self.end = base + count
                self.model.append((base, self.end, data))
                parts.append(data)
            buffers.append(b"".join(parts))
        assert self.log.append(buffers, now_ms=0) == self.end

    @rule(seed=SEEDS)
    def truncate(self, seed: int) -> None:
        offset = random.Random(seed).randint(0, self.end)
        base = self.log.segment_base_offsets[0]
        self.log.truncate_to(offset)
        if offset < self.end:
            self.end = offset
            self.model = [entry for entry in self.model if entry[1] <= offset and offset >= base]
            self.checkpointed = min(self.checkpointed, offset)

    @rule(seed=SEEDS)
    def restart_elsewhere(self, seed: int) -> None:
        self.end = random.Random(seed).randint(0, 100)
        self.log.truncate_fully_and_start_at(self.end)
        self.model = []
        self.checkpointed = self.end

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.checkpointed = self.log.recovery_point
        assert self.checkpointed == self.end

    @rule()
    def flush_sealed(self) -> None:
        self.log.flush_sealed()
        self.checkpointed = self.log.recovery_point
        assert self.checkpointed <= self.end

    @rule()
    def reopen_after_a_clean_stop(self) -> None:
        self.log.close()
        self.checkpointed = self.end
        self.open(was_clean=True)

    @rule()
    def reopen_after_a_kill(self) -> None:
        self.disk.kill()
        self.open(was_clean=False)

    @rule(seed=SEEDS)
    def reopen_after_a_power_cut(self, seed: int) -> None:
        self.log.flush()
        self.checkpointed = durable = self.end
        for offset in range(self.end, self.end + 5):
            self.append([[1]], gap=0)
            assert self.end == offset + 1
        self.disk.power_cut(random.Random(seed))
        self.open(was_clean=False, whole_from=durable)
        assert self.log.log_end_offset >= max(
            (e[1] for e in self.model if e[1] <= durable), default=0
        )

    def open(self, *, was_clean: bool, whole_from: int | None = None) -> None:
        """Open the log again; it ends with its last batch (a truncation may have left a gap).

        ``whole_from`` is what a broker knows by its cleaner's checkpoint: nothing was compacted
        from there on, so that a hole is one. Without it a gap is as good as what compaction left.
        """
        known = KnownOffsets(
            recovery_point=self.checkpointed,
            log_start_offset=self.log.log_start_offset,
            was_clean=was_clean,
            whole_from=whole_from,
        )
        directory = PartitionFiles(LogDirFiles(self.disk), NAME)
        self.log = open_log(directory, CONFIG, known, now_ms=0).log
        self.end = self.log.log_end_offset
        self.model = [entry for entry in self.model if entry[1] <= self.end]
        self.checkpointed = min(self.checkpointed, self.end)

    @rule(seed=SEEDS)
    def read(self, seed: int) -> None:
        chance = random.Random(seed)
        offset = chance.randint(self.log.log_start_offset, self.end)
        max_bytes = chance.randrange(3000)
        up_to = chance.randint(offset, self.end)
        read = self.log.read(offset, max_bytes, up_to=up_to)
        wanted = [entry for entry in self.model if entry[1] > offset and entry[1] <= up_to]
        data = b"".join(bytes(buffer) for buffer in read.buffers)
        expected = b"".join(entry[2] for entry in wanted)
        assert expected.startswith(data)
        if wanted:
            assert len(data) >= len(wanted[0][2])
            assert len(data) <= max(max_bytes, len(wanted[0][2]))

    @rule(timestamp=st.integers(0, 200_000))
    def look_up(self, timestamp: int) -> None:
        found = self.log.offset_for_timestamp(timestamp)
        offsets = [offset for base, end, _ in self.model for offset in range(base, end)]
        later = [offset for offset in offsets if offset * 1000 >= timestamp]
        assert (found and found.offset) == (later[0] if later else None)

    @invariant()
    def everything_is_there(self) -> None:
        assert self.log.log_end_offset == self.end
        assert self.log.size_bytes == sum(len(data) for _, _, data in self.model)
        assert offsets_read(self.log, self.log.log_start_offset, 700) == [
            base for base, _, _ in self.model
        ]


TestLogAgainstList = LogAgainstList.TestCase
TestLogAgainstList.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, report_multiple_bugs=False
)


@pytest.mark.parametrize("seed", [6338, *range(20)])
def test_a_power_cut_that_keeps_a_new_empty_segment_leaves_no_hole(seed: int) -> None:
    """Of seed 6338 the disk keeps the segment at 6, and not the batches before it."""
    state = LogAgainstList()
    state.create()
    state.append(counts=[[1, 3]], gap=0)
    state.reopen_after_a_power_cut(seed)
    state.append(counts=[[1]], gap=0)
    held = offsets_read(state.log, 0)
    assert held == [entry[0] for entry in state.model]


def test_a_new_log_is_an_empty_directory_with_its_topic_id() -> None:
    disk = MemoryDisk()
    log = PartitionLog.create(
        LogDirFiles(disk), NAME, Config(), now_ms=0, topic_id=bytes(range(16))
    )
    assert disk.list_dir(NAME) == ["partition.metadata"]
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (0, 0, 0)
    assert log.read(0, 100).buffers == ()


def test_a_log_that_starts_elsewhere_says_so_on_disk() -> None:
    disk = MemoryDisk()
    log = PartitionLog.create(LogDirFiles(disk), NAME, Config(), now_ms=0, log_start_offset=42)
    assert disk.list_dir(NAME) == ["00000000000000000042.log"]
    assert log.append([batch(42)], now_ms=0) == 43


def test_two_logs_never_share_a_directory() -> None:
    disk = MemoryDisk()
    log_on(disk)
    with pytest.raises(FileExistsError):
        log_on(disk)


def test_an_empty_first_segment_is_replaced_when_the_first_offset_does_not_fit_it() -> None:
    disk = MemoryDisk()
    log = log_on(disk)
    log.append([batch(2**33)], now_ms=0)
    assert log.segment_base_offsets == [2**33]
    assert offsets_read(log, 0) == [2**33]


def test_offsets_that_go_back_are_a_broken_rule() -> None:
    log = filled_log(MemoryDisk(), 5)
    with pytest.raises(AssertionError):
        log.append([batch(3)], now_ms=0)
    with pytest.raises(AssertionError):
        log.append([batch(5)[:-1]], now_ms=0)


def test_offsets_outside_of_the_log_are_refused() -> None:
    log = filled_log(MemoryDisk(), 5)
    log.raise_log_start_offset(2)
    for offset in (1, 6):
        with pytest.raises(KafkaError) as caught:
            log.read(offset, 100)
        assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_damaged_segment_is_a_corrupt_message_and_no_failure_of_the_disk() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 5)
    disk.write_file(f"{NAME}/00000000000000000000.log", bytes(log.size_bytes))
    for ask in (lambda: log.read(3, 100), lambda: log.offset_for_timestamp(3000)):
        with pytest.raises(KafkaError) as caught:
            ask()
        assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("damage", [bytes(50), b"\xff" * 50], ids=["zeros", "ones"])
def test_a_read_that_begins_before_the_damage_and_ends_behind_it_is_a_corrupt_message(
    damage: bytes,
) -> None:
    """As a write that went elsewhere leaves it: a hole between batches that can be read."""
    disk = MemoryDisk()
    log = filled_log(disk, 5)
    name, size_bytes = f"{NAME}/00000000000000000000.log", log.size_bytes // 5
    content = bytearray(disk.read_file(name))
    content[2 * size_bytes : 2 * size_bytes + len(damage)] = damage
    disk.write_file(name, bytes(content))
    assert log.read(0, 2 * size_bytes).next_offset == 2
    with pytest.raises(KafkaError) as caught:
        log.read(0, 4 * size_bytes)
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.kafka_bug("KAFKA-15046", "KAFKA-16541")
def test_leader_epochs_are_replaced_whole_and_durable_with_the_next_flush() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 5)
    log.write_leader_epochs([(0, 0), (4, 3)])
    log.flush()
    disk.power_cut()
    content = disk.read_file(f"{NAME}/leader-epoch-checkpoint")
    assert parse_leader_epochs(content) == [(0, 0), (4, 3)]


@pytest.mark.scenario(72, 137)
def test_a_renamed_log_goes_on_under_its_new_name_and_keeps_its_small_files() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 30)
    log.write_partition_metadata(bytes(range(16)))
    log.rename("orders-0.x-future")
    log.append([batch(30)], now_ms=0)
    log.write_leader_epochs([(0, 0)])
    log.flush()
    disk.power_cut()
    assert disk.list_dir("") == ["orders-0.x-future"]
    assert disk.exists("orders-0.x-future/partition.metadata")
    assert offsets_read(log, 0) == list(range(31))


@pytest.mark.kafka_bug("KAFKA-15391", "KAFKA-19571")
@pytest.mark.scenario(72)
def test_a_deleted_log_writes_nothing_any_more() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 30)
    log.delete_files()
    log.flush()
    log.close()
    log.write_leader_epochs([(0, 0)])
    assert disk.list_dir("") == []


def test_closing_leaves_trimmed_indexes_and_a_snapshot_at_the_end() -> None:
    disk = MemoryDisk()
    log = log_on(disk)
    log.append([produced(0, 7, 0), produced(1, 7, 1)], now_ms=0)
    log.close()
    assert disk.list_dir(NAME) == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000002.snapshot",
    ]
    assert disk.size(f"{NAME}/00000000000000000002.snapshot") == 56


def test_an_empty_log_leaves_no_snapshot() -> None:
    disk = MemoryDisk()
    log_on(disk).close()
    assert [name for name in disk.list_dir(NAME) if name.endswith(".snapshot")] == []


def test_truncating_takes_producers_back_to_what_is_left() -> None:
    log = log_on(MemoryDisk(), config=Config(segment_bytes=300))
    for offset in range(10):
        log.append([produced(offset, 7, offset)], now_ms=0)
    log.truncate_to(4)
    assert [(entry.last_sequence, entry.last_offset) for entry in log.producer_entries] == [(3, 3)]
    log.truncate_fully_and_start_at(100)
    assert log.producer_entries == []


def test_groups_of_appends_make_the_same_files_as_single_ones() -> None:
    disks = [MemoryDisk(), MemoryDisk()]
    single, grouped = (log_on(disk, config=CONFIG) for disk in disks)
    parts = [batch(offset, size=offset % 7 * 30) for offset in range(60)]
    for part in parts:
        single.append([part], now_ms=0)
    for start in range(0, 60, 7):
        grouped.append(parts[start : start + 7], now_ms=0)
    for log in (single, grouped):
        log.close()
    names = disks[0].list_dir(NAME)
    assert names == disks[1].list_dir(NAME)
    for name in names:
        assert disks[0].read_file(f"{NAME}/{name}") == disks[1].read_file(f"{NAME}/{name}")


def test_sealed_segments_can_be_flushed_alone() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 30, CONFIG)
    log.flush_sealed()
    assert log.recovery_point == log.segment_base_offsets[-1]
    disk.power_cut()
    data = disk.read_file(f"{NAME}/00000000000000000000.log")
    assert next(iterate_batches(data))[1].base_offset == 0
    assert len(data) > 0


def test_flush_messages_makes_appends_durable_as_they_come() -> None:
    disk = MemoryDisk()
    log = log_on(disk, config=Config(flush_messages=3))
    disk.sync_dir("")
    for offset, point in ((0, 0), (1, 0), (2, 3), (3, 3)):
        log.append([batch(offset)], now_ms=0)
        assert log.recovery_point == point
    disk.power_cut()
    directory = PartitionFiles(LogDirFiles(disk), NAME)
    assert open_log(directory, CONFIG, KnownOffsets(), now_ms=0).log.log_end_offset == 3


def test_flush_ms_counts_from_the_last_flush_that_a_policy_asked_for() -> None:
    log = log_on(MemoryDisk(), config=Config(flush_ms=1_000))
    log.append([batch(0)], now_ms=500)
    log.flush_if_due(999)
    assert log.recovery_point == 0
    log.flush_if_due(1_000)
    assert log.recovery_point == 1
    log.append([batch(1)], now_ms=1_500)
    log.flush_if_due(1_999)
    assert log.recovery_point == 1
    log.flush_if_due(2_000)
    assert log.recovery_point == 2


def test_index_entries_of_a_seal_right_behind_the_recovery_point_become_durable() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 1)
    log.flush()
    log.roll(now_ms=0)
    assert log.has_sealed_to_sync
    assert log.needs_sync
    log.flush_sealed()
    assert not log.has_sealed_to_sync
    disk.power_cut()
    assert disk.size("orders-0/00000000000000000000.timeindex") > 0
