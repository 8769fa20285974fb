"""Every operation knows what to do with every mode that can meet it."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress

import pytest

from broker.storage.fault_gates import ThreadGate
from broker.storage.faults import FaultyDisk
from broker.storage.memory_disk import MemoryDisk
from protocol.faults.model import DiskMode, Operation

CALLS: dict[Operation, Callable[[FaultyDisk], object]] = {
    Operation.OPEN: lambda disk: disk.open("a", create=False),
    Operation.CREATE: lambda disk: disk.write_file("new", b"x"),
    Operation.READ: lambda disk: disk.read_file("a"),
    Operation.APPEND: lambda disk: disk.open("a", create=False).append([b"more"]),
    Operation.WRITE: lambda disk: disk.write_file("a", b"other"),
    Operation.TRUNCATE: lambda disk: disk.open("a", create=False).truncate(1),
    Operation.SYNC: lambda disk: disk.sync_file("a"),
    Operation.MAKE_DIR: lambda disk: disk.make_dir("d"),
    Operation.RENAME: lambda disk: disk.rename("a", "c"),
    Operation.REMOVE: lambda disk: disk.remove("a"),
    Operation.LOOK: lambda disk: disk.exists("a"),
    Operation.LOCK: lambda disk: disk.lock(),
}
MEETINGS = [(mode, each) for mode in DiskMode for each in Operation if each in mode.row.meets]


class OpenGate(ThreadGate):
    """A gate that holds nobody back."""

    def wait(self, timeout_ms: int | None) -> None:
        del timeout_ms


@pytest.mark.parametrize(
    ("mode", "operation"), MEETINGS, ids=[f"{mode.value}-{each.value}" for mode, each in MEETINGS]
)
def test_an_operation_that_meets_a_fault_does_what_its_mode_says(
    mode: DiskMode, operation: Operation
) -> None:
    memory = MemoryDisk()
    memory.write_file("a", b"content")
    memory.write_file("b", b"another")
    disk = FaultyDisk(memory, chance=random.Random(1), new_gate=OpenGate)
    rule = disk.set_fault(mode, operations=(operation,))

    with suppress(OSError):
        CALLS[operation](disk)

    assert (rule.matches, rule.hits) == (1, 1)


@pytest.mark.parametrize(
    "mode",
    [each for each in DiskMode if each.row.fails_every_write and not each.row.holds_back],
    ids=lambda mode: mode.value,
)
def test_no_write_succeeds_under_a_mode_that_is_said_to_fail_all(mode: DiskMode) -> None:
    disk = FaultyDisk(MemoryDisk(), chance=random.Random(1))
    disk.set_fault(mode)
    with pytest.raises(OSError, match="injected"):
        disk.write_atomic("a", b"content")
