# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient

from simulation.workload.aiokafka_clients import AiokafkaConsumerWorkload, AiokafkaProducerWorkload
from simulation.workload.clients import addresses_of
from simulation.workload.consumer import ConsumerSettings
from simulation.workload.producer import ProducerSettings
from simulation.world.foreign_clocks import foreign_clocks
from tests.simulation.workload.lab import TP, Lab
from tests.simulation.world.worlds import sim_loop

SECONDS = 5


@pytest.fixture
def asked_s() -> Iterator[dict[str, list[float]]]:
    """When each client of the library asks for metadata, by its id."""
    library: Any = AIOKafkaClient
    update = library._metadata_update
    asked: dict[str, list[float]] = {"writer": [], "reader": []}

    async def watched(client: Any, *args: Any) -> bool:
        asked[client._client_id].append(asyncio.get_running_loop().time())
        return await update(client, *args)

    library._metadata_update = watched
    yield asked
    library._metadata_update = update


async def test_clients_of_a_partition_without_a_leader_back_off_and_go_on_when_it_has_one(
    lab: Lab, asked_s: dict[str, list[float]]
) -> None:
    await lab.create()
    addresses = addresses_of(lab.cluster.spec)
    writing, reading = ProducerSettings(topic="orders"), ConsumerSettings(topic="orders")
    producer = AiokafkaProducerWorkload(1, addresses, "writer", lab.history, writing)
    consumer = AiokafkaConsumerWorkload(addresses, "reader", lab.history, reading)
    leader = lab.cluster.brokers[(await lab.client.view(["orders"])).by_partition[TP].leader]
    with foreign_clocks(sim_loop()):
        async with asyncio.TaskGroup() as group:
            for client in (producer, consumer):
                group.create_task(client.run())
            await asyncio.sleep(1)
            leader.kill()
            await asyncio.sleep(SECONDS)
            without_s = asyncio.get_running_loop().time()
            leader.start()
            read = consumer.progress.read
            async with asyncio.timeout(60):
                while consumer.progress.read < read + 10:  # noqa: ASYNC110 -- nothing tells
                    await asyncio.sleep(0.05)
            producer.stop()
            consumer.stop()

    for client, settings in (("writer", writing), ("reader", reading)):
        times = [at_s for at_s in asked_s[client] if at_s < without_s]
        pauses = [later - earlier for earlier, later in pairwise(times)]
        assert min(pauses) >= settings.retry_backoff_ms / 1000, client
