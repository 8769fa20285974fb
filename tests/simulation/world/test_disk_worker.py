"""Jobs of a log dir: in order, in virtual time, and in the middle of a fault."""

from __future__ import annotations

import asyncio

import pytest

from protocol.faults.model import Operation
from simulation.world.disk_speed import DiskSpeed
from tests.simulation.world.drives import new_drive, run, worker_of
from tests.simulation.world.worlds import sim_loop

WRITES = (Operation.WRITE,)


async def test_results_come_in_order_and_after_the_time_the_disk_took():
    drive = new_drive()
    drive.speed = DiskSpeed(operation_us=10_000)
    disk, before_us = drive.faults, sim_loop().now_us
    done = run(
        worker_of(drive),
        lambda: disk.write_file("a", b"1"),
        lambda: disk.read_file("a"),
        lambda: 1 / 0,
    )
    results = await done
    assert results[:2] == [None, b"1"]
    assert isinstance(results[2], ZeroDivisionError)
    assert 10_000 <= sim_loop().now_us - before_us <= 31_000


async def test_after_a_disk_error_the_rest_is_not_done():
    drive = new_drive()
    drive.faults.set_fault("eio", operations=WRITES, nth=2)
    done = run(
        worker_of(drive),
        lambda: drive.faults.write_file("a", b"1"),
        lambda: drive.faults.write_file("b", b"2"),
        lambda: drive.faults.write_file("c", b"3"),
    )
    results = await done
    assert results[0] is None
    assert results[1] is results[2]
    assert not drive.faults.exists("c")


async def test_a_hang_stops_a_batch_in_its_middle_and_its_end_lets_it_go_on():
    drive = new_drive()
    drive.faults.set_fault("hang", operations=WRITES, nth=2)
    done = run(
        worker_of(drive),
        lambda: drive.faults.write_file("a", b"1"),
        lambda: drive.faults.write_file("b", b"2"),
    )
    await asyncio.sleep(3600)
    assert not done.done()
    assert drive.disk.exists("a")
    assert not drive.disk.exists("b")
    drive.faults.clear()
    assert await done == [None, None]
    assert drive.disk.exists("b")


async def test_a_slow_disk_takes_its_delay_for_every_operation():
    drive = new_drive()
    drive.faults.set_fault("slow", operations=WRITES, delay_ms=1000)
    before_s = sim_loop().time()
    done = run(worker_of(drive), *[lambda: drive.faults.write_file("a", b"1")] * 3)
    await asyncio.sleep(1.5)
    assert drive.disk.exists("a")
    await done
    assert sim_loop().time() - before_s == pytest.approx(3, abs=0.1)


async def test_an_abandoned_worker_reports_nothing_and_does_its_last_behind_what_hangs():
    drive, last = new_drive(), list[str]()
    drive.faults.set_fault("hang")
    worker = worker_of(drive)
    done = run(worker, lambda: drive.faults.write_file("a", b"1"))
    await asyncio.sleep(1)
    worker.abandon(lambda: last.append("last"), lambda: last.append("told"))
    await asyncio.sleep(1)
    assert last == []
    drive.faults.clear()
    await asyncio.sleep(1)
    assert last == ["last", "told"]
    assert not done.done()


async def test_an_idle_worker_that_is_abandoned_does_its_last_at_once():
    last: list[str] = []
    worker_of(new_drive()).abandon(lambda: last.append("last"))
    await asyncio.sleep(0.001)
    assert last == ["last"]
