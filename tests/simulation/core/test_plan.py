from __future__ import annotations

from protocol.faults.model import DiskFault, DiskMode
from simulation.core.actions import Clear, Fault, Kill, Step, When
from simulation.core.conditions import Led
from simulation.core.plan import ClusterPlan, Plan


def test_the_document_of_a_cluster_names_every_log_dir_of_every_broker() -> None:
    document = ClusterPlan(brokers=2, log_dirs=2, racks=("a", "b"), capacity_mib=5).document()

    assert document["brokers"] == [
        {
            "id": 1,
            "log_dirs": [
                {"path": "data/b1/d1", "capacity_mib": 5},
                {"path": "data/b1/d2", "capacity_mib": 5},
            ],
            "rack": "a",
        },
        {
            "id": 2,
            "log_dirs": [
                {"path": "data/b2/d1", "capacity_mib": 5},
                {"path": "data/b2/d2", "capacity_mib": 5},
            ],
            "rack": "b",
        },
    ]


def test_a_cluster_names_its_processes() -> None:
    assert ClusterPlan(brokers=2).node_names == ("controller", "broker-1", "broker-2")


def test_the_actions_of_a_plan_are_those_inside_when_too() -> None:
    fault = Fault(name="broken", rule=DiskFault(mode=DiskMode.EIO, node="broker-1"))
    plan = Plan(
        name="x",
        shows="X.",
        steps=(
            Step(action=Kill("broker-1")),
            Step(action=When(condition=Led("a-0"), steps=(Step(action=fault),))),
            Step(action=Clear("broken")),
        ),
    )

    assert [type(action) for action in plan.actions] == [Kill, When, Fault, Clear]
    assert plan.fault_names == ("broken",)
