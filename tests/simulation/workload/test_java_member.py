"""Members of the consumer protocol in a simulated world: what they read is shared and committed."""

from __future__ import annotations

import asyncio

from protocol.faults.model import DiskMode
from protocol.ids import TopicPartition
from simulation.core.history import Assignment, Commit, Function, Kind
from simulation.workload.consumer import ConsumerSettings
from simulation.workload.java_member import JavaMemberWorkload
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from tests.simulation.workload.lab import Lab

SETTINGS = ConsumerSettings(topic="orders", group="readers")
PARTITIONS = [TopicPartition("orders", partition) for partition in range(2)]


def member(lab: Lab, name: str) -> JavaMemberWorkload:
    return JavaMemberWorkload(f"{name}-id", lab.new_client(name), lab.history, SETTINGS)


async def write(lab: Lab, number: int, count: int = 20) -> None:
    settings = ProducerSettings(topic="orders", records_max=count, interval_ms=20)
    client = lab.new_client(f"writer-{number}")
    await ProducerWorkload(number, client, lab.history, settings, lab.clock).run()


async def until_read(count: int, *members: JavaMemberWorkload) -> None:
    async with asyncio.timeout(90):
        while sum(each.progress.read for each in members) < count:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.1)


def assignments(lab: Lab) -> list[tuple[str, Assignment]]:
    return [
        (each.client, each.value)
        for each in lab.ended(Function.ASSIGN)
        if isinstance(each.value, Assignment)
    ]


def committed(lab: Lab) -> dict[TopicPartition, int]:
    """Return the last offset of each partition whose commit was answered."""
    found: dict[TopicPartition, int] = {}
    for each in lab.ended(Function.COMMIT, Kind.OK):
        assert isinstance(each.value, Commit)
        found.update(each.value.offsets)
    return found


async def test_a_member_reads_all_commits_it_and_the_next_one_goes_on_there(lab: Lab) -> None:
    await lab.create(partitions=2)
    for number in (1, 2):
        await write(lab, number)
        one = member(lab, f"member-{number}")
        async with asyncio.TaskGroup() as group:
            group.create_task(one.run())
            await until_read(20, one)
            one.stop()
        assert one.progress.read == 20
    assert sum(committed(lab).values()) == 40


async def test_two_members_have_a_partition_each_and_who_stays_gets_both(lab: Lab) -> None:
    await lab.create(partitions=2)
    one, other = member(lab, "one"), member(lab, "other")
    async with asyncio.TaskGroup() as group:
        group.create_task(one.run())
        await write(lab, 1)
        await until_read(20, one)
        group.create_task(other.run())
        await asyncio.sleep(20)  # the coordinator asks for a heartbeat every 5 s
        assert sorted([*one.positions, *other.positions]) == PARTITIONS
        await write(lab, 2)
        await until_read(40, one, other)
        other.stop()
        await asyncio.sleep(10)
        assert sorted(one.positions) == PARTITIONS
        one.stop()

    assert one.progress.read + other.progress.read == 40
    told = assignments(lab)
    epochs = [each.generation for _, each in told]
    assert epochs == sorted(epochs)
    owned = {(each.generation, tp, who) for who, each in told for tp in each.partitions}
    assert len(owned) == len({(generation, tp) for generation, tp, _ in owned})
    assert [len(each.placed) for who, each in told if who == "one"][-2:] == [1, 1]


async def test_a_member_whose_session_ended_joins_anew(lab: Lab) -> None:
    await lab.create(partitions=2)
    await write(lab, 1)
    one = member(lab, "one")
    async with asyncio.TaskGroup() as group:
        group.create_task(one.run())
        await until_read(20, one)
        for node in lab.cluster.brokers.values():
            node.pause()
        await asyncio.sleep(60)
        for node in lab.cluster.brokers.values():
            node.resume()
        await asyncio.sleep(30)
        await write(lab, 2)
        await until_read(40, one)
        one.stop()

    epochs = [each.generation for _, each in assignments(lab)]
    assert len(epochs) >= 2
    assert one.progress.errors != {}


async def test_a_commit_that_a_broken_disk_refuses_is_answered_by_the_next_coordinator(
    lab: Lab,
) -> None:
    await lab.create(partitions=2, replication_factor=3)
    one = member(lab, "one")
    async with asyncio.TaskGroup() as group:
        group.create_task(one.run())
        await write(lab, 1)
        await until_read(20, one)
        for drive in lab.cluster.brokers[1].drives.values():
            drive.faults.set_fault(DiskMode.EIO)
        await write(lab, 2)
        await until_read(40, one)
        await asyncio.sleep(15)
        one.stop()

    assert sum(committed(lab).values()) == 40


async def test_a_commit_under_an_epoch_before_the_partition_was_assigned_is_refused(
    lab: Lab,
) -> None:
    await lab.create(partitions=2)
    one = member(lab, "one")
    async with asyncio.TaskGroup() as group:
        group.create_task(one.run())
        await write(lab, 1)
        await until_read(20, one)
        one.stop()

    late = [
        (each.error, each.value.offsets)
        for each in lab.ended(Function.COMMIT, Kind.FAIL)
        if isinstance(each.value, Commit) and each.value.is_late
    ]
    assert sorted(late) == [("STALE_MEMBER_EPOCH", ((tp, 0),)) for tp in PARTITIONS]
