"""Members of a group in a simulated world: what they own, read and commit is written down."""

from __future__ import annotations

import asyncio

from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.core.history import NO_GENERATION, Assignment, Commit, Function, Kind, Poll
from simulation.workload.clients import addresses_of
from simulation.workload.group_consumer import GroupConsumerSettings, GroupConsumerWorkload
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.world.foreign_clocks import foreign_clocks
from tests.simulation.workload.lab import Lab
from tests.simulation.world.worlds import sim_loop

SETTINGS = GroupConsumerSettings(topic="orders", group="readers")


def member(lab: Lab, name: str) -> GroupConsumerWorkload:
    return GroupConsumerWorkload(addresses_of(lab.cluster.spec), name, lab.history, SETTINGS)


async def until(*members: GroupConsumerWorkload, read: int) -> None:
    async with asyncio.timeout(60):
        while sum(each.progress.read for each in members) < read:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.1)


def owned(lab: Lab) -> list[tuple[int, list[TopicPartition]]]:
    """Return what was assigned by then, as generation and partitions."""
    values = [operation.value for operation in lab.ended(Function.ASSIGN)]
    return [
        (value.generation, list(value.partitions))
        for value in values
        if isinstance(value, Assignment)
    ]


def committed(lab: Lab) -> dict[TopicPartition, int]:
    """Return the last commit of each partition that was answered."""
    values = [operation.value for operation in lab.ended(Function.COMMIT)]
    return {tp: at for value in values if isinstance(value, Commit) for tp, at in value.offsets}


async def write(lab: Lab, count: int) -> None:
    settings = ProducerSettings(topic="orders", records_max=count)
    client = lab.new_client("writer")
    await ProducerWorkload(1, client, lab.history, settings, lab.clock).run()


async def test_two_members_share_a_topic_and_one_goes_on_where_the_other_was(lab: Lab) -> None:
    await lab.create(partitions=2, replication_factor=3)
    tps = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as tasks:
            one, other = member(lab, "one"), member(lab, "other")
            tasks.create_task(one.run())
            tasks.create_task(other.run())
            await write(lab, 10)
            await until(one, other, read=10)
            one.stop()
            other.stop()
        generation = max(each for each, _ in owned(lab))
        shares = [share for each, share in owned(lab) if each == generation]
        assert sorted(tp for share in shares for tp in share) == tps
        assert committed(lab) == dict.fromkeys(tps, 5)

        async with asyncio.TaskGroup() as tasks:
            third = member(lab, "third")
            tasks.create_task(third.run())
            await write(lab, 4)
            await until(third, read=4)
            third.stop()
    assert owned(lab)[-2:] == [(generation + 2, tps), (NO_GENERATION, [])]
    reads = [
        read.fetch_offset
        for operation in lab.ended(Function.POLL)
        if operation.client == "third" and isinstance(operation.value, Poll)
        for read in operation.value.reads
    ]
    assert min(reads) == 5


async def test_a_member_that_is_stopped_ends_though_no_coordinator_answers_its_commit(
    lab: Lab,
) -> None:
    await lab.create()
    led = (await lab.client.view(["orders"])).partition("orders", 0).leader
    other = next(number for number in (1, 2, 3) if number != led)
    await lab.admin.create_topic(CONSUMER_OFFSETS, assignment=[(other,)])
    with foreign_clocks(sim_loop()):
        async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
            one = member(lab, "one")
            tasks.create_task(one.run())
            await write(lab, 5)
            await until(one, read=5)
            lab.cluster.node(f"broker-{other}").kill()
            await write(lab, 5)
            await until(one, read=10)
            one.stop()
    assert {each.error for each in lab.ended(Function.COMMIT, Kind.INFO)} == {"TimeoutError"}
