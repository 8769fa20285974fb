"""Contracts around the rules while their own tests run: what those do is no broken promise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simulation.contracts.contract import Contracts
from simulation.contracts.table import CONTRACTS
from tests.simulation.contracts.wrong_rules import ROOMS


@pytest.fixture(scope="module", autouse=True)
def contracts_hold() -> Iterator[None]:
    """Fail a file of tests at its end, where rules that it called broke their promises."""
    with Contracts(CONTRACTS, now_us=lambda: 0, rooms=ROOMS) as contracts:
        yield
    told = [each.text for each in contracts.found]
    assert not told, told
