"""What a power cut leaves of a MemoryDisk; the contract it shares with files is in test_disk."""

from __future__ import annotations

import random

import pytest

from broker.storage.memory_disk import MemoryDisk


def test_content_without_a_sync_is_lost_at_a_power_cut() -> None:
    disk = MemoryDisk()
    file = disk.open("a", create=True)
    file.append([b"synced"])
    file.sync()
    disk.sync_dir("")
    file.append([b" and not"])
    disk.power_cut()
    assert disk.read_file("a") == b"synced"


def test_a_name_without_a_sync_of_its_directory_is_lost() -> None:
    disk = MemoryDisk()
    disk.open("a", create=True).sync()
    disk.power_cut()
    assert disk.list_dir("") == []


def test_a_rename_is_undone_when_the_directory_was_not_synced() -> None:
    disk = MemoryDisk()
    disk.make_dir("old")
    disk.sync_dir("")
    disk.rename("old", "new")
    disk.power_cut()
    assert disk.list_dir("") == ["old"]


def test_an_atomic_write_survives_whole() -> None:
    disk = MemoryDisk()
    disk.write_atomic("a", b"content")
    disk.power_cut()
    assert disk.read_file("a") == b"content"
    assert disk.list_dir("") == ["a"]


def test_a_drawn_part_of_the_unsynced_tail_may_stay() -> None:
    lengths: set[int] = set()
    for seed in range(20):
        disk = MemoryDisk()
        file = disk.open("a", create=True)
        file.append([b"synced"])
        file.sync()
        disk.sync_dir("")
        file.append([b"tail"])
        disk.power_cut(random.Random(seed))
        left = disk.read_file("a")
        assert b"syncedtail".startswith(left.rstrip(b"\0"))
        lengths.add(len(left))
    assert len(lengths) > 2


def test_a_killed_process_loses_nothing_but_the_lock() -> None:
    disk = MemoryDisk()
    disk.lock()
    disk.write_file("a", b"content")
    disk.kill()
    disk.lock()
    assert disk.read_file("a") == b"content"


def test_the_capacity_ends_in_enospc() -> None:
    disk = MemoryDisk(capacity_bytes=10)
    file = disk.open("a", create=True)
    file.append([bytes(8)])
    with pytest.raises(OSError, match="No space"):
        file.append([bytes(8)])
    assert disk.usage() == (10, 2)


def test_a_detached_root_is_noticed_while_open_files_go_on() -> None:
    disk = MemoryDisk()
    file = disk.open("a", create=True)
    disk.detach()
    file.append([b"x"])
    with pytest.raises(OSError, match="/memory"):
        disk.check_root()


def test_a_name_below_a_file_is_an_error() -> None:
    disk = MemoryDisk()
    disk.write_file("a", b"")
    with pytest.raises(NotADirectoryError):
        disk.write_file("a/b", b"")
    with pytest.raises(NotADirectoryError):
        disk.list_dir("a")
    disk.make_dir("d")
    with pytest.raises(IsADirectoryError):
        disk.read_file("d")


def test_everything_that_changes_the_disk_is_told_before_it_happens() -> None:
    disk = MemoryDisk()
    told: list[tuple[str, str]] = []
    disk.before_change = lambda operation, name: told.append((operation, name))
    file = disk.open("a", create=True)
    file.append([b"x"])
    file.sync()
    disk.write_atomic("b", b"y")
    disk.remove("a")
    assert told == [
        ("create", "a"),
        ("append", "a"),
        ("sync", "a"),
        ("write", "b.tmp"),
        ("sync", "b.tmp"),
        ("rename", "b.tmp"),
        ("sync dir", ""),
        ("remove", "a"),
    ]


def test_a_copy_knows_what_is_durable_and_goes_its_own_way() -> None:
    disk = MemoryDisk()
    disk.write_atomic("a", b"synced")
    disk.open("a", create=False).append([b" and not"])
    other = disk.copy()
    disk.remove("a")
    assert other.read_file("a") == b"synced and not"
    other.power_cut()
    assert other.read_file("a") == b"synced"


def test_every_name_below_a_directory_is_given_directories_first() -> None:
    disk = MemoryDisk()
    disk.make_dir("b")
    disk.write_file("b/x", b"1")
    disk.write_file("a", b"2")

    assert list(disk.names_below()) == ["a", "b", "b/x"]
    assert list(disk.names_below("b")) == ["b/x"]


def test_a_file_that_was_made_and_not_written_to_has_the_time_of_its_making() -> None:
    disk = MemoryDisk("/d1")
    disk.prepare()
    disk.clock_ms = 7
    disk.open("empty", create=True)
    disk.clock_ms = 9

    assert disk.modified_ms("empty") == 7
