"""Leader epochs of a log whose file is lost, damaged, or of another age than the batches."""

from __future__ import annotations

import pytest

from broker.storage.files import LogDirFiles
from broker.storage.log_recovery import KnownOffsets, open_log
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.segment_files import PartitionFiles
from tests.broker.storage.builders import Config, batches, log_on

NAME = "orders-0"
FILE = f"{NAME}/leader-epoch-checkpoint"
CONFIG = Config(segment_bytes=900)
RIGHT = b"0\n3\n0 0\n2 4\n5 10\n"


def disk_with(content: bytes | None) -> MemoryDisk:
    """Three epochs in three segments, and a file that says something about them."""
    disk = MemoryDisk()
    log = log_on(disk, config=CONFIG)
    made = [*batches(0, 4), *batches(4, 10, epoch=2), *batches(10, 14, epoch=5)]
    log.append(made, now_ms=0)
    assert log.segment_base_offsets == [0, 5, 10]
    if content is not None:
        disk.write_file(FILE, content)
    return disk


def epochs_of(disk: MemoryDisk, *, recovery_point: int) -> list[tuple[int, int]]:
    known = KnownOffsets(recovery_point=recovery_point)
    files = PartitionFiles(LogDirFiles(disk), NAME)
    return open_log(files, CONFIG, known, now_ms=0).leader_epochs


@pytest.mark.parametrize("recovery_point", [0, 7, 14])
@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"garbage",
        RIGHT[:-3],
        b"0\n1\n0 0\n",
        b"0\n2\n0 0\n5 2\n",
        b"0\n2\n2 4\n5 10\n",
        b"0\n2\n0 0\n5 10\n",
        b"0\n3\n0 0\n1 4\n5 10\n",
        b"0\n4\n0 0\n2 4\n5 10\n6 12\n",
        b"0\n4\n0 0\n2 4\n5 10\n6 14\n",
    ],
    ids=[
        "lost",
        "empty",
        "garbage",
        "cut",
        "old",
        "new",
        "begun late",
        "gap",
        "other",
        "ahead",
        "at end",
    ],
)
def test_after_an_unclean_stop_the_batches_are_right(
    content: bytes | None, recovery_point: int
) -> None:
    disk = disk_with(content)
    expected = [(0, 0), (2, 4), (5, 10)]
    assert epochs_of(disk, recovery_point=recovery_point) == expected
    assert disk.read_file(FILE) == RIGHT


def test_a_file_that_agrees_is_not_written_again() -> None:
    disk = disk_with(RIGHT)
    changed: list[str] = []
    disk.before_change = lambda _, name: changed.append(name)
    epochs_of(disk, recovery_point=14)
    assert [name for name in changed if "epoch" in name] == []


@pytest.mark.parametrize("content", [b"0\n2\n0 0\n2 9\n", b"0\n1\n0 0\n"])
@pytest.mark.parametrize("segment_bytes", [300, 900])
def test_compaction_hides_no_epoch_that_the_file_lacks(content: bytes, segment_bytes: int) -> None:
    """Right before the start that the file names there is no batch any more."""
    disk = MemoryDisk()
    log = log_on(disk, config=Config(segment_bytes=segment_bytes))
    made = [*batches(0, 4), *batches(4, 6, epoch=2), *batches(9, 12, epoch=2)]
    log.append(made, now_ms=0)
    disk.write_file(FILE, content)
    assert epochs_of(disk, recovery_point=12) == [(0, 0), (2, 4)]


@pytest.mark.parametrize(("content", "recovery_point"), [(None, 20), (b"0\n1\n0 0\n", 0)])
def test_an_epoch_that_is_found_begins_before_the_gap_that_compaction_left(
    content: bytes | None, recovery_point: int
) -> None:
    """As one that is fetched does (seed 1044160): what stood there may have been its own."""
    disk = MemoryDisk()
    log = log_on(disk, config=CONFIG)
    log.append([*batches(0, 2), *batches(6, 8, epoch=2), *batches(9, 20, epoch=4)], now_ms=0)
    if content is not None:
        disk.write_file(FILE, content)
    assert epochs_of(disk, recovery_point=recovery_point) == [(0, 0), (2, 2), (4, 8)]


@pytest.mark.parametrize("recovery_point", [0, 14])
@pytest.mark.parametrize(
    ("start", "content", "epochs"),
    [
        (14, b"0\n1\n5 14\n", [(5, 14)]),
        (14, b"0\n2\n2 4\n5 10\n", [(5, 14)]),
        (14, None, []),
        (0, b"0\n1\n5 0\n", []),
    ],
)
def test_a_log_of_which_all_was_deleted_knows_the_epoch_that_it_ended_in(
    start: int, content: bytes | None, epochs: list[tuple[int, int]], recovery_point: int
) -> None:
    """Its leader is to tell where the two logs part, as it may have lost its own (seed 1156807)."""
    disk = MemoryDisk()
    PartitionLog.create(LogDirFiles(disk), NAME, CONFIG, now_ms=0, log_start_offset=start)
    if content is not None:
        disk.write_file(FILE, content)
    assert epochs_of(disk, recovery_point=recovery_point) == epochs
