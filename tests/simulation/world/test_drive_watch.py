"""What counts as damage to a disk."""

from __future__ import annotations

import asyncio

from protocol.fault_model import DiskMode
from simulation.core.samples import Samples
from simulation.world.drive_watch import DriveWatch
from tests.simulation.workload.lab import Lab
from tests.simulation.world.worlds import sim_loop


def _told(samples: Samples) -> list[tuple[int, str, str, bool]]:
    return [(each.broker, each.log_dir, each.what, each.is_lasting) for each in samples.damages]


async def test_a_power_cut_is_damage_to_each_disk_once() -> None:
    lab = await Lab.running()
    samples = Samples()
    watch = DriveWatch(lab.cluster.brokers[1], samples)
    watch.look(0)
    assert samples.damages == []

    lab.cluster.brokers[1].power_cut()
    watch.look(5)
    watch.look(6)

    what = "lost what was not durable"
    assert _told(samples) == [(1, "/b1/d1", what, False), (1, "/b1/d2", what, False)]
    assert {each.at_us for each in samples.damages} == {5}


async def test_faults_that_lose_or_change_data_are_damage_when_they_meet_something() -> None:
    lab = await Lab.running()
    samples = Samples()
    watch = DriveWatch(lab.cluster.brokers[1], samples)
    faults = lab.cluster.faults("broker-1", "/b1/d1")
    faults.set_fault(DiskMode.MISDIRECTED_WRITE)
    watch.look(sim_loop().now_us)
    assert samples.damages == []

    await asyncio.sleep(30)
    watch.look(sim_loop().now_us)
    faults.clear()

    assert _told(samples) == [(1, "/b1/d1", "misdirected_write", True)]


async def test_faults_that_a_broker_is_told_of_are_no_damage() -> None:
    lab = await Lab.running()
    samples = Samples()
    watch = DriveWatch(lab.cluster.brokers[1], samples)
    rule = lab.cluster.faults("broker-1", "/b1/d1").set_fault(DiskMode.EIO)
    await asyncio.sleep(10)

    watch.look(sim_loop().now_us)

    assert rule.hits > 0
    assert samples.damages == []
