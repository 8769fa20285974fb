"""A disk in memory that takes time and leaves a trace."""

from __future__ import annotations

from random import Random

import pytest

from broker.storage.memory_disk import MemoryDisk
from protocol.ports import Buffer
from simulation.world.disk_speed import DiskSpeed
from simulation.world.sim_disk import SimDisk


class Lab:
    """A disk and what it was heard to do."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, bytes]] = []
        self.now_ms = 5000
        self.disk = SimDisk(
            MemoryDisk("/d1"),
            chance=Random(1),
            speed=DiskSpeed,
            note=self._note,
            now_ms=lambda: self.now_ms,
        )

    def _note(self, what: str, content: object) -> None:
        assert isinstance(content, tuple | list)
        parts: list[Buffer] = list(content)  # type: ignore[arg-type]
        self.notes.append((what, b"".join(parts)))


@pytest.fixture
def lab() -> Lab:
    return Lab()


def test_what_is_written_can_be_read(lab: Lab):
    disk = lab.disk
    disk.prepare()
    disk.make_dir("t-0")
    file = disk.open("t-0/0.log", create=True)
    assert file.append([b"abc", b"de"]) == 5
    file.sync()
    assert file.read(1, 3) == b"bcd"
    file.truncate(4)
    assert file.size() == disk.size("t-0/0.log") == 4
    file.close()
    disk.write_file("a", b"1")
    disk.replace_file("b", b"2")
    disk.write_atomic("c", b"3")
    disk.rename("c", "d")
    assert [disk.read_file(name) for name in ("a", "b", "d")] == [b"1", b"2", b"3"]
    assert disk.list_dir("") == ["a", "b", "d", "t-0"]
    assert disk.is_dir("t-0")
    disk.remove("a")
    disk.remove_tree("t-0")
    assert not disk.exists("a")


def test_what_changes_something_is_noted_with_its_content(lab: Lab):
    lab.disk.write_file("a", b"1")
    file = lab.disk.open("l", create=True)
    file.append([b"ab", b"c"])
    lab.disk.exists("a")
    lab.disk.sync_all()
    assert lab.notes == [
        ("write /d1/a", b"1"),
        ("append /d1/l", b"abc"),
        ("sync /d1/everything", b""),
    ]


def test_every_operation_takes_time(lab: Lab):
    spent_us: list[float] = []
    for operation in (lambda: lab.disk.exists("a"), lab.disk.check_root, lab.disk.usage):
        before_us = lab.disk.spent_us
        operation()
        spent_us.append(lab.disk.spent_us - before_us)
    assert all(spent > 0 for spent in spent_us)


def test_files_get_the_time_of_the_node(lab: Lab):
    lab.disk.write_file("a", b"1")
    lab.now_ms = 9000
    lab.disk.write_file("b", b"2")
    assert (lab.disk.modified_ms("a"), lab.disk.modified_ms("b")) == (5000, 9000)


def test_it_has_one_lock(lab: Lab):
    lab.disk.lock()
    with pytest.raises(BlockingIOError):
        lab.disk.lock()
    lab.disk.drop_lock()
    lab.disk.lock()
    lab.disk.unlock()
    lab.disk.lock()


def test_operations_are_counted_for_the_watchdog(lab: Lab):
    before = lab.disk.operations_count
    lab.disk.exists("a")
    assert lab.disk.operations_count == before + 1
    assert lab.disk.root == "/d1"
