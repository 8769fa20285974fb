"""One contract, three disks, and then what only files can show."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from broker.storage.disk import FileDisk
from broker.storage.memory_disk import MemoryDisk
from protocol.ports import Disk
from tests.broker.storage.builders import UNIQUE, faulty

NAME_THAT_GETS_NO_LONGER = "d" * 255
"""A directory that its system renames no more than a mount point, and anybody can make."""


@pytest.fixture(params=["file", "faulty", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    makers: dict[str, Callable[[], Disk]] = {
        "file": lambda: FileDisk(str(tmp_path / "d1")),
        "faulty": lambda: faulty(FileDisk(str(tmp_path / "d1"))),
        "memory": MemoryDisk,
    }
    made = makers[request.param]()
    made.prepare()
    return made


@pytest.fixture
def file_disk(tmp_path: Path) -> FileDisk:
    made = FileDisk(str(tmp_path / "d1"))
    made.prepare()
    return made


class TestAnyDisk:
    def test_appends_go_to_the_end_and_the_new_size_comes_back(self, disk: Disk) -> None:
        file = disk.open("a", create=True)
        assert file.append([b"one", bytearray(b"two")]) == 6
        assert file.append([memoryview(b"three")]) == 11
        assert file.read(0, 100) == b"onetwothree"
        assert file.read(3, 3) == b"two"
        assert file.size() == disk.size("a") == 11

    def test_a_file_opened_again_goes_on_at_its_end(self, disk: Disk) -> None:
        disk.open("a", create=True).append([b"one"])
        file = disk.open("a", create=False)
        assert file.append([b"two"]) == 6
        assert disk.read_file("a") == b"onetwo"

    def test_more_buffers_than_one_call_takes_are_all_written(self, disk: Disk) -> None:
        file = disk.open("a", create=True)
        assert file.append([b"ab"] * 3000) == 6000
        assert disk.read_file("a") == b"ab" * 3000

    def test_what_was_forgotten_is_still_there(self, disk: Disk) -> None:
        file = disk.open("a", create=True)
        file.append([bytes(9_000), b"abc"])
        for sync in (file.sync, lambda: None):
            sync()
            file.forget(5_000)
            assert file.read(8_999, 10) == b"\0abc"

    def test_a_truncated_file_goes_on_at_its_new_end(self, disk: Disk) -> None:
        file = disk.open("a", create=True)
        file.append([b"onetwo"])
        file.truncate(3)
        file.append([b"TWO"])
        file.sync()
        file.close()
        assert disk.read_file("a") == b"oneTWO"

    def test_a_missing_file_is_not_made_by_accident(self, disk: Disk) -> None:
        with pytest.raises(FileNotFoundError):
            disk.open("a", create=False)
        with pytest.raises(FileNotFoundError):
            disk.read_file("a")
        with pytest.raises(FileNotFoundError):
            disk.size("a")
        assert not disk.exists("a")

    def test_the_three_ways_to_write_a_small_file_replace_it(self, disk: Disk) -> None:
        for write in (disk.write_file, disk.replace_file, disk.write_atomic):
            write("a", b"long content")
            write("a", b"short")
            assert disk.read_file("a") == b"short"
        assert disk.list_dir("") == ["a"]

    def test_directories_are_made_listed_renamed_and_removed_whole(self, disk: Disk) -> None:
        disk.make_dir("t-0")
        disk.write_file("t-0/b", b"")
        disk.write_file("t-0/a", b"x")
        with pytest.raises(FileExistsError):
            disk.make_dir("t-0")
        disk.rename("t-0", "t-1")
        assert disk.list_dir("") == ["t-1"]
        assert disk.list_dir("t-1") == ["a", "b"]
        assert disk.is_dir("t-1")
        assert not disk.is_dir("t-1/a")
        disk.sync_file("t-1/a")
        disk.sync_dir("t-1")
        disk.sync_all()
        disk.remove("t-1/a")
        disk.remove_tree("t-1")
        disk.remove_tree("t-1")
        assert disk.list_dir("") == []

    def test_a_directory_does_not_replace_a_filled_one(self, disk: Disk) -> None:
        for name in ("t-0", "t-1"):
            disk.make_dir(name)
            disk.write_file(f"{name}/a", b"")
        with pytest.raises(OSError, match=r"(?i)not empty"):
            disk.rename("t-0", "t-1")

    def test_an_open_file_lives_on_when_its_directory_is_renamed(self, disk: Disk) -> None:
        disk.make_dir("t-0")
        file = disk.open("t-0/a", create=True)
        disk.rename("t-0", "t-1")
        file.append([b"x"])
        assert disk.read_file("t-1/a") == b"x"

    @pytest.mark.scenario(17, 271)
    def test_a_locked_dir_is_refused_to_a_second_one(self, disk: Disk) -> None:
        disk.lock()
        second = FileDisk(disk.root) if os.path.isdir(disk.root) else disk
        with pytest.raises(BlockingIOError):
            second.lock()

    @pytest.mark.kafka_bug("KAFKA-16391")
    @pytest.mark.scenario(18)
    def test_the_lock_is_free_after_unlocking_and_its_file_is_gone(self, disk: Disk) -> None:
        disk.lock()
        disk.unlock()
        assert disk.list_dir("") == []
        disk.lock()

    def test_operations_are_counted_as_they_begin(self, disk: Disk) -> None:
        file = disk.open("a", create=True)
        steps = [
            lambda: file.append([b"x"]),
            lambda: file.read(0, 1),
            lambda: disk.exists("a"),
            lambda: disk.write_atomic("b", b""),
            lambda: disk.remove("a"),
        ]
        for step in steps:
            before = disk.operations_count
            step()
            assert disk.operations_count > before

    def test_the_usage_is_told(self, disk: Disk) -> None:
        total_bytes, usable_bytes = disk.usage()
        assert 0 < usable_bytes <= total_bytes


class TestFileDisk:
    @pytest.mark.scenario(15)
    def test_a_missing_root_is_made(self, tmp_path: Path) -> None:
        FileDisk(str(tmp_path / "a" / "b")).prepare()
        assert (tmp_path / "a" / "b").is_dir()

    @pytest.mark.scenario(14)
    def test_a_root_that_is_a_file_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "d1").write_bytes(b"")
        with pytest.raises(NotADirectoryError):
            FileDisk(str(tmp_path / "d1")).prepare()

    @pytest.mark.scenario(12)
    def test_a_root_with_a_nul_byte_is_an_error_of_the_disk(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="NUL"):
            FileDisk(str(tmp_path / "d\0")).prepare()

    def test_a_root_replaced_by_a_file_is_noticed(
        self, file_disk: FileDisk, tmp_path: Path
    ) -> None:
        file = file_disk.open("a", create=True)
        (tmp_path / "d1").rename(tmp_path / "gone")
        (tmp_path / "d1").write_bytes(b"")
        file.append([b"the open descriptor goes on working"])
        with pytest.raises(NotADirectoryError):
            file_disk.open("b", create=True)
        with pytest.raises(OSError, match="took its place"):
            file_disk.check_root()

    def test_a_root_renamed_away_is_noticed(self, file_disk: FileDisk, tmp_path: Path) -> None:
        file_disk.check_root()
        (tmp_path / "d1").rename(tmp_path / "gone")
        with pytest.raises(FileNotFoundError):
            file_disk.check_root()

    def test_another_directory_under_the_same_name_is_noticed(
        self, file_disk: FileDisk, tmp_path: Path
    ) -> None:
        (tmp_path / "d1").rename(tmp_path / "gone")
        (tmp_path / "d1").mkdir()
        with pytest.raises(OSError, match="took its place"):
            file_disk.check_root()

    @pytest.mark.scenario(269)
    def test_a_capacity_ends_in_enospc_and_removing_makes_room(self, tmp_path: Path) -> None:
        disk = FileDisk(str(tmp_path / "d1"), capacity_bytes=100)
        disk.prepare()
        file = disk.open("a", create=True)
        file.append([bytes(80)])
        with pytest.raises(OSError, match="capacity") as caught:
            file.append([bytes(30)])
        assert caught.value.errno == errno.ENOSPC
        assert disk.usage() == (100, 20)
        file.truncate(50)
        assert disk.usage().usable_bytes == 50
        disk.write_atomic("b", bytes(30))
        disk.write_atomic("b", bytes(20))
        assert disk.usage().usable_bytes == 30
        disk.make_dir("t-0")
        disk.write_file("t-0/c", bytes(30))
        disk.remove_tree("t-0")
        disk.remove("b")
        assert disk.usage().usable_bytes == 50

    def test_what_is_there_at_the_start_counts_towards_the_capacity(self, tmp_path: Path) -> None:
        (tmp_path / "t-0").mkdir()
        (tmp_path / "t-0" / "a").write_bytes(bytes(60))
        disk = FileDisk(str(tmp_path), capacity_bytes=100)
        disk.prepare()
        assert disk.usage().usable_bytes == 40

    def test_a_small_file_system_that_fills_up_is_an_error(self) -> None:
        disk = FileDisk("/dev")
        with pytest.raises(OSError, match="No space"):
            disk.open("full", create=False).append([bytes(10)])

    def test_descriptors_are_not_handed_to_child_processes(self, file_disk: FileDisk) -> None:
        file_disk.lock()
        file = file_disk.open("a", create=True)
        file.sync()
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            try:
                target = os.readlink(f"/proc/self/fd/{descriptor}")
            except FileNotFoundError:
                continue
            if target.startswith(file_disk.root):
                assert not os.get_inheritable(descriptor)


def emptied(root: Path) -> FileDisk:
    disk = FileDisk(str(root), set_aside=UNIQUE)
    disk.prepare()
    return disk


def test_an_empty_disk_takes_the_place_of_what_is_there_and_deletes_nothing(tmp_path: Path) -> None:
    old = FileDisk(str(tmp_path / "d1"))
    old.prepare()
    old.write_file("a", b"kept")
    for _ in range(2):
        assert emptied(tmp_path / "d1").list_dir("") == []
    assert (tmp_path / f"d1.replaced-{UNIQUE}" / "a").read_bytes() == b"kept"


def test_a_link_to_a_log_dir_leads_to_the_empty_one_on_the_same_file_system(tmp_path: Path) -> None:
    (tmp_path / "disk" / "data").mkdir(parents=True)
    (tmp_path / "disk" / "data" / "a").write_bytes(b"kept")
    (tmp_path / "d1").symlink_to(tmp_path / "disk" / "data")
    emptied(tmp_path / "d1").write_file("b", b"new")
    assert (tmp_path / "disk" / "data" / "b").read_bytes() == b"new"
    assert (tmp_path / "disk" / f"data.replaced-{UNIQUE}" / "a").read_bytes() == b"kept"


def test_a_root_that_cannot_be_renamed_keeps_what_was_there_in_a_folder(tmp_path: Path) -> None:
    root = tmp_path / NAME_THAT_GETS_NO_LONGER
    (root / "t-0").mkdir(parents=True)
    (root / "lost+found").mkdir()
    (root / "t-0" / "a").write_bytes(b"kept")
    (root / "meta.properties").write_bytes(b"its identity")
    folder = f"__replaced-0.{UNIQUE}-stray"
    for _ in range(2):
        assert emptied(root).list_dir("") == [folder, "lost+found"]
    assert (root / folder / "t-0" / "a").read_bytes() == b"kept"
    assert (root / folder / "meta.properties").read_bytes() == b"its identity"


def test_a_file_in_the_place_of_a_log_dir_that_cannot_be_renamed_is_an_error(
    tmp_path: Path,
) -> None:
    place = tmp_path / NAME_THAT_GETS_NO_LONGER
    place.write_bytes(b"kept")
    with pytest.raises(OSError, match="File name too long"):
        emptied(place)
    assert place.read_bytes() == b"kept"


def test_a_lock_that_was_dropped_leaves_the_file_and_can_be_taken_again(tmp_path: Path) -> None:
    disk, again = FileDisk(str(tmp_path)), FileDisk(str(tmp_path))
    disk.prepare()
    disk.lock()
    with pytest.raises(BlockingIOError):
        again.lock()
    disk.drop_lock()
    disk.drop_lock()
    assert (tmp_path / ".lock").exists()
    again.lock()
    again.unlock()
