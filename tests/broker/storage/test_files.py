"""Handles and loaded indexes stay within their bounds."""

from __future__ import annotations

import errno

import pytest

from broker.storage.files import LogDirFiles
from broker.storage.memory_disk import MemoryDisk
from protocol.ports import DiskFile


class Loaded:
    """Something that can be unloaded."""

    def __init__(self) -> None:
        self.unloaded = False

    def unload(self) -> None:
        self.unloaded = True


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


def test_a_handle_is_opened_once(disk: MemoryDisk) -> None:
    files = LogDirFiles(disk)
    assert files.handle("a", create=True) is files.handle("a")
    assert files.open_count == 1


def test_the_handle_unused_for_longest_is_closed_first(disk: MemoryDisk) -> None:
    files = LogDirFiles(disk, handles_max=2)
    first: dict[str, DiskFile] = {name: files.handle(name, create=True) for name in ("a", "b")}
    files.handle("a")
    files.handle("c", create=True)
    assert files.open_count == 2
    assert files.handle("a") is first["a"]
    assert files.handle("b") is not first["b"]


def test_all_handles_below_a_directory_can_be_closed(disk: MemoryDisk) -> None:
    files = LogDirFiles(disk)
    for directory in ("t-1", "t-10"):
        disk.make_dir(directory)
        files.handle(f"{directory}/a", create=True)
    files.close_below("t-1")
    files.close("missing")
    assert files.open_count == 1


def test_replaced_files_become_durable_with_the_next_sync(disk: MemoryDisk) -> None:
    disk.make_dir("t-0")
    disk.sync_dir("")
    files = LogDirFiles(disk)
    files.replace("t-0/epochs", b"new")
    assert files.sync_replaced("t-1") == 0
    assert files.sync_replaced("t-0") == 0
    disk.sync_dir("t-0")
    disk.power_cut()
    assert disk.read_file("t-0/epochs") == b"new"


def test_a_sync_takes_a_bounded_number_of_files(disk: MemoryDisk) -> None:
    files = LogDirFiles(disk)
    for number in range(5):
        files.replace(str(number), b"")
    files.forget("0")
    disk.remove("0")
    assert files.sync_replaced(count_max=3) == 1
    assert files.sync_replaced(count_max=3) == 0


def test_loaded_indexes_are_bounded_in_bytes(disk: MemoryDisk) -> None:
    files = LogDirFiles(disk, loaded_bytes_max=100)
    old, young, big = Loaded(), Loaded(), Loaded()
    files.loaded(old, 40)
    files.loaded(young, 40)
    files.loaded(old, 50)
    assert [old.unloaded, young.unloaded] == [False, False]
    files.loaded(big, 200)
    assert old.unloaded
    assert young.unloaded
    assert not big.unloaded
    files.unloaded(big)
    files.loaded(young, 100)
    assert not big.unloaded


class ScarceDisk(MemoryDisk):
    """A process that may have only a few files open."""

    def __init__(self, descriptors: int) -> None:
        super().__init__()
        self.left = descriptors

    def open(self, name: str, *, create: bool) -> DiskFile:
        if self.left == 0:
            self.left = 1
            raise OSError(errno.EMFILE, "Too many open files")
        self.left -= 1
        return super().open(name, create=create)


def test_running_out_of_descriptors_closes_some_instead_of_failing() -> None:
    files = LogDirFiles(ScarceDisk(4))
    for number in range(5):
        files.handle(str(number), create=True)
    assert files.open_count == 3
    with pytest.raises(OSError, match="Too many"):
        LogDirFiles(ScarceDisk(0)).handle("a", create=True)
