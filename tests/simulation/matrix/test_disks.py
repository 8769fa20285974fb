"""What lies on disks is seen as it is."""

from __future__ import annotations

from simulation.matrix.disks import log_of, place_of, strange_logs
from simulation.matrix.matrix_cluster import ORDERS, PATHS, SECOND, MatrixCluster

WANTED = [str(ORDERS)]


async def test_records_are_read_from_a_start_on(cluster: MatrixCluster) -> None:
    await cluster.create()
    await cluster.produce(3)
    values = list(cluster.models[ORDERS].acknowledged.values())
    assert log_of(cluster.subject, ORDERS, 0) == dict(enumerate(values))
    assert list(log_of(cluster.subject, ORDERS, 2)) == [2]
    assert log_of(cluster.subject, SECOND, 0) == {}
    assert place_of(cluster.subject, ORDERS) in PATHS
    assert place_of(cluster.subject, SECOND) is None


async def test_only_the_logs_that_are_wanted_may_be_there(cluster: MatrixCluster) -> None:
    await cluster.create()
    node, place = cluster.subject, cluster.path_of()
    assert strange_logs(node, WANTED) is None
    assert strange_logs(node, []) == f"{place}/orders-0 is nobody's"
    assert strange_logs(node, [*WANTED, str(SECOND)]) == "broker-1 has no second-0"
    memory = node.drives[cluster.other_path()].disk.memory
    memory.make_dir("orders-0.00-delete")
    assert strange_logs(node, WANTED) is None
    memory.make_dir("orders-0.00-stray")
    assert strange_logs(node, WANTED, may_have_strays=True) is None
    assert "-stray is nobody's" in (strange_logs(node, WANTED) or "")
    memory.make_dir("orders-0.00-future")
    assert "-future is nobody's" in (strange_logs(node, WANTED, may_have_strays=True) or "")
