"""What each fault does to a disk that is otherwise good."""

from __future__ import annotations

import errno
import random
import threading
from pathlib import Path

import pytest

from broker.storage.disk import FileDisk
from broker.storage.fault_gates import ThreadGate
from broker.storage.faults import FaultyDisk
from broker.storage.memory_disk import MemoryDisk
from protocol.faults.model import DiskMode, FileClass, Operation
from tests.broker.storage.builders import disk_rule, faulty
from tests.deadlines import DEADLINE_S


@pytest.fixture
def disk() -> FaultyDisk:
    made = faulty(MemoryDisk())
    made.write_file("a", b"content")
    return made


@pytest.mark.parametrize(
    ("mode", "number"),
    [("eio", errno.EIO), ("enospc", errno.ENOSPC), ("read_only", errno.EROFS)],
)
def test_an_error_mode_fails_writes_until_it_is_cleared(
    disk: FaultyDisk, mode: str, number: int
) -> None:
    file = disk.open("b", create=True)
    rule = disk.set_fault(mode)
    with pytest.raises(OSError, match="injected") as caught:
        file.append([b"x"])
    assert caught.value.errno == number
    assert rule.hits == disk.hits == 1
    disk.clear()
    assert file.append([b"x"]) == 1
    assert disk.rules == ()


def test_every_operation_meets_a_broken_disk(disk: FaultyDisk) -> None:
    file = disk.open("a", create=False)
    rule = disk.set_fault(DiskMode.EIO)
    calls = [
        disk.prepare,
        disk.check_root,
        disk.usage,
        disk.lock,
        disk.unlock,
        file.sync,
        lambda: file.read(0, 1),
        lambda: file.truncate(0),
        lambda: disk.open("a", create=True),
        lambda: disk.read_file("a"),
        lambda: disk.write_file("a", b""),
        lambda: disk.replace_file("a", b""),
        lambda: disk.write_atomic("a", b""),
        lambda: disk.make_dir("d"),
        lambda: disk.rename("a", "b"),
        lambda: disk.remove("a"),
        lambda: disk.remove_tree("a"),
        lambda: disk.list_dir(""),
        lambda: disk.exists("a"),
        lambda: disk.is_dir("a"),
        lambda: disk.size("a"),
        lambda: disk.sync_file("a"),
        lambda: disk.sync_dir(""),
        disk.sync_all,
    ]
    for call in calls:
        with pytest.raises(OSError, match="injected"):
            call()
    assert rule.hits == len(calls)


def test_a_full_disk_still_reads_and_a_read_only_one_too(disk: FaultyDisk) -> None:
    for mode in (DiskMode.ENOSPC, DiskMode.READ_ONLY):
        disk.set_fault(mode)
        assert disk.read_file("a") == b"content"


def test_enospc_may_come_after_some_more_bytes(disk: FaultyDisk) -> None:
    file = disk.open("b", create=True)
    disk.set_fault("enospc", capacity_bytes=10)
    file.append([bytes(6)])
    file.append([bytes(4)])
    with pytest.raises(OSError, match="No space"):
        file.append([b"x"])
    with pytest.raises(OSError, match="No space"):
        disk.make_dir("d")


def test_a_torn_write_leaves_a_part_and_an_error(disk: FaultyDisk) -> None:
    file = disk.open("b", create=True)
    disk.set_fault("torn_write")
    with pytest.raises(OSError, match="injected"):
        file.append([b"0123", b"456789"])
    left = disk.read_file("b")
    assert b"0123456789".startswith(left)
    assert left != b"0123456789"
    with pytest.raises(OSError, match="injected"):
        disk.write_atomic("a", b"new content")
    assert disk.read_file("a") == b"content"


def test_a_bit_flip_is_silent_and_one_bit(disk: FaultyDisk) -> None:
    disk.set_fault("bit_flip")
    for data in (disk.read_file("a"), disk.open("a", create=False).read(0, 7)):
        bits = int.from_bytes(data) ^ int.from_bytes(b"content")
        assert bits.bit_count() == 1
    disk.write_file("empty", b"")
    assert disk.read_file("empty") == b""


def test_a_hang_waits_until_it_is_cleared(disk: FaultyDisk) -> None:
    disk.set_fault("hang")
    answers: list[bytes] = []
    thread = threading.Thread(target=lambda: answers.append(disk.read_file("a")), daemon=True)
    thread.start()
    while disk.hits == 0:
        assert thread.is_alive()
    assert answers == []
    disk.clear()
    thread.join(DEADLINE_S)
    assert answers == [b"content"]


class RecordingGate(ThreadGate):
    """A gate that does not wait but says how long it was asked to."""

    waits: list[int | None] = []  # noqa: RUF012 -- shared with the gate that the disk makes

    def wait(self, timeout_ms: int | None) -> None:
        self.waits.append(timeout_ms)


def test_a_slow_disk_waits_before_every_operation(disk: FaultyDisk) -> None:
    RecordingGate.waits.clear()
    slow = FaultyDisk(disk, chance=random.Random(1), new_gate=RecordingGate)
    slow.set_fault("slow", delay_ms=250)
    slow.read_file("a")
    slow.exists("a")
    assert RecordingGate.waits == [250, 250]


def test_a_disk_with_rates_takes_its_time_for_operations_and_bytes(disk: FaultyDisk) -> None:
    RecordingGate.waits.clear()
    slow = FaultyDisk(disk, chance=random.Random(1), new_gate=RecordingGate)
    slow.set_fault("slow", operations_per_second=100, bytes_per_second=1000)
    slow.write_file("a", bytes(500))
    slow.read_file("a")
    slow.open("a", create=False).read(0, 250)
    assert RecordingGate.waits == [510, 510, 10, 260]


def test_a_short_read_gives_the_start_and_tells_nobody(disk: FaultyDisk) -> None:
    disk.set_fault("short_read")
    for data in (disk.read_file("a"), disk.open("a", create=False).read(0, 7)):
        assert len(data) < 7
        assert b"content".startswith(data)


def test_a_misdirected_write_lies_over_another_file_of_its_class(disk: FaultyDisk) -> None:
    disk.make_dir("t-0")
    for name in ("t-0/1.log", "t-0/2.log", "t-0/1.index"):
        disk.write_file(name, b"0123456789")
    file = disk.open("t-0/1.log", create=False)
    rule = disk.set_fault("misdirected_write", operations=(Operation.APPEND,))
    assert file.append([b"ab", b"cd"]) == 14
    disk.clear()
    assert rule.hits == 1
    assert disk.read_file("t-0/1.log") == b"0123456789" + bytes(4)
    other = disk.read_file("t-0/2.log")
    assert b"abcd" in other
    assert len(other) == 10
    assert disk.read_file("t-0/1.index") == b"0123456789"


def test_a_misdirected_small_file_is_not_where_it_should_be(disk: FaultyDisk) -> None:
    disk.set_fault("misdirected_write", operations=(Operation.WRITE,))
    disk.write_file("b", b"new")
    disk.clear()
    assert disk.read_file("b") == bytes(3)
    assert b"new" in disk.read_file("a")


def test_a_failed_sync_loses_what_was_not_durable_and_the_next_one_succeeds(
    disk: FaultyDisk,
) -> None:
    file = disk.open("b", create=True)
    file.append([b"durable"])
    file.sync()
    rule = disk.set_fault("sync_failure", times=1)
    file.append([b" dirty"])
    with pytest.raises(OSError, match="injected"):
        file.sync()
    assert disk.read_file("b") == b"durable"
    file.sync()
    assert rule.hits == 1


def test_a_failed_sync_of_a_file_that_is_being_replaced_leaves_the_old_one(
    disk: FaultyDisk,
) -> None:
    disk.set_fault("sync_failure")
    with pytest.raises(OSError, match="injected"):
        disk.write_atomic("a", b"new")
    assert disk.read_file("a") == b"content"


def test_a_failed_sync_of_everything_loses_everything_that_was_not_durable(
    disk: FaultyDisk,
) -> None:
    disk.sync_all()
    disk.set_fault("sync_failure")
    disk.write_file("a", b"other")
    disk.make_dir("d")
    with pytest.raises(OSError, match="injected"):
        disk.sync_all()
    assert disk.read_file("a") == b"content"
    assert not disk.exists("d")


def test_a_failed_sync_of_a_directory_loses_its_new_names(disk: FaultyDisk) -> None:
    disk.sync_all()
    disk.rename("a", "b")
    disk.set_fault("sync_failure")
    with pytest.raises(OSError, match="injected"):
        disk.sync_dir("")
    assert disk.list_dir("") == ["a"]


def test_a_lost_entry_is_gone_after_a_power_cut_although_it_was_synced() -> None:
    memory = MemoryDisk()
    disk = faulty(memory)
    disk.write_file("old", b"kept")
    disk.sync_all()
    disk.set_fault("lost_entry")
    disk.rename("old", "new")
    disk.make_dir("d")
    disk.open("created", create=True).append([b"x"])
    disk.open("created", create=False)
    disk.write_file("written", b"x")
    disk.sync_all()
    assert disk.hits == 4
    assert disk.list_dir("") == ["created", "d", "new", "written"]
    memory.power_cut(random.Random(1))
    assert memory.list_dir("") == ["old"]
    assert memory.read_file("old") == b"kept"


def test_a_name_that_is_changed_again_is_durable_again() -> None:
    memory = MemoryDisk()
    disk = faulty(memory)
    disk.set_fault("lost_entry", times=1)
    disk.write_file("a", b"1")
    disk.write_atomic("a", b"2")
    memory.power_cut()
    assert memory.read_file("a") == b"2"


def test_a_real_disk_refuses_to_lose_names(tmp_path: Path) -> None:
    disk = faulty(FileDisk(str(tmp_path)))
    with pytest.raises(ValueError, match="lost_entry: a real file system cannot be told"):
        disk.set_fault("lost_entry")
    assert disk.rules == ()


def test_a_real_disk_loses_what_was_written_since_the_fault_began(tmp_path: Path) -> None:
    disk = faulty(FileDisk(str(tmp_path)))
    disk.prepare()
    file = disk.open("a", create=True)
    file.append([b"before"])
    disk.set_fault("sync_failure", from_nth=2, times=1)
    file.append([b", synced"])
    file.sync()
    file.append([b", lost"])
    with pytest.raises(OSError, match="injected"):
        file.sync()
    assert disk.read_file("a") == b"before, synced"
    assert file.append([b"!"]) == 15
    file.close()


def test_a_real_disk_loses_small_files_written_anew(tmp_path: Path) -> None:
    disk = faulty(FileDisk(str(tmp_path)))
    disk.prepare()
    disk.make_dir("d")
    disk.set_fault("sync_failure")
    disk.replace_file("d/a", b"lost")
    disk.rename("d", "e")
    with pytest.raises(OSError, match="injected"):
        disk.sync_file("e/a")
    disk.write_file("e/b", b"lost, too")
    disk.write_file("e/c", b"removed")
    disk.remove("e/c")
    with pytest.raises(OSError, match="injected"):
        disk.sync_all()
    assert disk.size("e/a") == disk.size("e/b") == 0


def test_a_rule_may_end_by_itself_and_be_for_some_names_only(disk: FaultyDisk) -> None:
    rule = disk.set_fault("eio", times=1, name="orders-*")
    disk.exists("payments-0/1.log")
    with pytest.raises(OSError, match="injected"):
        disk.exists("orders-0/1.log")
    disk.exists("orders-0/1.log")
    assert (rule.matches, rule.hits) == (2, 1)


def test_dropping_one_rule_leaves_what_hangs_in_another(disk: FaultyDisk) -> None:
    hanging, other = disk_rule(mode=DiskMode.HANG), disk_rule(mode=DiskMode.EIO, nth=99)
    disk.set_rules([hanging, other])
    thread = threading.Thread(target=lambda: disk.read_file("a"), daemon=True)
    thread.start()
    while hanging.hits == 0:
        assert thread.is_alive()
    disk.drop_rule(other)
    assert thread.is_alive()
    disk.drop_rule(hanging)
    thread.join(DEADLINE_S)
    assert not thread.is_alive()


def test_one_damage_is_done_at_a_time_and_only_that_is_counted(disk: FaultyDisk) -> None:
    first, second = disk_rule(mode=DiskMode.BIT_FLIP), disk_rule(mode=DiskMode.SHORT_READ)
    disk.set_rules([first, second])
    assert len(disk.read_file("a")) == 7
    assert (first.hits, second.hits) == (1, 0)


def test_a_rule_with_a_probability_meets_some(disk: FaultyDisk) -> None:
    rule = disk.set_fault("eio", probability=0.5, operations=(Operation.READ,))
    failed = 0
    for _ in range(100):
        try:
            disk.read_file("a")
        except OSError:
            failed += 1
    assert rule.matches == 100
    assert rule.hits == failed
    assert 20 < failed < 80


def test_several_rules_hold_at_once_each_with_its_own_hits(disk: FaultyDisk) -> None:
    reads = disk_rule(mode=DiskMode.EIO, operations=(Operation.READ,), nth=2)
    epochs = disk_rule(mode=DiskMode.ENOSPC, files=(FileClass.LEADER_EPOCHS,))
    disk.set_rules([reads, epochs])
    disk.read_file("a")
    with pytest.raises(OSError, match="injected"):
        disk.read_file("a")
    disk.write_file("b", b"")
    assert (reads.hits, epochs.hits) == (1, 0)


def test_an_unknown_mode_or_detail_is_refused(disk: FaultyDisk) -> None:
    with pytest.raises(ValueError, match="melt"):
        disk.set_fault("melt")
    with pytest.raises(TypeError, match="speed"):
        disk.set_fault("slow", speed=3)
