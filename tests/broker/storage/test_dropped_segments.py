"""Segments that recovery drops: behind damage, behind a hole, or left over from before a cut."""

from __future__ import annotations

import pytest

from broker.storage.faults import FaultyDisk
from broker.storage.files import LogDirFiles
from broker.storage.log_recovery import KnownOffsets, open_log
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.segment_files import PartitionFiles
from protocol.faults.model import FileClass
from protocol.ports import Disk
from tests.broker.storage.builders import (
    Config,
    OneBit,
    batch,
    batches,
    filled_log,
    log_on,
    offsets_read,
)

NAME = "orders-0"
FIRST = f"{NAME}/00000000000000000000.log"
CONFIG = Config(segment_bytes=900)
SIZE = len(batch(0))


def reopen(disk: Disk, whole_from: int | None = None) -> PartitionLog:
    directory = PartitionFiles(LogDirFiles(disk), NAME)
    return open_log(directory, CONFIG, KnownOffsets(whole_from=whole_from), now_ms=0).log


@pytest.fixture
def disk() -> MemoryDisk:
    """Twelve batches in segments at 0, 5 and 10, closed cleanly."""
    made = MemoryDisk()
    filled_log(made, 12, CONFIG).close()
    return made


def test_an_old_segment_that_came_back_in_the_midst_of_a_cut_log_is_dropped(
    disk: MemoryDisk,
) -> None:
    """Only a cut leaves a segment that begins at 5 where the one before it ends at 7."""
    other = MemoryDisk()
    cut = log_on(other, config=Config(segment_bytes=2000))
    cut.append(batches(0, 7), now_ms=0)
    disk.write_file(FIRST, other.read_file(FIRST))
    log = reopen(disk)
    assert (log.log_end_offset, log.segment_base_offsets) == (7, [0])
    assert offsets_read(log, 0) == list(range(7))
    assert log.append([batch(7)], now_ms=0) == 8


def test_an_end_that_is_misread_once_costs_no_segment(disk: MemoryDisk) -> None:
    """The last base offset before the second segment reads 68, and that segment begins at 5."""
    faulty = FaultyDisk(disk, chance=OneBit(8 * (4 * SIZE + 7) + 6))
    rule = faulty.set_fault("bit_flip", files=(FileClass.LOG,), times=1)
    log = reopen(faulty)
    assert rule.hits == 1
    assert offsets_read(log, 0) == list(range(12))


@pytest.mark.parametrize("damage", ["torn batch", "hole"])
def test_segments_that_recovery_drops_are_gone_durably_before_the_log_is_cut(
    disk: MemoryDisk, damage: str
) -> None:
    """A power cut that brought one back could leave it behind other batches, or behind none."""
    disk.open(FIRST, create=False).truncate(3 * SIZE - (1 if damage == "torn batch" else 0))
    disk.sync_all()
    changes: list[str] = []
    disk.before_change = lambda operation, name: changes.append(f"{operation} {name}")
    reopen(disk, whole_from=0)
    removals = [number for number, one in enumerate(changes) if one.startswith("remove ")]
    durable_from = changes.index(f"sync dir {NAME}")
    assert max(removals) < durable_from
    if damage == "torn batch":
        assert durable_from < changes.index(f"truncate {FIRST}")
    disk.before_change = None
    disk.power_cut()
    names = disk.list_dir(NAME)
    assert [name for name in names if name.endswith(".log")] == ["00000000000000000000.log"]
