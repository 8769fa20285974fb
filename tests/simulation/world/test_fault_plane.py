"""Faults by name: on disks, links and connections; they stay with the hardware."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from simulation.world.fault_plane import FaultPlane, FaultRefusedError
from tests.simulation.world.worlds import TIMEOUT_MS, fault_of, running_cluster, sim_loop


async def test_a_disk_fault_takes_its_log_dir_offline_and_counts():
    cluster = await running_cluster()
    plane = FaultPlane(cluster)
    plane.add("broken", fault_of({"mode": "eio", "broker": 2, "log_dir": "/b2/d1"}))
    broker = cluster.brokers[2].broker
    assert broker is not None
    log_dirs = broker.broker_control.log_dirs
    await cluster.until(lambda: not log_dirs["/b2/d1"].is_online, TIMEOUT_MS)
    assert log_dirs["/b2/d2"].is_online
    assert plane.hits()["broken"] > 0


async def test_a_fault_outlives_the_process_and_goes_when_it_is_cleared():
    cluster = await running_cluster()
    plane, node = FaultPlane(cluster), cluster.brokers[2]
    plane.add("broken", fault_of({"mode": "eio", "broker": 2, "log_dir": "/b2/d1"}))
    node.kill()
    node.start()
    await cluster.until(lambda: node.is_up, TIMEOUT_MS)
    assert online(cluster, 2) == ["/b2/d2"]
    plane.clear("broken")
    hits = plane.hits()["broken"]
    node.kill()
    node.start()
    await cluster.until(lambda: node.is_up, TIMEOUT_MS)
    assert online(cluster, 2) == ["/b2/d1", "/b2/d2"]
    assert plane.hits()["broken"] == hits > 0


async def test_a_fault_of_requests_is_in_force_in_every_process_of_its_broker():
    cluster = await running_cluster()
    plane, node = FaultPlane(cluster), cluster.brokers[2]
    plane.add("watch", fault_of({"mode": "observe", "broker": 2}))
    node.kill()
    node.start()
    await cluster.until(lambda: node.is_up, TIMEOUT_MS)
    assert node.broker is not None
    assert len(node.broker.request_faults.rules) == 1
    plane.clear("watch")
    assert node.broker.request_faults.rules == ()
    with pytest.raises(FaultRefusedError, match="no broker is named broker-9"):
        plane.add("other", fault_of({"mode": "observe", "broker": 9}))


def online(cluster: Any, broker_id: int) -> list[str]:
    log_dirs = cluster.brokers[broker_id].broker.broker_control.log_dirs
    return [path for path, log_dir in log_dirs.items() if log_dir.is_online]


async def test_a_hang_fails_the_log_dir_after_its_deadline_and_stalls_nobody_else():
    cluster = await running_cluster(configs="{jbodlab.log.dir.io.deadline.ms: 5000}")
    plane = FaultPlane(cluster)
    plane.add("stuck", fault_of({"mode": "hang", "broker": 1, "log_dir": "/b1/d1"}))
    before_s = sim_loop().time()
    await cluster.until(lambda: online(cluster, 1) == ["/b1/d2"], TIMEOUT_MS)
    assert 5 <= sim_loop().time() - before_s < 15
    assert cluster.is_up()
    plane.clear_all()


async def test_one_without_log_dir_is_about_all_of_the_node():
    cluster = await running_cluster(brokers=2)
    plane = FaultPlane(cluster)
    plane.add("all", fault_of({"mode": "slow", "node": "broker-1", "delay_ms": 1}))
    plane.add(
        "one", fault_of({"mode": "slow", "node": "broker-1", "log_dir": "/b1/d2", "delay_ms": 1})
    )
    counts = {
        path: len(drive.faults.rules)
        for node in cluster.brokers.values()
        for path, drive in node.drives.items()
    }
    assert counts == {"/b1/d1": 1, "/b1/d2": 2, "/b2/d1": 0, "/b2/d2": 0}


async def test_a_cut_between_a_broker_and_the_controller_costs_the_broker_its_session():
    cluster = await running_cluster()
    plane = FaultPlane(cluster)
    plane.add("cut", fault_of({"mode": "cut", "from": "broker-3", "to": "controller"}))
    await cluster.until(lambda: cluster.brokers[1].known_brokers == 2, TIMEOUT_MS)
    plane.clear("cut")
    await cluster.until(cluster.is_up, TIMEOUT_MS)
    assert plane.hits()["cut"] > 0


async def test_half_open_connections_are_counted_and_overcome():
    cluster = await running_cluster()
    plane = FaultPlane(cluster)
    plane.add("dead", fault_of({"mode": "half_open", "from": "broker-3", "to": "controller"}))
    assert plane.hits()["dead"] >= 2
    await asyncio.sleep(60)
    assert cluster.is_up()


async def test_nodes_without_a_connection_have_none_that_could_be_dead():
    cluster = await running_cluster()
    plane = FaultPlane(cluster)
    with pytest.raises(FaultRefusedError, match="have no connection that could be dead"):
        plane.add("dead", fault_of({"mode": "half_open", "from": "nobody", "to": "controller"}))
    assert plane.hits() == {}


async def test_a_rule_that_never_met_anything_says_so():
    cluster = await running_cluster()
    plane = FaultPlane(cluster)
    plane.add("inert", fault_of({"mode": "eio", "broker": 1, "name": "no-such-file"}))
    plane.add("unmet", fault_of({"mode": "cut", "from": "nobody", "to": "controller"}))
    await asyncio.sleep(10)
    assert plane.hits() == {"inert": 0, "unmet": 0}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"mode": "eio", "broker": 9}, "no node is named broker-9"),
        ({"mode": "eio", "broker": 1, "log_dir": "/nowhere"}, "no log dir /nowhere"),
    ],
)
async def test_what_cannot_be_set_is_refused(content: dict[str, Any], words: str):
    cluster = await running_cluster(brokers=1)
    with pytest.raises(FaultRefusedError, match=words):
        FaultPlane(cluster).add("wrong", fault_of(content))


async def test_names_are_used_once():
    plane = FaultPlane(await running_cluster(brokers=1))
    plane.add("slow", fault_of({"mode": "slow", "broker": 1, "delay_ms": 1}))
    with pytest.raises(FaultRefusedError, match="named slow already"):
        plane.add("slow", fault_of({"mode": "slow", "broker": 1, "delay_ms": 1}))
