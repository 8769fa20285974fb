"""An operator's wishes are served by living brokers, and given up where they make no sense."""

from __future__ import annotations

from broker.lifecycle.log_dir_returns import ReturnRequest
from simulation.matrix.matrix_cluster import PATHS, MatrixCluster
from simulation.matrix.operator import Operator


async def test_a_log_dir_is_asked_of_the_broker_that_has_it(cluster: MatrixCluster) -> None:
    operator = Operator(cluster.sim, cluster.retrying)
    assert operator.host("/b2/d3") is cluster.sim.brokers[2]
    assert operator.is_online("/b2/d3")
    await cluster.fail("/b2/d3")
    assert not operator.is_online("/b2/d3")
    cluster.sim.faults("broker-2", "/b2/d3").clear()
    await operator.ask(ReturnRequest("/b2/d3"))
    assert operator.is_online("/b2/d3")


async def test_a_wish_that_makes_no_sense_is_given_up_at_once(cluster: MatrixCluster) -> None:
    operator = Operator(cluster.sim, cluster.retrying)
    before_us = cluster.loop.now_us
    await operator.ask(ReturnRequest(PATHS[0]))
    assert cluster.loop.now_us == before_us


async def test_nothing_works_on_a_broker_that_is_down(cluster: MatrixCluster) -> None:
    operator = Operator(cluster.sim, cluster.retrying)
    cluster.subject.kill()
    assert not operator.is_online(PATHS[0])
    await operator.ask(ReturnRequest(PATHS[0]))
    cluster.subject.start()
