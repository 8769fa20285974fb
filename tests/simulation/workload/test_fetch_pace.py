# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient

from protocol.faults.model import DiskMode
from simulation.workload import questions
from simulation.workload.aiokafka_clients import AiokafkaConsumerWorkload
from simulation.workload.clients import addresses_of
from simulation.workload.consumer import ConsumerSettings
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.world.foreign_clocks import foreign_clocks
from tests.simulation.workload.lab import TP, Lab
from tests.simulation.world.worlds import sim_loop

SECONDS = 10


@pytest.fixture
def fetched_s() -> Iterator[list[float]]:
    """When clients of the library fetch."""
    library: Any = AIOKafkaClient
    send = library.send
    times: list[float] = []

    async def watched(client: Any, node_id: int, request: Any, **words: Any) -> Any:
        if type(request).__name__.startswith("FetchRequest"):
            times.append(asyncio.get_running_loop().time())
        return await send(client, node_id, request, **words)

    library.send = watched
    yield times
    library.send = send


async def test_a_reader_of_a_failed_log_dir_backs_off_while_no_controller_elects(
    lab: Lab, fetched_s: list[float]
) -> None:
    await lab.create()
    settings = ConsumerSettings(topic="orders")
    addresses = addresses_of(lab.cluster.spec)
    consumer = AiokafkaConsumerWorkload(addresses, "reader", lab.history, settings)
    leader = (await lab.client.view(["orders"])).by_partition[TP].leader
    (path,) = [
        each.path
        for each in await questions.log_dirs(lab.client, leader)
        if any(log.tp == TP for log in each.replicas)
    ]
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as group:
            group.create_task(consumer.run())
            await asyncio.sleep(1)
            lab.cluster.controller.kill()
            lab.cluster.faults(f"broker-{leader}", path).set_fault(DiskMode.EIO)
            await asyncio.sleep(SECONDS)
            consumer.stop()

    assert 10 < len(fetched_s) < (1 + SECONDS) * 1000 / settings.retry_backoff_ms


async def test_a_reader_that_is_given_records_does_not_wait(
    lab: Lab, fetched_s: list[float]
) -> None:
    await lab.create()
    addresses = addresses_of(lab.cluster.spec)
    reading = ConsumerSettings(topic="orders")
    consumer = AiokafkaConsumerWorkload(addresses, "reader", lab.history, reading)
    writing = ProducerSettings(topic="orders", interval_ms=10)
    producer = ProducerWorkload(1, lab.new_client("writer"), lab.history, writing, lab.clock)
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as group:
            group.create_task(consumer.run())
            group.create_task(producer.run())
            await asyncio.sleep(SECONDS)
            producer.stop()
            consumer.stop()

    assert len(fetched_s) > 5 * SECONDS * 1000 / reading.retry_backoff_ms
