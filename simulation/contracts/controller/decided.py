"""Sentences about a controller that hold whenever it has decided something. It knows none."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps

from controller.core.decision import Decision
from controller.core.events import Event
from controller.core.machine import Machine
from simulation.contracts.contract import Broken, Contract, of_method


def once_decided(holds: Callable[[Machine], Broken]) -> Contract:
    """Make a sentence about a controller that acts a contract of each event that it decides by."""

    @wraps(holds)
    def promise(machine: Machine, _: Event, _now_ms: int) -> Generator[None, Decision, Broken]:
        decision = yield
        acts = machine.run.hearing is None and machine.run.hearing_is_over
        return holds(machine) if acts and decision.records else None

    return of_method(Machine, "step")(promise)
