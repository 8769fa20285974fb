"""A whole cluster in one world: starts, ends, and everything that can happen to its nodes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from broker.exit_codes import ExitCode
from simulation.core.coverage import Coverage
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop, run_world
from tests.simulation.world.one_story import story
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


def test_acknowledged_records_survive_a_broken_log_dir_a_kill_and_a_power_cut():
    assert run_world(1, story) == run_world(1, story)


@pytest.mark.integration
def test_one_seed_gives_one_trace_in_processes_that_hash_differently():
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.simulation.world.one_story", "5"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for hash_seed in ("0", "77")
    ]
    told = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert told[0] == told[1]


def test_the_moves_of_all_nodes_are_told_to_one_witness():
    coverage = Coverage()

    async def main(loop: SimLoop) -> None:
        cluster = SimCluster(loop, small_cluster(topics=[TOPIC]), witness=coverage)
        await cluster.start()
        await cluster.stop()

    run_world(1, main)
    machines = {transition.machine for transition in coverage.counts}
    assert {"PartitionPhase", "ReplicaPhase", "ControllerEvent", "BrokerState"} <= machines
    assert {"HostedState", "Role"} <= machines
    assert coverage.undeclared == []
