"""aiokafka's transactional producer in a simulated world: each transaction is written down."""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import asyncio

import pytest
from aiokafka.errors import UnknownTopicOrPartitionError

from protocol.ids import TopicPartition
from simulation.core.history import Function, Kind, Txn
from simulation.workload.clients import addresses_of
from simulation.workload.producer import ProducerSettings
from simulation.workload.transactional_producer import (
    TransactionalProducerWorkload,
    TransactionSettings,
    new_sends,
)
from simulation.world.foreign_clocks import foreign_clocks
from tests.simulation.workload.lab import Lab
from tests.simulation.world.worlds import sim_loop


def producer(
    lab: Lab, records_max: int, number: int = 1, aborts_every: int = 0
) -> TransactionalProducerWorkload:
    settings = ProducerSettings(topic="orders", batch_records=4, records_max=records_max)
    ending = TransactionSettings(aborts_every=aborts_every)
    addresses = addresses_of(lab.cluster.spec)
    return TransactionalProducerWorkload(number, addresses, "writer", lab.history, settings, ending)


def transactions(lab: Lab) -> list[tuple[Kind, Txn]]:
    return [
        (operation.kind, operation.value)
        for operation in lab.history
        if operation.function is Function.TXN and isinstance(operation.value, Txn)
        if operation.kind is not Kind.INVOKE
    ]


async def test_transactions_are_committed_and_each_second_one_aborted(lab: Lab) -> None:
    await lab.create(partitions=2)
    with foreign_clocks(sim_loop()):
        writing = producer(lab, records_max=12, aborts_every=2)
        await writing.run()

    (first, told), (second, _), (third, later) = transactions(lab)
    assert [first, second, third] == [Kind.OK, Kind.FAIL, Kind.OK]
    assert [(send.tp.partition, send.base_offset) for send in told.sends] == [
        (0, 0),
        (1, 0),
        (0, 1),
        (1, 1),
    ]
    # Two records and a marker each, of the first and of the second one.
    assert later.sends[0].tp == TopicPartition("orders", 0)
    assert later.sends[0].base_offset == 6
    assert writing.progress.acknowledged == 8


async def test_a_producer_that_another_one_of_its_name_fenced_goes_on_as_a_new_one(
    lab: Lab,
) -> None:
    await lab.create()
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as tasks:
            first = producer(lab, records_max=10_000)
            tasks.create_task(first.run())
            async with asyncio.timeout(60):
                while not first.progress.acknowledged:  # noqa: ASYNC110 - no event
                    await asyncio.sleep(0.1)
            await producer(lab, records_max=4, number=2).run()
            before = first.progress.acknowledged
            async with asyncio.timeout(60):
                while first.progress.acknowledged < before + 8:  # noqa: ASYNC110 - no event
                    await asyncio.sleep(0.1)
            first.stop()

    assert first.progress.errors


async def test_a_coordinator_that_never_comes_back_is_given_up(lab: Lab) -> None:
    """Seed 792071: the only log of the coordinator was lost, and the writer never ended."""
    await lab.create()
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as tasks:
            writing = producer(lab, records_max=10_000)
            run = tasks.create_task(writing.run())
            async with asyncio.timeout(60):
                while not writing.progress.acknowledged:  # noqa: ASYNC110 - no event
                    await asyncio.sleep(0.1)
            for broker in lab.cluster.brokers.values():
                broker.kill()
            await asyncio.sleep(1)
            writing.stop()
            async with asyncio.timeout(100):
                await run

    assert transactions(lab)[-1][0] in (Kind.FAIL, Kind.INFO)
    assert writing.progress.errors == {"KafkaTimeoutError": 1}


def test_records_for_a_topic_without_partitions_are_an_error_that_ends_the_producer() -> None:
    with pytest.raises(UnknownTopicOrPartitionError):
        new_sends(1, range(2), "orders", [])
