"""What happens to nodes: ends, pauses, power cuts, slow CPUs and wrong clocks."""

from __future__ import annotations

import asyncio
import gc

import pytest

from broker.app import StartupError
from broker.exit_codes import ExitCode
from simulation.world.clock import EPOCH_MS
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop, run_world
from tests.simulation.world.worlds import TIMEOUT_MS, running_cluster, sim_loop, small_cluster

TOPIC = "{name: orders, partitions: 3, replication_factor: 3}"


async def until_known(cluster: SimCluster, count: int, *, by: int = 1) -> None:
    """Wait until a broker knows so many brokers."""
    await cluster.until(lambda: cluster.brokers[by].known_brokers == count, TIMEOUT_MS)


async def test_a_killed_broker_is_given_up_and_taken_back_when_it_starts_again():
    cluster = await running_cluster(topics=[TOPIC])
    cluster.brokers[2].kill()
    assert not cluster.brokers[2].is_running
    await until_known(cluster, 2)
    cluster.brokers[2].start()
    await cluster.until(cluster.is_up, TIMEOUT_MS)


def test_nothing_is_heard_of_a_killed_process_not_even_at_garbage_collection():
    async def main(loop: SimLoop) -> None:
        cluster = SimCluster(loop, small_cluster(topics=[TOPIC]))
        await cluster.start()
        for name in ("broker-2", "controller"):
            cluster.nodes[name].kill()
            gc.collect()
            await asyncio.sleep(1)
            cluster.nodes[name].start()
        await cluster.until(cluster.is_up, TIMEOUT_MS)
        assert loop.unhandled == []

    run_world(1, main)
    gc.collect()


async def test_a_controller_that_lost_its_power_knows_the_cluster_when_it_is_back():
    cluster = await running_cluster(topics=[TOPIC])
    cluster.controller.power_cut()
    await asyncio.sleep(30)
    cluster.controller.start()
    await cluster.until(cluster.is_up, TIMEOUT_MS)
    controller = cluster.controller.controller
    assert controller is not None
    assert "orders" in controller.state.topics


async def test_a_broker_without_power_is_missed_and_recovers_its_log_dirs():
    cluster = await running_cluster(topics=[TOPIC])
    cluster.brokers[2].power_cut()
    await until_known(cluster, 2)
    cluster.brokers[2].start()
    await cluster.until(cluster.is_up, TIMEOUT_MS)


async def test_a_paused_broker_is_fenced_and_comes_back_by_itself():
    cluster = await running_cluster()
    cluster.brokers[3].pause()
    assert cluster.brokers[3].is_paused
    await until_known(cluster, 2)
    cluster.brokers[3].resume()
    await cluster.until(cluster.is_up, TIMEOUT_MS)
    assert cluster.brokers[3].starts_count == 1


async def test_a_broker_that_is_asked_to_end_says_how_it_ended():
    cluster = await running_cluster()
    cluster.brokers[1].ask_to_end()
    await cluster.until(lambda: not cluster.brokers[1].is_running, TIMEOUT_MS)
    assert cluster.brokers[1].ended_with is ExitCode.CLEAN


async def test_a_broker_that_loses_all_log_dirs_ends_by_itself():
    cluster = await running_cluster()
    for drive in cluster.brokers[2].drives.values():
        drive.faults.set_fault("eio")
    await cluster.until(lambda: not cluster.brokers[2].is_running, TIMEOUT_MS)
    assert cluster.brokers[2].ended_with is ExitCode.ALL_LOG_DIRS_FAILED


async def test_what_processes_raise_at_their_ends_is_kept():
    cluster = await running_cluster(topics=[TOPIC])
    node = cluster.brokers[1]
    assert node.crashes == []
    node.kill()
    memory = next(iter(node.drives.values())).disk.memory
    properties = memory.read_file("meta.properties").replace(b"=1\n", b"=9\n")
    memory.write_file("meta.properties", properties)
    for _ in range(2):
        node.start()
        await cluster.until(lambda: not node.is_running, TIMEOUT_MS)
    assert [type(error) for error in node.crashes] == [StartupError, StartupError]


async def test_a_slow_cpu_makes_a_broker_slow_and_nobody_else():
    cluster = await running_cluster()
    cluster.brokers[1].set_step_us(10_000)
    before_s = sim_loop().time()
    cluster.brokers[1].ask_to_end()
    await cluster.until(lambda: not cluster.brokers[1].is_running, TIMEOUT_MS)
    slow_s = sim_loop().time() - before_s
    cluster.brokers[2].ask_to_end()
    await cluster.until(lambda: not cluster.brokers[2].is_running, TIMEOUT_MS)
    assert slow_s > 2 * (sim_loop().time() - before_s - slow_s)


async def test_a_wrong_clock_is_wrong_for_its_node_alone():
    cluster = await running_cluster()
    cluster.brokers[1].skew_clock(3_600_000)
    now_ms = EPOCH_MS + sim_loop().now_us // 1000
    assert cluster.brokers[1].clock.now_ms() == now_ms + 3_600_000
    assert cluster.brokers[2].clock.now_ms() == now_ms


async def test_a_node_runs_once_at_a_time():
    cluster = await running_cluster(brokers=1)
    with pytest.raises(AssertionError, match="runs already"):
        cluster.brokers[1].start()
