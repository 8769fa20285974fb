"""The port of runs, over a simulated cluster."""

from __future__ import annotations

import pytest

from broker.exit_codes import ExitCode
from protocol.ids import TopicPartition
from simulation.cluster_instance import ClusterInstance, ClusterInstanceError
from simulation.core.capability import Capability
from simulation.core.observation import ObservedNode
from simulation.world.cluster import SimCluster
from simulation.world.sim_cluster_instance import SimClusterInstance
from tests.simulation.world.worlds import TIMEOUT_MS, fault_of, sim_loop, small_cluster


async def running_stage(brokers: int = 3) -> SimClusterInstance:
    stage = SimClusterInstance(SimCluster(sim_loop(), small_cluster(brokers=brokers)))
    await stage.start()
    return stage


async def test_it_is_a_stage_that_can_do_everything():
    stage: ClusterInstance = await running_stage(brokers=1)
    assert stage.capabilities == tuple(Capability)
    assert [broker.id for broker in stage.spec.brokers] == [1]
    before_ms = stage.now_ms()
    await stage.stop()
    assert stage.now_ms() > before_ms


async def test_nodes_stop_start_pause_and_end_and_are_seen():
    stage = await running_stage()
    await stage.stop_node("broker-1")
    assert stage.node("broker-1") == ObservedNode(state="stopped", exit_code=0)
    await stage.start_node("broker-1")
    with pytest.raises(ClusterInstanceError, match="broker-1 runs"):
        await stage.start_node("broker-1")
    await stage.pause_node("broker-2")
    assert stage.node("broker-2").state == "paused"
    await stage.resume_node("broker-2")
    assert stage.node("broker-2").state == "running"
    await stage.kill_node("broker-3")
    assert stage.node("broker-3") == ObservedNode(state="stopped")
    await stage.cut_power("controller")
    await stage.start_node("controller")
    await stage.start_node("broker-3")
    await stage.cluster.until(stage.cluster.is_up, TIMEOUT_MS)


async def test_what_does_not_run_cannot_be_paused_and_what_is_not_there_not_named():
    stage = await running_stage(brokers=1)
    await stage.kill_node("broker-1")
    with pytest.raises(ClusterInstanceError, match="does not run"):
        await stage.pause_node("broker-1")
    with pytest.raises(ClusterInstanceError, match="no node is named broker-9"):
        stage.node("broker-9")
    with pytest.raises(ClusterInstanceError, match="does not answer"):
        await stage.metrics(1)


async def test_a_slow_cpu_and_a_wrong_clock_come_and_go():
    stage = await running_stage(brokers=1)
    node = stage.cluster.brokers[1]
    await stage.slow_cpu("broker-1", 10)
    assert node.process is not None
    assert node.process.step_us == 200
    await stage.slow_cpu("broker-1", 1)
    assert node.process.step_us == 1
    await stage.skew_clock("broker-1", 500)
    assert node.clock.skew_ms == 500


async def test_a_broken_log_dir_is_repaired_and_brought_back():
    stage = await running_stage(brokers=1)
    await stage.add_fault("broken", fault_of({"mode": "eio", "broker": 1, "log_dir": "/b1/d1"}))
    log_dirs = stage.cluster.brokers[1].broker.broker_control.log_dirs  # type: ignore[union-attr]
    await stage.cluster.until(lambda: not log_dirs["/b1/d1"].is_online, TIMEOUT_MS)
    assert (await stage.fault_hits())["broken"] > 0
    await stage.clear_fault("broken")
    await stage.restart_log_dir(1, "/b1/d1")
    await stage.cluster.until(lambda: log_dirs["/b1/d1"].is_online, TIMEOUT_MS)


async def test_a_log_dir_is_replaced_by_an_empty_one():
    stage = await running_stage(brokers=1)
    before = stage.cluster.brokers[1].drives["/b1/d1"].disk
    await stage.replace_log_dir(1, "/b1/d1", accept_loss=True)
    drive = stage.cluster.brokers[1].drives["/b1/d1"]
    await stage.cluster.until(lambda: drive.disk is not before, TIMEOUT_MS)
    (fault,) = (await stage.samples()).faults
    assert (fault.node, fault.log_dir, fault.begin_us) == ("broker-1", "/b1/d1", fault.end_us)


async def test_a_broker_that_is_down_finds_an_empty_disk_when_it_starts():
    stage = await running_stage(brokers=1)
    await stage.stop_node("broker-1")
    assert await stage.files(1, "/b1/d1")
    await stage.replace_log_dir(1, "/b1/d1", accept_loss=True)
    assert await stage.files(1, "/b1/d1") == {}
    await stage.start_node("broker-1")
    await stage.cluster.until(stage.cluster.is_up, TIMEOUT_MS)
    assert "broker.id=1" in (await stage.files(1, "/b1/d1"))["meta.properties"]


async def test_files_are_changed_by_hand_while_nobody_runs():
    stage = await running_stage(brokers=1)
    await stage.stop_node("broker-1")
    before = await stage.files(1, "/b1/d1")
    assert "broker.id=1" in before["meta.properties"]
    await stage.write_file(1, "/b1/d1", "meta.properties", "version=0\nbroker.id=7\n")
    await stage.start_node("broker-1")
    await stage.cluster.until(lambda: not stage.cluster.brokers[1].is_running, TIMEOUT_MS)
    assert stage.node("broker-1").exit_code == ExitCode.BAD_LOG_DIRS
    await stage.remove_file(1, "/b1/d1", ".")
    assert await stage.files(1, "/b1/d1") == {}
    with pytest.raises(ClusterInstanceError, match=r"meta\.properties: No such file"):
        await stage.remove_file(1, "/b1/d1", "meta.properties")


async def test_what_a_broker_refuses_is_told():
    stage = await running_stage(brokers=1)
    with pytest.raises(ClusterInstanceError):
        await stage.restart_log_dir(1, "/b1/d1")
    with pytest.raises(ClusterInstanceError):
        await stage.restart_partition(1, TopicPartition("nothing", 0))
    with pytest.raises(ClusterInstanceError, match="no node is named broker-9"):
        await stage.add_fault("wrong", fault_of({"mode": "eio", "broker": 9}))


async def test_metrics_have_the_names_of_the_text_that_brokers_serve():
    stage = await running_stage(brokers=1)
    values = await stage.metrics(1)
    assert any("{" in name for name in values)
    assert all(isinstance(value, float) for value in values.values())


async def test_a_cluster_that_does_not_come_up_says_what_its_nodes_did():
    stage = SimClusterInstance(SimCluster(sim_loop(), small_cluster(brokers=1)))
    for path in ("/b1/d1", "/b1/d2"):
        stage.cluster.faults("broker-1", path).set_fault("eio")
    with pytest.raises(ClusterInstanceError, match="did not come up"):
        await stage.start()


async def test_stopping_takes_faults_off_first_and_ends_what_stands_still():
    stage = await running_stage()
    await stage.add_fault("cut", fault_of({"mode": "cut", "from": "broker-1", "to": "controller"}))
    await stage.pause_node("broker-2")
    await stage.stop()
    assert not any(node.is_running for node in stage.cluster.nodes.values())


async def test_it_tells_what_was_seen_inside():
    stage = await running_stage()
    path = stage.spec.broker(1).log_dirs[0].path
    await stage.add_fault("cut", fault_of({"mode": "cut", "from": "broker-1", "to": "broker-2"}))
    await stage.clear_fault("cut")
    await stage.add_fault(
        "slow", fault_of({"mode": "slow", "node": "broker-1", "log_dir": path, "delay_ms": 5})
    )
    await stage.slow_cpu("broker-2", 5)
    await stage.slow_cpu("broker-2", 1)

    samples = await stage.samples()

    assert [(each.node, each.log_dir, each.what) for each in samples.faults] == [
        ("", "", "cut"),
        ("broker-1", path, "slow"),
        ("broker-2", "", "slow CPU"),
    ]
    assert {each.node for each in samples.nodes} == set(stage.cluster.nodes)
    assert len(samples.journals) == 1
    await stage.stop()
