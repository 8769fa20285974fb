"""Producers that contend for transactional ids in a simulated world: they put each other out."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

from simulation.core.history import Kind
from simulation.core.restless_producers import Book, Numbers
from simulation.workload.restless_producers import (
    RestlessProducerSettings,
    RestlessProducersWorkload,
)
from tests.simulation.workload.lab import Lab

SETTINGS = RestlessProducerSettings(topic="orders", group="notes", interval_ms=20, requests_max=200)


def workload(lab: Lab, seed: int, settings: RestlessProducerSettings) -> RestlessProducersWorkload:
    book = Book(lab.history, "contenders", Numbers(0), lab.clock.now_ms)
    return RestlessProducersWorkload(lab.new_client, book, Random(seed), settings)


async def test_transactions_are_committed_aborted_and_fenced(lab: Lab) -> None:
    await lab.create(partitions=2)
    contenders = workload(lab, 3, SETTINGS)
    async with asyncio.timeout(120):
        await contenders.run()
    progress = contenders.progress
    assert progress.acknowledged > 100
    assert not progress.errors.get("NETWORK_EXCEPTION")
    fenced = {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}
    assert fenced.intersection(progress.errors)
    ends = {(one.kind, one.error) for one in lab.history if one.client == "contenders"}
    assert {(Kind.OK, ""), (Kind.FAIL, "aborted")} <= ends


async def test_one_that_is_stopped_ends_with_what_is_open(lab: Lab) -> None:
    await lab.create()
    contenders = workload(lab, 4, replace(SETTINGS, requests_max=None))
    running = asyncio.get_running_loop().create_task(contenders.run())
    await asyncio.sleep(1)
    contenders.stop()
    async with asyncio.timeout(20):
        await running
    mine = [one.kind for one in lab.history if one.client == "contenders"]
    assert mine.count(Kind.INVOKE) * 2 == len(mine)
