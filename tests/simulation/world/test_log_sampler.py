"""The logs as they lie on the disks."""

from __future__ import annotations

import asyncio

from protocol.faults.model import DiskMode
from simulation.core.samples import LogSample
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.world.log_sampler import sample_logs
from tests.simulation.workload.lab import TP, Lab


async def _with_records() -> Lab:
    lab = await Lab.running()
    await lab.admin.create_topic("orders", assignment=[(1, 2)])
    await lab.until_led("orders")
    settings = ProducerSettings(topic="orders", records_max=6, batch_records=2, is_idempotent=True)
    await ProducerWorkload(4, lab.new_client("writer"), lab.history, settings, lab.clock).run()
    await asyncio.sleep(2)
    return lab


def _by_broker(lab: Lab) -> dict[int, LogSample]:
    return {log.broker: log for log in sample_logs(lab.cluster)}


async def test_batches_and_records_are_read_from_the_files_of_every_replica() -> None:
    lab = await _with_records()

    logs = _by_broker(lab)

    assert sorted(logs) == [1, 2]
    leader, follower = logs[1], logs[2]
    assert (leader.tp, leader.is_leader, leader.is_future, leader.is_readable) == (
        TP,
        True,
        False,
        True,
    )
    assert (leader.high_watermark, leader.log_start_offset) == (6, 0)
    assert [batch.base_offset for batch in leader.batches] == [0, 2, 4]
    assert [batch.base_sequence for batch in leader.batches] == [0, 2, 4]
    assert [each for batch in leader.batches for each in batch.records] == [
        (offset, 4_000_000_000 + offset) for offset in range(6)
    ]
    assert [batch.digest for batch in follower.batches] == [
        batch.digest for batch in leader.batches
    ]
    assert [batch.records for batch in follower.batches] == [
        batch.records for batch in leader.batches
    ]


async def test_what_a_disk_wrote_over_ends_the_log() -> None:
    lab = await _with_records()
    drive = next(
        drive
        for drive in lab.cluster.brokers[1].drives.values()
        if drive.disk.memory.exists(str(TP))
    )
    name = f"{TP}/{0:020}.log"
    data = bytearray(drive.disk.memory.read_file(name))
    middle = len(data) // 3
    data[middle : middle + 40] = b"b" * 40
    drive.disk.memory.write_file(name, data)

    leader = _by_broker(lab)[1]

    assert [batch.base_offset for batch in leader.batches] == [0]


async def test_what_was_deleted_is_not_in_the_log() -> None:
    lab = await _with_records()
    await lab.admin.delete_records(TP, 3)

    leader = _by_broker(lab)[1]

    assert leader.log_start_offset == 3
    assert [batch.base_offset for batch in leader.batches] == [2, 4]


async def test_a_failed_log_dir_is_not_readable() -> None:
    lab = await _with_records()
    path = _by_broker(lab)[2].log_dir
    lab.cluster.faults("broker-2", path).set_fault(DiskMode.EIO)
    await asyncio.sleep(10)

    follower = _by_broker(lab)[2]

    assert not follower.is_readable
    assert follower.batches == ()


async def test_a_future_log_is_told_as_such() -> None:
    lab = await _with_records()
    path = _by_broker(lab)[1].log_dir
    (other,) = [each for each in lab.cluster.brokers[1].drives if each != path]
    lab.cluster.faults("broker-1", other).set_fault(DiskMode.SLOW, delay_ms=50)
    async with asyncio.TaskGroup() as group:
        group.create_task(lab.admin.move_replicas(1, other, [TP]))
        await asyncio.sleep(0.3)
        found = sample_logs(lab.cluster)

    logs = {(log.log_dir, log.is_future) for log in found if log.broker == 1}
    assert logs == {(path, False), (other, True)}


async def test_of_a_broker_that_is_down_only_names_are_told() -> None:
    lab = await _with_records()
    lab.cluster.brokers[2].kill()

    assert not _by_broker(lab)[2].is_readable
