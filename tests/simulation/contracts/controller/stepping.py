"""A controller whose next event ends in what must never be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from controller.core.decision import Decision, Durable
from controller.core.effects import Effect, Send
from controller.core.events import Event, RequestArrived
from controller.core.machine import Machine
from protocol.ids import TopicPartition
from simulation.contracts.contract import Contract, Contracts
from tests.simulation.contracts.controller.controlled import isr_wish, led

T0: Final = TopicPartition("t", 0)
Spoil = Callable[[Machine], object]
Twist = Callable[[list[Effect]], list[Effect]]


def revised(**fields: Any) -> Spoil:
    """Return what changes the partition behind the back of the journal."""

    def spoil(machine: Machine) -> None:
        partitions = machine.state.topics["t"].partitions
        partitions[0] = replace(partitions[0], **fields)

    return spoil


def unsent(effects: list[Effect]) -> list[Effect]:
    return [each for each in effects if not isinstance(each, Send)]


def told(
    contract: Contract,
    *,
    before: Spoil | None = None,
    spoil: Spoil | None = None,
    twist: Twist | None = None,
) -> list[str]:
    """Return what is told while the Isr of a partition shrinks; ``before`` comes before that."""
    cluster = led([1, 2, 3])
    request = isr_wish(cluster, "t-0", 1, 2)
    if before is not None:
        before(cluster.machine)
    right = Machine.step

    def step(machine: Machine, event: Event, now_ms: int) -> Decision:
        decision = right(machine, event, now_ms)
        if spoil is not None:
            spoil(machine)
        effects = list(decision.effects(Durable(decision.journal_number)))
        if twist is not None:
            effects = twist(effects)
        return Decision(decision.journal_number, decision.records, effects)

    setattr(Machine, "step", step)  # noqa: B010 -- a wrong rule is planted
    try:
        with Contracts([contract], now_us=lambda: 0) as contracts:
            cluster.machine.step(RequestArrived(99, request, 3), cluster.now_ms)
    finally:
        setattr(Machine, "step", right)  # noqa: B010
    return [each.text for each in contracts.found]
