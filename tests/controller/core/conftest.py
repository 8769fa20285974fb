"""The contracts of the rules hold in the tests of the rules."""

from __future__ import annotations

from tests.simulation.contracts.holding import contracts_hold

__all__ = ["contracts_hold"]
