"""What each fault does to a disk that is otherwise good."""

from __future__ import annotations

import errno
import random
import threading

import pytest

from broker.storage.fault_rules import FaultRule
from broker.storage.faults import FaultyDisk, ThreadGate
from broker.storage.memory_disk import MemoryDisk
from protocol.fault_model import DiskMode, FileClass, Operation
from tests.broker.storage.builders import faulty

DEADLINE_S = 10.0


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
        file.begin_sync,
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


def test_a_rule_with_a_probability_meets_some(disk: FaultyDisk) -> None:
    rule = disk.set_fault("eio", probability=0.5, operations=frozenset({Operation.READ}))
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
    reads = FaultRule(mode=DiskMode.EIO, operations=frozenset({Operation.READ}), nth=2)
    epochs = FaultRule(mode=DiskMode.ENOSPC, file_classes=frozenset({FileClass.LEADER_EPOCHS}))
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
