"""File names of segments: suffixes behind all of them, renaming, removing."""

from __future__ import annotations

import pytest

from broker.storage.files import LogDirFiles
from broker.storage.layout import DELETED_SUFFIX, LOG_SUFFIX, TRANSACTION_INDEX_SUFFIX
from broker.storage.memory_disk import MemoryDisk
from broker.storage.segment_files import PartitionFiles, SegmentFiles

BASE = "00000000000000000007"


@pytest.fixture
def directory() -> PartitionFiles:
    disk = MemoryDisk()
    disk.make_dir("t-0")
    return PartitionFiles(LogDirFiles(disk), "t-0")


def names(directory: PartitionFiles) -> list[str]:
    return directory.files.disk.list_dir(directory.name)


def test_a_suffix_stands_behind_the_kind(directory: PartitionFiles) -> None:
    files = SegmentFiles(directory, 7, ".cleaned")
    files.log()
    assert names(directory) == [f"{BASE}.log.cleaned"]


def test_all_files_that_are_there_get_the_new_suffix(directory: PartitionFiles) -> None:
    files = SegmentFiles(directory, 7)
    files.log().append([b"batches"])
    files.append(".index", b"12345678")
    files.change_suffix(DELETED_SUFFIX)
    assert names(directory) == [f"{BASE}.index.deleted", f"{BASE}.log.deleted"]
    assert files.log().read(0, 7) == b"batches"


def test_an_older_file_of_the_new_name_makes_room(directory: PartitionFiles) -> None:
    for content in (b"old", b"new"):
        files = SegmentFiles(directory, 7)
        files.log().append([content])
        files.change_suffix(DELETED_SUFFIX)
    assert files.read(LOG_SUFFIX) == b"new"


def test_files_are_found_after_the_log_was_renamed(directory: PartitionFiles) -> None:
    files = SegmentFiles(directory, 7)
    files.log()
    directory.files.close_below("t-0")
    directory.files.disk.rename("t-0", "t-1")
    directory.name = "t-1"
    files.delete()
    assert names(directory) == []


def test_a_file_is_written_anew_only_where_it_is_wrong(directory: PartitionFiles) -> None:
    files = SegmentFiles(directory, 7)
    assert not files.bring_to(".index", b"right", makes=False)
    assert not files.bring_to(".index", b"", makes=True)
    assert names(directory) == []
    assert files.bring_to(".index", b"wrong", makes=True)
    assert files.bring_to(".index", b"right", makes=False)
    assert files.read(".index") == b"right"
    told: list[tuple[str, str]] = []
    disk = directory.files.disk
    assert isinstance(disk, MemoryDisk)
    disk.before_change = lambda operation, name: told.append((operation, name))
    assert files.bring_to(".index", b"right", makes=True)
    assert told == []


def test_deleting_what_is_gone_is_no_error(directory: PartitionFiles) -> None:
    files = SegmentFiles(directory, 7)
    files.delete()
    directory.files.disk.remove_tree("t-0")
    files.delete()


def test_whether_there_is_a_transaction_index_is_asked_once(directory: PartitionFiles) -> None:
    files = SegmentFiles(directory, 7)
    disk = directory.files.disk
    assert not files.exists(TRANSACTION_INDEX_SUFFIX)
    before = disk.operations_count
    assert not files.exists(TRANSACTION_INDEX_SUFFIX)
    assert disk.operations_count == before
    files.append(TRANSACTION_INDEX_SUFFIX, b"x")
    assert files.exists(TRANSACTION_INDEX_SUFFIX)
    found_later = SegmentFiles(directory, 7)
    assert found_later.exists(TRANSACTION_INDEX_SUFFIX)
