"""What counts as damage to a disk."""

from __future__ import annotations

import asyncio

from protocol.faults.model import DiskMode, FileClass
from protocol.ids import TopicPartition
from simulation.core.samples import Samples
from simulation.world.drive_sampler import DriveSampler
from tests.broker.storage.builders import disk_rule
from tests.simulation.workload.lab import Lab
from tests.simulation.world.worlds import sim_loop


def _told(samples: Samples) -> list[tuple[int, str, str, bool]]:
    return [(each.broker, each.log_dir, each.what, each.is_lasting) for each in samples.damages]


async def test_a_power_cut_is_damage_to_each_disk_once() -> None:
    lab = await Lab.running()
    samples = Samples()
    watch = DriveSampler(lab.cluster.brokers[1], samples)
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
    watch = DriveSampler(lab.cluster.brokers[1], samples)
    faults = lab.cluster.faults("broker-1", "/b1/d1")
    faults.set_fault(DiskMode.MISDIRECTED_WRITE)
    watch.look(sim_loop().now_us)
    assert samples.damages == []

    await asyncio.sleep(30)
    watch.look(sim_loop().now_us)
    faults.clear()

    assert set(_told(samples)) == {(1, "/b1/d1", "misdirected_write", True)}
    assert {each.tp for each in samples.damages} == {None}, "no log was hit"


async def test_misdirected_writes_concern_the_partitions_that_they_hit() -> None:
    lab = await Lab.running()
    samples = Samples()
    watch = DriveSampler(lab.cluster.brokers[1], samples)
    faults = lab.cluster.faults("broker-1", "/b1/d1")
    for name in ("a-0/1.log", "b-7/1.log"):
        faults.make_dir(name.partition("/")[0])
        faults.write_file(name, b"whole")
    rule = disk_rule(mode=DiskMode.MISDIRECTED_WRITE, files=(FileClass.LOG,))
    faults.add_rule(rule)
    faults.write_file("a-0/1.log", b"other")
    watch.look(5)
    faults.drop_rule(rule)

    struck = [each.tp for each in samples.damages]
    assert struck == [TopicPartition("a", 0), TopicPartition("b", 7)]


async def test_an_empty_disk_ends_what_was_damaged() -> None:
    lab = await Lab.running()
    samples = Samples()
    watch = DriveSampler(lab.cluster.brokers[1], samples)
    lab.cluster.brokers[1].drives["/b1/d1"].empty().prepare()
    watch.look(5)

    assert [each.is_emptied for each in samples.damages] == [True]


async def test_a_rule_that_takes_the_place_of_another_is_damage_too() -> None:
    lab = await Lab.running()
    samples = Samples()
    watch = DriveSampler(lab.cluster.brokers[1], samples)
    faults = lab.cluster.faults("broker-1", "/b1/d1")
    faults.write_file("a", b"whole")
    for times in (2, 1):
        rule = disk_rule(mode=DiskMode.BIT_FLIP, times=times)
        faults.add_rule(rule)
        for _ in range(times):
            faults.read_file("a")
        watch.look(5)
        faults.drop_rule(rule)

    assert len(samples.damages) == 2


async def test_faults_that_a_broker_is_told_of_are_no_damage() -> None:
    lab = await Lab.running()
    samples = Samples()
    watch = DriveSampler(lab.cluster.brokers[1], samples)
    rule = lab.cluster.faults("broker-1", "/b1/d1").set_fault(DiskMode.EIO)
    await asyncio.sleep(10)

    watch.look(sim_loop().now_us)

    assert rule.hits > 0
    assert samples.damages == []
