"""What the checkers get of a run that crashed."""

from __future__ import annotations

from controller.core.state import ClusterState
from simulation.core.checkers.reach import Reach, checks_of
from simulation.core.history import Function
from simulation.matrix.matrix_cluster import ORDERS, MatrixCluster


async def test_orders_decisions_logs_and_the_journal_are_there(cluster: MatrixCluster) -> None:
    await cluster.create()
    await cluster.produce(2)
    controller = cluster.sim.controller.controller
    assert controller is not None

    evidence = cluster.evidence.finish(controller.state, ClusterState())

    assert [each.function for each in evidence.history] == [Function.CREATE_TOPIC] * 2
    assert {sample.tp: None for sample in evidence.samples.partitions} == {ORDERS: None}
    assert len(evidence.samples.logs) == 3
    (journal,) = evidence.samples.journals
    assert len(journal.decided) > len(journal.replayed)
    seen = {check.checker: check.reach for check in checks_of(evidence)}
    assert seen["orders"] is not Reach.NOT_SEEN


async def test_a_controller_that_is_down_is_not_looked_at(cluster: MatrixCluster) -> None:
    cluster.sim.controller.kill()
    cluster.evidence.look()
    cluster.sim.controller.start()
    await cluster.retrying.until(cluster.sim.is_up)
