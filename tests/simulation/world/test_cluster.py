"""A whole cluster in one world: starts, ends, and everything that can happen to its nodes."""

from __future__ import annotations

import pytest

from broker.exit_codes import ExitCode
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop, run_world
from tests.simulation.world.worlds import small_cluster

TOPIC = "{name: orders, partitions: 3, replication_factor: 3}"


@pytest.mark.parametrize("seed", [1, 27])  # 27: StopReplica came to an engine that had ended.
def test_a_cluster_starts_serves_and_stops_without_an_error(
    seed: int, caplog: pytest.LogCaptureFixture
):
    async def main(loop: SimLoop) -> None:
        cluster = SimCluster(loop, small_cluster(topics=[TOPIC]))
        await cluster.start()
        assert cluster.is_up()
        await cluster.stop()
        assert {node.ended_with for node in cluster.brokers.values()} == {ExitCode.CLEAN}
        assert loop.unhandled == []

    run_world(seed, main)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def trace_of(seed: int) -> str:
    async def main(loop: SimLoop) -> str:
        cluster = SimCluster(loop, small_cluster(topics=[TOPIC]))
        await cluster.start()
        await cluster.stop()
        return loop.trace.hexdigest()

    return run_world(seed, main)


def test_one_seed_gives_one_trace_and_another_seed_another_one():
    assert trace_of(1) == trace_of(1)
    assert trace_of(1) != trace_of(2)
