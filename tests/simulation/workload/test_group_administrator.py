"""An administrator of a group without members, in a simulated world."""

from __future__ import annotations

import asyncio
from random import Random

from protocol.errors import ErrorCode
from protocol.ids import NO_OFFSET
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.core.history import Commit, Function, Kind
from simulation.workload.group_administrator import GroupAdministrator, GroupAdministratorSettings
from tests.simulation.workload.lab import TP, Lab

SETTINGS = GroupAdministratorSettings(topic="orders", group="administered", interval_ms=100)
CHANGES = (Function.COMMIT, Function.DELETE_OFFSETS, Function.DELETE_GROUP)


def administrator(lab: Lab) -> GroupAdministrator:
    return GroupAdministrator(lab.new_client("one"), lab.history, Random(1), SETTINGS)


async def work(one: GroupAdministrator, seconds: float = 10) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(one.run())
        await asyncio.sleep(seconds)
        one.stop()


async def test_it_sets_deletes_and_reads_and_reads_what_it_did_last(lab: Lab) -> None:
    await lab.create(partitions=2, replication_factor=3)
    one = administrator(lab)

    await work(one)

    ended = [each for each in lab.history if each.kind is Kind.OK and each.client == "one"]
    assert [each.function for each in ended if each.function in CHANGES]
    for function in (*CHANGES, Function.FETCH_OFFSETS):
        assert lab.ended(function)
    offset = NO_OFFSET
    for operation in ended:
        assert isinstance(operation.value, Commit)
        told = dict(operation.value.offsets).get(TP, offset)
        if operation.function is Function.FETCH_OFFSETS:
            assert told == offset
            assert operation.value.broker in {1, 2, 3}
        offset = told
    assert ended[-1].function is Function.FETCH_OFFSETS
    assert one.progress.acknowledged == len(ended)


async def test_a_group_that_is_not_there_is_not_deleted(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    await work(administrator(lab), seconds=30)
    refused = lab.ended(Function.DELETE_GROUP, Kind.FAIL)
    assert {each.error for each in refused} == {ErrorCode.GROUP_ID_NOT_FOUND.name}


async def test_without_a_coordinator_nothing_was_certainly_done(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    one = administrator(lab)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(one.run())
        await lab.until_led(CONSUMER_OFFSETS)
        for broker in (1, 2, 3):
            lab.cluster.brokers[broker].kill()
        await asyncio.sleep(3)
        one.stop()
    assert one.progress.errors["NETWORK_EXCEPTION"] > 0
    assert lab.history.operations[-1].kind is Kind.FAIL
