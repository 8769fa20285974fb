"""What contracts say of changes that somebody does not hear of."""

from __future__ import annotations

from simulation.contracts.controller import hearing_of
from tests.simulation.contracts.controller.stepping import revised, told, unsent


def test_a_change_that_nobody_hears_of_is_told() -> None:
    assert told(hearing_of.everyone_is_told) == []
    assert told(hearing_of.everyone_is_told, twist=unsent)
    assert told(hearing_of.everyone_is_told, spoil=revised(leader_epoch=9))
