"""Consume, transform, produce in a simulated world: results and offsets are one transaction."""

from __future__ import annotations

import asyncio

from protocol.ids import TopicPartition
from simulation.core.history import Function, Txn
from simulation.workload.clients import addresses_of
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.workload.transformer import TransformSettings, TransformWorkload
from simulation.world.foreign_clocks import foreign_clocks
from tests.simulation.workload.lab import Lab
from tests.simulation.world.worlds import sim_loop

ORDERS = TopicPartition("orders", 0)
SETTINGS = TransformSettings(
    topic="orders", group="tellers", writing=ProducerSettings(topic="results")
)


def transformer(lab: Lab, number: int) -> TransformWorkload:
    addresses = addresses_of(lab.cluster.spec)
    return TransformWorkload(number, addresses, "teller", lab.history, SETTINGS)


async def write(lab: Lab, number: int) -> None:
    settings = ProducerSettings(topic="orders", records_max=5)
    client = lab.new_client(f"writer-{number}")
    await ProducerWorkload(number, client, lab.history, settings, lab.clock).run()


def transformed(lab: Lab) -> list[int]:
    """Return the offsets that committed transactions took, in their order."""
    return [
        offset
        for operation in lab.ended(Function.TXN)
        if isinstance(operation.value, Txn)
        for read in operation.value.reads
        for offset, _ in read.records
    ]


async def until_at(workload: TransformWorkload, offset: int) -> None:
    async with asyncio.timeout(60):
        while workload.positions.get(ORDERS, 0) < offset:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.1)


async def test_one_that_begins_anew_goes_on_behind_its_last_transaction(lab: Lab) -> None:
    await lab.create()
    await lab.create("results")
    with foreign_clocks(sim_loop()):
        for number in (1, 2):
            await write(lab, number)
            async with asyncio.TaskGroup() as tasks:
                one = transformer(lab, 10 + number)
                tasks.create_task(one.run())
                await until_at(one, 5 * number)
                one.stop()

    assert transformed(lab) == list(range(10))


async def test_a_rebalance_takes_a_new_producer_and_transforms_nothing_twice(lab: Lab) -> None:
    await lab.create()
    await lab.create("results")
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as tasks:
            one = transformer(lab, 11)
            tasks.create_task(one.run())
            await write(lab, 1)
            await until_at(one, 5)
            await one.revoked()
            await write(lab, 2)
            await until_at(one, 10)
            one.stop()

    assert transformed(lab) == list(range(10))
