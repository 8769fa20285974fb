"""The table has all contracts."""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from simulation import contracts
from simulation.contracts.contract import Contract
from simulation.contracts.table import CONTRACTS

LISTED = {contract.promise.__name__ for contract in CONTRACTS}


def test_every_contract_is_in_the_table() -> None:
    for module in pkgutil.walk_packages(contracts.__path__, f"{contracts.__name__}."):
        for name, value in _names_of(module.name):
            assert not _is_one(value) or name in LISTED or name == "CONTRACTS", (
                f"{module.name}.{name}"
            )


def test_every_contract_says_what_is_promised() -> None:
    assert [each.name for each in CONTRACTS if not each.text] == []


def _names_of(module: str) -> list[tuple[str, object]]:
    return list(vars(importlib.import_module(module)).items())


def _is_one(value: object) -> bool:
    if isinstance(value, tuple):
        return any(isinstance(each, Contract) for each in cast("tuple[object, ...]", value))
    return isinstance(value, Contract)
