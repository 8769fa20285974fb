from __future__ import annotations

from dataclasses import replace

from protocol.faults.model import DiskFault, DiskMode, NetworkFault, NetworkMode
from simulation.core.actions import Fault, Kill, PowerCut, SkewClock, Step
from simulation.core.capability import Capability, needed_capabilities, why_not
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


def test_where_a_plan_does_not_run_and_why() -> None:
    steps = (Step(action=PowerCut("broker-1")), Step(action=SkewClock(node="broker-1", by_ms=10)))
    plan = Plan(name="x", shows="X.", steps=steps)

    assert why_not(plan, "simulated") is None
    assert why_not(plan, "real") == (
        "A real machine keeps its power, and what a process wrote stays. "
        "All real clocks are the machine's."
    )


def test_a_plan_that_is_kept_to_one_world_says_why_or_that_it_is() -> None:
    plan = Plan(name="x", shows="X.", worlds=("real",))

    assert why_not(plan, "simulated") == "Its file keeps it to this world: real."
    assert why_not(replace(plan, because="Only there."), "simulated") == "Only there."
    assert why_not(plan, "real") is None


def test_a_fault_of_the_controllers_disk_needs_a_stage_that_can_set_one() -> None:
    rules = [DiskFault(mode=DiskMode.EIO, node=node) for node in ("broker-1", "controller")]
    steps = tuple(Step(action=Fault(name=rule.node, rule=rule)) for rule in rules)

    assert needed_capabilities(Plan(name="x", shows="X.", steps=steps)) == (
        Capability.CONTROLLER_DISK,
    )
