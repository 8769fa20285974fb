"""Restless members in a simulated world: their group changes, and at the end nobody is in it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

import pytest

from protocol.messages.transactions import ListTransactionsRequest
from simulation.workload.restless_members import RestlessMembersWorkload, RestlessSettings
from tests.simulation.workload.lab import Lab

SETTINGS = RestlessSettings(
    group="restless", topics=("orders", "bills"), interval_ms=20, requests_max=120
)
QUICK = (
    "{group.consumer.min.session.timeout.ms: 1000, group.consumer.min.heartbeat.interval.ms: 500}"
)


async def test_members_come_by_both_protocols_and_leave_in_the_end(lab: Lab) -> None:
    await lab.create(partitions=3)
    restless = RestlessMembersWorkload(lab.new_client, Random(3), SETTINGS)
    async with asyncio.timeout(60):
        await restless.run()
    assert restless.progress.acknowledged > 80
    assert not restless.progress.errors.get("NETWORK_EXCEPTION")


async def test_one_that_is_stopped_ends_though_somebody_waits(lab: Lab) -> None:
    await lab.create(partitions=1)
    restless = RestlessMembersWorkload(lab.new_client, Random(4), SETTINGS)
    running = asyncio.get_running_loop().create_task(restless.run())
    await asyncio.sleep(0.5)
    restless.stop()
    async with asyncio.timeout(20):
        await running
    assert 0 < restless.progress.acknowledged < 60


@pytest.mark.parametrize("is_quick", [True, False])
async def test_their_group_is_quick_where_brokers_allow_it(is_quick: bool) -> None:
    lab = Lab(configs=QUICK if is_quick else "{}")
    await lab.cluster.start()
    await lab.create(partitions=1)
    settings = replace(SETTINGS, requests_max=1)
    restless = RestlessMembersWorkload(lab.new_client, Random(6), settings)
    async with asyncio.timeout(60):
        await restless.run()
    assert restless.progress.errors.get("INVALID_CONFIG", 0) == (not is_quick)
    await lab.cluster.stop()


async def test_somebody_outside_commits_in_transactions_and_leaves_none_open(lab: Lab) -> None:
    await lab.create(partitions=2)
    settings = replace(SETTINGS, is_transactional=True)
    restless = RestlessMembersWorkload(lab.new_client, Random(8), settings)
    async with asyncio.timeout(60):
        await restless.run()
    reader = lab.new_client("reader")
    answers = [await reader.ask(each, ListTransactionsRequest(), 0) for each in lab.cluster.brokers]
    (row,) = (row for answer in answers for row in answer.transaction_states)
    assert row.transactional_id == "restless-outsider"
    assert row.transaction_state != "Ongoing"
