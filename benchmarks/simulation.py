"""How fast a simulated cluster runs: ``python -m benchmarks.simulation``.

Three brokers with three log dirs each and a controller, in one world: idle, with heartbeats every
2 s as in Kafka and every 0.5 s as here by default, with and without a topic; and with a client that
writes 100 records/s with acks=all, ten to a batch or each alone. It prints virtual seconds per
second of processor time (a world has one thread), and how many steps a virtual second takes. The
first virtual seconds, in which codecs are compiled, do not count.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import click
from rich.console import Console
from rich.table import Table

from protocol.cluster_file.spec import ClusterSpec, parse_cluster_spec
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.produce import (
    ACKS_ALL,
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol.records.build import NewRecord, build_batch
from simulation.workload.clients import ClusterClient
from simulation.world.clock import EPOCH_MS
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop, run_world

TOPIC: Final = "orders"
PARTITIONS: Final = 3
RECORDS_PER_SECOND: Final = 100
_WARM_UP_S: Final = 10
_PRODUCE_VERSION: Final = 9
_RECORD: Final = bytes(100)

_CLUSTER: Final = """
cluster_id: simulated
controller: {{port: 9000, data_dir: /controller, {heartbeats}}}
metrics: {{interval_ms: 60000}}
brokers:
  - {{id: 1, port: 9001, log_dirs: [{{path: /b1/d1}}, {{path: /b1/d2}}, {{path: /b1/d3}}]}}
  - {{id: 2, port: 9002, log_dirs: [{{path: /b2/d1}}, {{path: /b2/d2}}, {{path: /b2/d3}}]}}
  - {{id: 3, port: 9003, log_dirs: [{{path: /b3/d1}}, {{path: /b3/d2}}, {{path: /b3/d3}}]}}
"""
_KAFKAS: Final = "heartbeat_interval_ms: 2000, session_timeout_ms: 9000"
_OURS: Final = "heartbeat_interval_ms: 500, session_timeout_ms: 3000"


Work: TypeAlias = Callable[[SimLoop, int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured of one world."""

    virtual_s: float
    cpu_s: float
    steps: int

    @property
    def ratio(self) -> float:
        """Virtual seconds per second of processor time."""
        return self.virtual_s / self.cpu_s


@click.command()
@click.option("--seconds", default=600, help="Virtual seconds of the idle worlds.")
@click.option("--loaded-seconds", default=60, help="Virtual seconds of the loaded one.")
def main(*, seconds: int, loaded_seconds: int) -> None:
    """Measure and print."""
    table = Table("world", "virtual s / s", "target", "steps / virtual s", "steps / s")
    rows: list[tuple[str, ClusterSpec, Work, int, str]] = [
        ("idle, heartbeats of 2 s", _spec(_KAFKAS), _sleep, seconds, "1,000"),
        ("idle, heartbeats of 0.5 s", _spec(_OURS), _sleep, seconds, "1,000"),
        ("idle, 3 x 3 replicas", _spec(_OURS, has_topic=True), _sleep, seconds, ""),
        (
            "100 records/s in tens",
            _spec(_OURS, has_topic=True),
            _produce_tens,
            loaded_seconds,
            "50",
        ),
        ("100 records/s each alone", _spec(_OURS, has_topic=True), _produce, loaded_seconds, "50"),
    ]
    for name, spec, work, virtual_s, target in rows:
        speed = measure(spec, work, virtual_s)
        table.add_row(
            name,
            f"{speed.ratio:,.0f}",
            target,
            f"{speed.steps / speed.virtual_s:,.0f}",
            f"{speed.steps / speed.cpu_s:,.0f}",
        )
    Console().print(table)


def measure(spec: ClusterSpec, work: Work, virtual_s: int) -> Speed:
    """Run one world and measure it once it is warm."""

    async def run(loop: SimLoop) -> Speed:
        cluster = SimCluster(loop, spec)
        await cluster.start()
        await work(loop, _WARM_UP_S)
        began_s, steps, cpu_s = loop.time(), loop.steps, time.process_time()
        await work(loop, virtual_s)
        return Speed(loop.time() - began_s, time.process_time() - cpu_s, loop.steps - steps)

    return run_world(1, run)


def _spec(heartbeats: str, *, has_topic: bool = False) -> ClusterSpec:
    text = _CLUSTER.format(heartbeats=heartbeats)
    if has_topic:
        text += f"topics:\n  - {{name: {TOPIC}, partitions: {PARTITIONS}, replication_factor: 3}}\n"
    return parse_cluster_spec(text, base_dir=Path("/simulated"), source="benchmarks")


async def _sleep(_loop: SimLoop, virtual_s: int) -> None:
    await asyncio.sleep(virtual_s)


async def _produce_tens(loop: SimLoop, virtual_s: int) -> None:
    await _produce(loop, virtual_s, per_batch=10)


async def _produce(loop: SimLoop, virtual_s: int, per_batch: int = 1) -> None:
    """Send batches one by one, each to the leader of its partition."""
    client = ClusterClient({1: ("127.0.0.1", 9001)}, "benchmark")
    await client.refresh(TOPIC)
    until_s, batches_per_second = loop.time(), RECORDS_PER_SECOND // per_batch
    for number in range(virtual_s * batches_per_second):
        until_s += 1 / batches_per_second
        await _send(client, TopicPartition(TOPIC, number % PARTITIONS), per_batch)
        await asyncio.sleep(max(0, until_s - loop.time()))
    client.close()


async def _send(client: ClusterClient, tp: TopicPartition, count: int) -> None:
    leader = client.leader(tp)
    assert leader is not None
    batch = build_batch([NewRecord(_RECORD, timestamp_ms=EPOCH_MS)] * count)
    data = PartitionProduceData(index=tp.partition, records=memoryview(batch))
    request = ProduceRequest(
        transactional_id=None,
        acks=ACKS_ALL,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])],
    )
    answer: ProduceResponse = await client.ask(leader.broker, request, _PRODUCE_VERSION)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


if __name__ == "__main__":
    main()
