from __future__ import annotations

from broker.storage.memory_disk import MemoryDisk
from protocol.faults.model import DiskMode
from simulation.contracts.storage.disks import content, durable, has_durable, is_spoilt, tree_of
from tests.broker.storage.builders import faulty


def written() -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_dir("orders-0")
    disk.write_file("orders-0/log", b"records")
    return disk


def test_of_a_file_that_was_not_synced_nothing_is_durable() -> None:
    disk = written()
    tree = tree_of(disk)
    assert tree is not None
    assert content(tree, "orders-0/log") == b"records"
    assert durable(tree, "orders-0/log") is None

    disk.sync_file("orders-0/log")
    assert durable(tree, "orders-0/log") is None
    disk.sync_dir("orders-0")
    assert durable(tree, "orders-0/log") is None
    disk.sync_dir("")

    assert durable(tree, "orders-0/log") == b"records"


def test_as_much_of_a_file_is_durable_as_was_synced() -> None:
    disk = written()
    tree = tree_of(disk)
    assert tree is not None
    assert not has_durable(tree, "orders-0/log", 7)
    disk.sync_all()
    disk.open("orders-0/log", create=False).append([b" and more"])

    assert has_durable(tree, "orders-0/log", 7)
    assert not has_durable(tree, "orders-0/log", 8)
    assert has_durable(tree, "orders-1/log", 7)


def test_a_disk_that_wrote_to_wrong_places_or_was_edited_tells_nothing() -> None:
    disk = written()
    lying = faulty(disk)
    assert tree_of(lying) is not None
    lying.write_elsewhere("orders-0/log", b"other")
    assert tree_of(lying) is None

    disk.is_edited = True
    assert tree_of(disk) is None


def test_a_name_that_the_disk_loses_is_no_fault_of_a_broker() -> None:
    disk = written()
    disk.lose_entry("orders-0")
    tree = tree_of(disk)
    assert tree is not None

    assert has_durable(tree, "orders-0/log", 7)


def test_what_is_no_file_has_no_content() -> None:
    tree = tree_of(written())
    assert tree is not None

    assert content(tree, "orders-0") is None
    assert content(tree, "orders-1/log") is None
    assert durable(tree, "orders-0") is None


def test_a_name_that_is_never_durable_is_told() -> None:
    disk = written()
    tree = tree_of(disk)
    assert tree is not None
    assert not is_spoilt(tree, "orders-0/log")

    disk.lose_entry("orders-0")

    assert is_spoilt(tree, "orders-0/log")
    assert not is_spoilt(tree, "orders-1")


def test_a_disk_with_faults_tells_nothing_until_they_are_off() -> None:
    disk = faulty(faulty(written()))
    assert tree_of(disk) is not None

    disk.set_fault(DiskMode.EIO)
    assert tree_of(disk) is None
    disk.clear()

    assert tree_of(disk) is not None
