"""Which operations a rule meets."""

from __future__ import annotations

import pytest

from broker.storage.fault_rules import FaultRule, file_class_of
from protocol.faults.model import DiskFault, DiskMode, FileClass, Operation
from tests.broker.storage.builders import disk_rule


@pytest.mark.parametrize(
    ("name", "file_class"),
    [
        ("t-0/00000000000000000000.log", FileClass.LOG),
        ("t-0/00000000000000000000.timeindex", FileClass.INDEX),
        ("t-0/00000000000000000000.txnindex.tmp", FileClass.INDEX),
        ("t-0/00000000000000000007.snapshot", FileClass.SNAPSHOT),
        ("t-0/leader-epoch-checkpoint", FileClass.LEADER_EPOCHS),
        ("t-0/partition.metadata", FileClass.PARTITION_METADATA),
        ("replication-offset-checkpoint", FileClass.CHECKPOINT),
        ("meta.properties", FileClass.META_PROPERTIES),
        ("t-0", FileClass.OTHER),
        ("", FileClass.OTHER),
    ],
)
def test_the_class_of_a_file_follows_from_its_name(name: str, file_class: FileClass) -> None:
    assert file_class_of(name) is file_class


def test_a_rule_meets_only_what_its_mode_can_mean() -> None:
    full = disk_rule(mode=DiskMode.ENOSPC)
    assert full.meets(Operation.APPEND, "a")
    assert not full.meets(Operation.READ, "a")
    assert disk_rule(mode=DiskMode.BIT_FLIP).meets(Operation.READ, "a")
    assert not disk_rule(mode=DiskMode.BIT_FLIP).meets(Operation.APPEND, "a")
    assert not disk_rule(mode=DiskMode.READ_ONLY).meets(Operation.SYNC, "a")


def test_operation_and_file_class_narrow_a_rule() -> None:
    rule = disk_rule(
        mode=DiskMode.EIO,
        operations=(Operation.WRITE,),
        files=(FileClass.LEADER_EPOCHS,),
    )
    assert rule.meets(Operation.WRITE, "t-0/leader-epoch-checkpoint")
    assert not rule.meets(Operation.READ, "t-0/leader-epoch-checkpoint")
    assert not rule.meets(Operation.WRITE, "meta.properties")
    assert rule.matches == 1


def test_nth_meets_once_and_from_nth_ever_after() -> None:
    once = disk_rule(mode=DiskMode.EIO, nth=2)
    assert [once.meets(Operation.READ, "a") for _ in range(4)] == [False, True, False, False]
    after = disk_rule(mode=DiskMode.EIO, from_nth=3)
    assert [after.meets(Operation.READ, "a") for _ in range(4)] == [False, False, True, True]


def test_a_rule_has_what_its_fault_says() -> None:
    fault = DiskFault(
        mode=DiskMode.SLOW,
        node="broker-1",
        operations=(Operation.SYNC,),
        files=(FileClass.LOG,),
        name="orders-*",
        from_nth=2,
        times=3,
        probability=0.5,
        operations_per_second=300,
    )
    rule = FaultRule(fault)
    assert [rule.meets(Operation.SYNC, "orders-0/1.log") for _ in range(2)] == [False, True]
    assert not rule.meets(Operation.READ, "orders-0/1.log")
    assert not rule.meets(Operation.SYNC, "orders-0/1.index")
    assert not rule.meets(Operation.SYNC, "payments-0/1.log")
    rule.hits = 3
    assert not rule.meets(Operation.SYNC, "orders-0/1.log")
    assert [rule.wait_ms(10) for _ in range(3)] == [3, 3, 3]
    assert disk_rule(mode=DiskMode.EIO).meets(Operation.LOCK, "")


def test_so_much_is_written_before_there_is_no_room() -> None:
    rule = disk_rule(mode=DiskMode.ENOSPC, capacity_bytes=10)
    assert [rule.has_room(size) for size in (6, 5, 4, 0)] == [True, False, True, False]
    assert not disk_rule(mode=DiskMode.ENOSPC).has_room(0)


@pytest.mark.parametrize(
    ("pattern", "name", "is_met"),
    [
        ("orders-*", "orders-0", True),
        ("orders-*", "orders-0/00.log", True),
        ("orders-0", "orders-0/00.log", True),
        ("orders-0/*.log", "orders-0/00.log", True),
        ("orders-0/*.log", "orders-0/00.index", False),
        ("orders-?", "orders-12/00.log", False),
        ("meta.properties", "meta.properties.tmp", True),
    ],
)
def test_a_name_is_that_of_the_file_or_of_its_partition(
    pattern: str, name: str, *, is_met: bool
) -> None:
    assert disk_rule(mode=DiskMode.EIO, name=pattern).meets(Operation.READ, name) is is_met
