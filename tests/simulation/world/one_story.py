"""``python -m tests.simulation.world.one_story SEED``: a small story, printed as its trace's hash.

An unmodified aiokafka producer writes with acks=all while a log dir breaks, a broker is killed and
another one loses its power; a consumer then reads everything.
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

TOPIC = "orders"
BOOTSTRAP = "127.0.0.1:9001,127.0.0.1:9002,127.0.0.1:9003"
RECORDS = 60


async def produce(count: int, first: int = 0) -> list[bytes]:
    """Write records one after the other; return those that were acknowledged."""
    producer = AIOKafkaProducer(
        bootstrap_servers=BOOTSTRAP, acks="all", enable_idempotence=True, request_timeout_ms=10_000
    )
    await producer.start()
    values = [b"value %d" % number for number in range(first, first + count)]
    for value in values:
        await producer.send_and_wait(TOPIC, value)
    await producer.stop()
    return values


async def consume(count: int) -> list[bytes]:
    """Read from the beginning until there are so many records."""
    consumer = AIOKafkaConsumer(TOPIC, bootstrap_servers=BOOTSTRAP, auto_offset_reset="earliest")
    await consumer.start()
    values: list[bytes] = []
    while len(values) < count:
        for records in (await consumer.getmany(timeout_ms=1000)).values():
            values += [record.value for record in records if record.value is not None]
    await consumer.stop()
    return values


async def story(loop: SimLoop) -> str:
    """Tell it; return the hash."""
    topic = f"{{name: {TOPIC}, partitions: 3, replication_factor: 3}}"
    cluster = SimCluster(loop, small_cluster(topics=[topic]))
    await cluster.start()
    with foreign_clocks(loop):
        written = await produce(RECORDS)
        cluster.faults("broker-1", "/b1/d1").set_fault("eio")
        written += await produce(RECORDS, RECORDS)
        for node, end in ((cluster.brokers[2], "kill"), (cluster.brokers[3], "power_cut")):
            # One after the other: what only an Isr of one has may go with its machine.
            getattr(node, end)()
            await asyncio.sleep(5)
            node.start()
            await asyncio.sleep(5)
            assert cluster.is_up()
        written += await produce(RECORDS, 2 * RECORDS)
        assert sorted(await consume(len(written))) == sorted(written)
    await cluster.stop()
    assert loop.unhandled == []
    return f"{loop.trace.hexdigest()} {loop.steps} {loop.now_us}"


def main() -> None:
    """Print the hash, the steps and the time."""
    sys.stdout.write(run_world(int(sys.argv[1]), story, steps_max=200_000) + "\n")


if __name__ == "__main__":
    main()
