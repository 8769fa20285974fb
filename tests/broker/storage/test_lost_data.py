"""What each kind of disk can lose."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.storage.disk import FileDisk
from broker.storage.lost_data import EntryLoss, PageLoss
from broker.storage.memory_disk import MemoryDisk
from protocol.faults.model import DiskMode


def test_a_disk_in_memory_knows_by_itself_what_is_durable() -> None:
    disk = MemoryDisk()
    disk.write_file("a", b"old")
    disk.sync_all()
    disk.write_file("a", b"new")
    disk.write_file("b", b"new")
    pages = PageLoss(disk)
    pages.lose("a")
    assert disk.read_file("a") == b"old"
    pages.lose_names("")
    assert not disk.exists("b")
    disk.write_file("a", b"newer")
    pages.lose_all()
    assert disk.read_file("a") == b"old"


def test_a_real_disk_loses_nothing_while_nobody_watches(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path))
    pages = PageLoss(disk)
    disk.write_file("a", b"kept")
    pages.on_write("a")
    pages.lose("a")
    pages.watch()
    pages.on_write("a")
    pages.unwatch()
    pages.lose_all()
    pages.lose_names("")
    assert disk.read_file("a") == b"kept"


def test_a_real_disk_that_is_watched_is_cut(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path))
    pages = PageLoss(disk)
    pages.watch()
    disk.write_file("a", b"1234")
    pages.on_append("a", 2)
    pages.on_write("gone")
    pages.lose_all()
    assert disk.read_file("a") == b"12"


def test_only_a_disk_in_memory_loses_names(tmp_path: Path) -> None:
    EntryLoss(MemoryDisk()).check_possible(DiskMode.LOST_ENTRY)
    with pytest.raises(ValueError, match="use it in the simulation"):
        EntryLoss(FileDisk(str(tmp_path))).check_possible(DiskMode.LOST_ENTRY)
