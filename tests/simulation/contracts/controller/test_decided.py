"""A sentence about a controller is asked where it acts and has decided something."""

from __future__ import annotations

from controller.core.machine import Machine
from simulation.contracts.contract import Broken, Contracts
from simulation.contracts.controller.decided import once_decided
from tests.simulation.contracts.controller.controlled import isr_wish, led


def test_it_is_asked_where_something_was_decided() -> None:
    @once_decided
    def is_never_so(machine: Machine) -> Broken:
        """It is never so."""
        return f"decision {machine.state.journal_number}"

    cluster = led([1, 2, 3])
    with Contracts([is_never_so], now_us=lambda: 0) as contracts:
        cluster.beat(1)
        assert contracts.found == []
        cluster.call(isr_wish(cluster, "t-0", 1, 2), 3)
    assert len(contracts.found) == 1
