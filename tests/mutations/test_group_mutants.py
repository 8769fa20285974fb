"""The checkers of groups catch a coordinator that breaks what they check, and no other one."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.groups.group_offsets import GroupOffsets
from broker.core.groups.group_shard import GroupShard
from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.workload.clients import addresses_of
from simulation.workload.consumer import ConsumerSettings
from simulation.workload.group_administrator import GroupAdministrator, GroupAdministratorSettings
from simulation.workload.group_consumer import GroupConsumerSettings, GroupConsumerWorkload
from simulation.workload.java_member import JavaMemberWorkload
from simulation.world.foreign_clocks import foreign_clocks
from tests.mutations import group_mutants
from tests.mutations.mutants import turn_into
from tests.mutations.trial import Trial
from tests.simulation.world.worlds import sim_loop

broken_or_not = pytest.mark.parametrize("is_broken", [False, True], ids=["real", "mutant"])
SETTINGS = GroupConsumerSettings(topic="orders", group="readers")


async def with_groups() -> Trial:
    trial = await Trial.begin(1, 2)
    await trial.create(CONSUMER_OFFSETS, 1, 2, configs={"cleanup.policy": "compact"})
    await asyncio.sleep(1)
    return trial


def shard(trial: Trial) -> GroupShard:
    """Return what broker 1 knows of groups."""
    running = trial.cluster.brokers[1].broker
    assert running is not None
    (found,) = running._parts.coordinators.groups.shards()  # pyright: ignore[reportPrivateUsage]
    return found


def member(trial: Trial, name: str) -> GroupConsumerWorkload:
    addresses = addresses_of(trial.cluster.spec)
    return GroupConsumerWorkload(addresses, name, trial.history, SETTINGS)


async def work(*members: GroupConsumerWorkload, seconds: float = 10) -> None:
    """Let members be in their group for a while."""
    async with asyncio.TaskGroup() as tasks:
        for each in members:
            tasks.create_task(each.run())
        await asyncio.sleep(seconds)
        for each in members:
            each.stop()


@broken_or_not
async def test_commits_that_were_answered_and_are_forgotten(is_broken: bool) -> None:
    with foreign_clocks(sim_loop()):
        trial = await with_groups()
        await trial.producer(records_max=5).run()
        await work(member(trial, "one"))
        if is_broken:
            turn_into(group_mutants.ForgetfulOffsets, shard(trial).offsets)
        await work(member(trial, "other"))
        await trial.producer(records_max=5).run()

        findings = await trial.findings()

    assert findings == (["settled", "groups"] if is_broken else [])


@broken_or_not
async def test_a_partition_that_two_members_are_assigned(is_broken: bool) -> None:
    with foreign_clocks(sim_loop()):
        trial = await with_groups()
        if is_broken:
            classic = shard(trial).members.classic
            rebalances = classic._rebalances  # pyright: ignore[reportPrivateUsage]
            turn_into(group_mutants.GenerousRebalances, rebalances)
        await work(member(trial, "one"), member(trial, "other"))

        findings = await trial.findings()

    assert findings == (["groups"] if is_broken else [])


def java_member(trial: Trial, name: str, topic: str = "orders") -> JavaMemberWorkload:
    settings = ConsumerSettings(topic=topic, group="readers")
    return JavaMemberWorkload(f"{name}-id", trial.new_client(name), trial.history, settings)


@broken_or_not
async def test_a_commit_of_a_generation_that_is_over(is_broken: bool) -> None:
    with foreign_clocks(sim_loop()):
        trial = await with_groups()
        if is_broken:
            turn_into(group_mutants.LenientMembers, shard(trial).members)
        await trial.producer(records_max=5).run()
        await work(member(trial, "one"))

        findings = await trial.findings()

    assert findings == (["groups"] if is_broken else [])


@broken_or_not
async def test_a_commit_of_an_epoch_in_which_the_partition_was_not_assigned(
    is_broken: bool,
) -> None:
    trial = await with_groups()
    if is_broken:
        turn_into(group_mutants.LenientMembers, shard(trial).members)
    one = java_member(trial, "one")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(one.run())
        await asyncio.sleep(2)
        one.stop()

    findings = await trial.findings()

    assert findings == (["groups"] if is_broken else [])


@broken_or_not
async def test_a_partition_that_another_member_is_given_before_it_is_released(
    is_broken: bool,
) -> None:
    trial = await with_groups()
    await trial.admin.create_topic("bills", assignment=[(1,), (2,)])
    await trial.until_led(TopicPartition("bills", 1), 2)
    one, other = (java_member(trial, name, "bills") for name in ("one", "other"))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(one.run())
        await asyncio.sleep(7)
        if is_broken:
            group = shard(trial).members.consumer.get("readers")
            turn_into(group_mutants.UnclaimedGroup, group)
        tasks.create_task(other.run())
        await asyncio.sleep(15)
        one.stop()
        other.stop()

    findings = await trial.findings()

    assert findings == (["groups"] if is_broken else [])


class Script:
    """What an administrator draws: to set an offset to 700, to delete the group, and then reads."""

    def __init__(self) -> None:
        self._drawn = iter((9, 700, 0))

    def randrange(self, stop: int, /) -> int:
        drawn = next(self._drawn, 4)
        assert drawn < stop
        return drawn


async def administer(trial: Trial, one: GroupAdministrator) -> None:
    """Let somebody administer a group without members, and look from another broker at last."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(one.run())
        await asyncio.sleep(2)
        trial.cluster.brokers[1].kill()
        await asyncio.sleep(10)
        one.stop()


@broken_or_not
@pytest.mark.parametrize("broken", [group_mutants.StubbornOffsets, group_mutants.SilentOffsets])
async def test_offsets_of_a_deleted_group_that_stay_or_come_back(
    broken: type[GroupOffsets], is_broken: bool
) -> None:
    trial = await with_groups()
    if is_broken:
        turn_into(broken, shard(trial).offsets)
    settings = GroupAdministratorSettings(topic="orders", group="administered")
    client = trial.new_client("administrator")
    await administer(trial, GroupAdministrator(client, trial.history, Script(), settings))

    findings = await trial.findings(heals=True)

    assert findings == (["settled", "group offsets"] if is_broken else [])
