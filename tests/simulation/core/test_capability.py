from __future__ import annotations

from protocol.fault_model import NetworkFault, NetworkMode
from simulation.core.actions import Fault, Kill, PowerCut, SkewClock, Step
from simulation.core.capability import Capability, needed_capabilities
from simulation.core.plan import Plan


def test_a_plan_needs_what_its_actions_need_each_once() -> None:
    actions = (
        SkewClock(node="broker-1", by_ms=10),
        PowerCut("broker-1"),
        Kill("broker-2"),
        PowerCut("broker-2"),
    )
    plan = Plan(name="x", shows="X.", steps=tuple(Step(action=action) for action in actions))

    assert needed_capabilities(plan) == (Capability.POWER_CUT, Capability.CLOCK_SKEW)


def test_a_fault_of_the_network_needs_a_stage_that_has_one() -> None:
    rule = NetworkFault(mode=NetworkMode.CUT, source="*", target="broker-1")
    plan = Plan(name="x", shows="X.", steps=(Step(action=Fault(name="cut", rule=rule)),))

    assert needed_capabilities(plan) == (Capability.NETWORK_FAULTS,)


def test_a_plan_without_steps_runs_anywhere() -> None:
    assert needed_capabilities(Plan(name="x", shows="X.")) == ()
