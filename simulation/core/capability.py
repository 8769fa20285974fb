"""What a plan asks of a stage that not every stage can give. Knows no stage."""

from __future__ import annotations

from enum import Enum
from typing import Final

from protocol.faults.model import CONTROLLER_NODE, NetworkFault
from simulation.core.actions import Action, Fault, PowerCut, SkewClock, SlowCpu
from simulation.core.plan import Plan, World


class Capability(Enum):
    """Something that one world has and another may not."""

    POWER_CUT = "power_cut"
    """Ending a process together with what it had not synced."""
    SLOW_CPU = "slow_cpu"
    CLOCK_SKEW = "clock_skew"
    NETWORK_FAULTS = "network_faults"
    """Latency, loss and cuts between processes."""
    CONTROLLER_DISK = "controller_disk"
    """Faults of the disk that the controller's journal lies on."""


_BY_ACTION: Final[dict[type, Capability]] = {
    PowerCut: Capability.POWER_CUT,
    SlowCpu: Capability.SLOW_CPU,
    SkewClock: Capability.CLOCK_SKEW,
}


_NOT_REAL: Final[dict[Capability, str]] = {
    Capability.POWER_CUT: "A real machine keeps its power, and what a process wrote stays.",
    Capability.SLOW_CPU: "A real processor is as fast as it is.",
    Capability.CLOCK_SKEW: "All real clocks are the machine's.",
    Capability.CONTROLLER_DISK: "A real controller's journal lies on the machine's own disk.",
}


def why_not(plan: Plan, world: World) -> str | None:
    """Return why ``plan`` does not run in ``world``, in sentences; None: it does."""
    if world not in plan.worlds:
        return plan.because or f"Its file keeps it to this world: {', '.join(plan.worlds)}."
    if world == "simulated":
        return None
    lacking = [_NOT_REAL[each] for each in needed_capabilities(plan) if each in _NOT_REAL]
    return " ".join(lacking) or None


def needed_capabilities(plan: Plan) -> tuple[Capability, ...]:
    """Return what a stage must be able to do for this plan, each once, in a fixed order."""
    needed = [_capability(action) for action in plan.actions]
    return tuple(capability for capability in Capability if capability in needed)


def _capability(action: Action) -> Capability | None:
    if isinstance(action, Fault):
        rule = action.rule
        if isinstance(rule, NetworkFault):
            return Capability.NETWORK_FAULTS
        return Capability.CONTROLLER_DISK if rule.node == CONTROLLER_NODE else None
    return _BY_ACTION.get(type(action))
