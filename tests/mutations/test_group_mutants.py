"""The checker of groups catches a coordinator that breaks what it checks, and no other one."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.groups.group_shard import GroupShard
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.workload.clients import addresses_of
from simulation.workload.group_consumer import GroupConsumerSettings, GroupConsumerWorkload
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

    assert findings == (["groups"] if is_broken else [])


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
