"""What the tests of the world share: the loop, nodes on it, small clusters, a few records."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from protocol.cluster_file.spec import ClusterSpec, parse_cluster_spec
from protocol.faults.document import read_fault
from protocol.faults.model import BrokerFault, DiskFault, NetworkFault
from protocol.faults.requests import RequestFault
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop
from simulation.world.process import Process

T = TypeVar("T")

TIMEOUT_MS = 120_000
"""Virtual, and longer than anything should take."""


def sim_loop() -> SimLoop:
    """Return the loop that runs."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    return loop


def spawn(process: Process, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Run ``work`` as code of a process."""
    return sim_loop().create_task(work, context=process.context())


def small_cluster(
    *,
    brokers: int = 3,
    log_dirs: int = 2,
    topics: Sequence[str] = (),
    configs: str = "{}",
    racks: Sequence[str] = (),
) -> ClusterSpec:
    """Return a cluster; each of ``topics`` is a line of its ``topics``, of ``racks`` a broker's."""
    text = f"""
cluster_id: simulated
controller: {{port: 9000, data_dir: /controller}}
configs: {configs}
metrics: {{interval_ms: 60000}}
brokers:
"""
    for number in range(1, brokers + 1):
        dirs = ", ".join(f"{{path: /b{number}/d{one}}}" for one in range(1, log_dirs + 1))
        rack = f", rack: {racks[number - 1]}" if racks else ""
        text += f"  - {{id: {number}, port: {9000 + number}, log_dirs: [{dirs}]{rack}}}\n"
    if topics:
        text += "topics:\n" + "".join(f"  - {topic}\n" for topic in topics)
    return parse_cluster_spec(text, base_dir=Path("/simulated"), source="a test")


async def running_cluster(
    *, brokers: int = 3, log_dirs: int = 2, topics: Sequence[str] = (), configs: str = "{}"
) -> SimCluster:
    """Return a cluster that serves; it ends with its world."""
    spec = small_cluster(brokers=brokers, log_dirs=log_dirs, topics=topics, configs=configs)
    cluster = SimCluster(sim_loop(), spec)
    await cluster.start()
    return cluster


def fault_of(content: dict[str, Any]) -> BrokerFault:
    """Return the fault that a mapping describes."""
    fault, mistakes = read_fault(content)
    assert mistakes == []
    assert isinstance(fault, DiskFault | NetworkFault | RequestFault)
    return fault
