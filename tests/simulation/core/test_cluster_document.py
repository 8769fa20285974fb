from __future__ import annotations

from pathlib import Path

from protocol.cluster_file.spec import cluster_spec
from simulation.core.cluster_document import cluster_document, port_count
from simulation.core.plan import ClusterPlan


def test_the_cluster_of_a_plan_is_a_cluster_file() -> None:
    plan = ClusterPlan(brokers=2, log_dirs=3, racks=("a", "b"), session_timeout_ms=9000)

    document = cluster_document(plan, [9100, 9101, 9102, 9103, 9104])

    spec = cluster_spec(document, base_dir=Path("/lab"), source="x")
    assert port_count(plan) == 5
    assert (spec.controller.port, spec.controller.session_timeout_ms) == (9100, 9000)
    assert [(each.port, each.control_port) for each in spec.brokers] == [(9101, 9102), (9103, 9104)]
    assert [each.path for each in spec.broker(2).log_dirs] == [
        "/lab/data/b2/d1",
        "/lab/data/b2/d2",
        "/lab/data/b2/d3",
    ]
    assert spec.broker(1).rack == "a"
