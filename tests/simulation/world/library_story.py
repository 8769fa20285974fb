"""``python -m tests.simulation.world.library_story SEED``: many topics, printed as a trace's hash.

Producers and consumers of an unmodified aiokafka that work on several topics each, while a broker
is killed and comes back.
"""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from simulation.world.cluster import SimCluster
from simulation.world.foreign_clocks import foreign_clocks
from simulation.world.loop import SimLoop, run_world
from tests.simulation.world.worlds import small_cluster

TOPICS = ("orders", "payments", "parcels", "returns", "a", "letters", "zones", "stock")
BOOTSTRAP = "127.0.0.1:9001,127.0.0.1:9002,127.0.0.1:9003"
RECORDS = 80
"""Of each producer."""


async def produce(name: str) -> None:
    """Write to all topics in turn, several records under way."""
    producer = AIOKafkaProducer(
        bootstrap_servers=BOOTSTRAP, client_id=name, acks="all", request_timeout_ms=10_000
    )
    await producer.start()
    under_way = []
    for number in range(RECORDS):
        value = f"{name} {number}".encode()
        under_way.append(await producer.send(TOPICS[number % len(TOPICS)], value))
        await asyncio.sleep(0.02)
    await asyncio.gather(*under_way)
    await producer.stop()


async def consume(name: str, topics: tuple[str, ...], count: int) -> None:
    """Read all that producers write to some topics."""
    consumer = AIOKafkaConsumer(
        *topics, bootstrap_servers=BOOTSTRAP, client_id=name, auto_offset_reset="earliest"
    )
    await consumer.start()
    while count > 0:
        for records in (await consumer.getmany(timeout_ms=500)).values():
            count -= len(records)
    await consumer.stop()


async def story(loop: SimLoop) -> str:
    """Tell it; return the hash."""
    topics = [f"{{name: {name}, partitions: 3, replication_factor: 3}}" for name in TOPICS]
    cluster = SimCluster(loop, small_cluster(topics=topics))
    await cluster.start()
    with foreign_clocks(loop):
        async with asyncio.TaskGroup() as clients:
            for name in ("first", "second"):
                clients.create_task(produce(name))
            clients.create_task(consume("of-all", TOPICS, 2 * RECORDS))
            clients.create_task(consume("of-some", TOPICS[:4], RECORDS))
            await asyncio.sleep(0.5)
            cluster.brokers[2].kill()
            await asyncio.sleep(5)
            cluster.brokers[2].start()
    await cluster.until(cluster.is_up, timeout_ms=60_000)
    await cluster.stop()
    assert loop.unhandled == []
    return f"{loop.trace.hexdigest()} {loop.steps} {loop.now_us}"


def main() -> None:
    """Print the hash, the steps and the time."""
    sys.stdout.write(run_world(int(sys.argv[1]), story, steps_max=400_000) + "\n")


if __name__ == "__main__":
    main()
