"""Checkers of what brokers know of their logs catch one that knows something else."""

from __future__ import annotations

import asyncio

import pytest

from simulation.world.links import LinkRule
from tests.mutations.log_mutants import (
    AcceptingPartition,
    HoardingPartition,
    HopefulCheckpoints,
)
from tests.mutations.mutants import turn_into
from tests.mutations.trial import TP, Trial

pytestmark = pytest.mark.sampled_among("checkers of logs, with a mutant and without", kept=2)


@pytest.mark.parametrize("is_broken", [False, True], ids=["real", "mutant"])
async def test_leader_epochs_of_records_that_are_deleted(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    await trial.producer().run()
    if is_broken:
        turn_into(HoardingPartition, trial.partition(1))
    await trial.admin.delete_records(TP, 5)

    assert await trial.findings() == (["leader epochs"] if is_broken else [])


@pytest.mark.parametrize("is_broken", [False, True], ids=["real", "mutant"])
async def test_records_that_an_isr_which_is_too_small_does_not_even_append(is_broken: bool) -> None:
    trial = await Trial.begin(2, topic="other")
    await trial.create("orders", 1, 2, configs={"min.insync.replicas": "2"})
    if is_broken:
        turn_into(AcceptingPartition, trial.partition(1))
    trial.cluster.brokers[2].kill()
    await trial.until_isr(TP, 1)
    await trial.producer(records_max=3, delivery_timeout_ms=1_000).run()

    assert "acks" in await trial.findings() if is_broken else await trial.findings() == []


@pytest.mark.parametrize("is_broken", [False, True], ids=["real", "mutant"])
async def test_a_checkpoint_that_takes_the_log_end_for_the_high_watermark(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    if is_broken:
        turn_into(HopefulCheckpoints, trial.engine(1).checkpoints)
    links = trial.loop.network.links
    cut = links.add_rule(LinkRule(source="broker-1", target="broker-2", is_cut=True))
    async with asyncio.TaskGroup() as group:
        group.create_task(trial.producer(records_max=3).run())
        await asyncio.sleep(8)  # Checkpoints are written every five seconds.
        links.remove_rule(cut)

    assert await trial.findings() == (["high watermark"] if is_broken else [])
