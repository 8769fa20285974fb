"""A drive outlives the processes that use it."""

from __future__ import annotations

import errno
from random import Random

import pytest

from protocol.faults.model import DiskMode, Operation
from tests.broker.storage.builders import disk_rule
from tests.simulation.world.drives import new_drive


async def test_what_was_not_synced_goes_with_the_power():
    drive = new_drive()
    drive.faults.write_file("a", b"lost")
    drive.faults.write_atomic("b", b"kept")
    drive.power_cut(Random(1))
    assert drive.faults.read_file("b") == b"kept"


async def test_the_lock_of_a_process_that_is_gone_is_free():
    drive = new_drive()
    drive.faults.lock()
    drive.let_go()
    drive.faults.lock()


async def test_a_full_drive_says_so():
    drive = new_drive(capacity_bytes=10)
    drive.faults.write_file("a", b"0123456789")
    with pytest.raises(OSError, match="No space") as caught:
        drive.faults.write_file("b", b"x")
    assert caught.value.errno == errno.ENOSPC


async def test_an_empty_disk_takes_the_place_of_the_other_when_it_is_used_and_keeps_no_fault():
    drive = new_drive()
    old = drive.faults
    old.write_file("a", b"1")
    old.set_fault("eio")
    with pytest.raises(OSError, match="injected"):
        old.read_file("a")
    new = drive.empty()
    assert drive.faults is old
    new.prepare()
    assert drive.faults is new
    assert not drive.faults.exists("a")
    assert drive.fault_hits == 1


async def test_a_fault_that_met_nothing_waits_for_the_disk_that_comes():
    drive = new_drive()
    rule = disk_rule(mode=DiskMode.EIO, operations=(Operation.MAKE_DIR,))
    drive.faults.add_rule(rule)
    drive.empty().prepare()
    with pytest.raises(OSError, match="injected"):
        drive.faults.make_dir("a")
    assert rule.hits == 1
    drive.drop_rule(rule)
    drive.faults.make_dir("a")
