"""Wrong rules, planted: what contracts say of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final

from simulation.contracts.contract import ROOMS as RULES
from simulation.contracts.contract import Contracts, tables_of
from simulation.contracts.table import CONTRACTS

ROOMS: Final = (*RULES, "tests.")
"""Tests call rules by the names that they imported."""


# Any: a rule takes and returns its own.
def told_of(
    wrong: Callable[..., Any] | property | None,
    rule: str,
    use: Callable[[], object],
    *,
    beside: Sequence[str] = (),
) -> list[str]:
    """Return what contracts tell while ``use`` runs, with a wrong rule in the place of ``rule``.

    Args:
        wrong: takes the parameters of the rule; None: the rule is left as it is.
        rule: the name of its contract, such as ``Partition.propose_join``.
        use: calls the rule; what it raises with a wrong one is of no concern.
        beside: names of contracts that keep what this one looks at; what they tell is told, too.
    """
    with ExitStack() as planted:
        if wrong is not None:
            plant(planted, rule, wrong)
        asked = [each for each in CONTRACTS if each.name in (rule, *beside)]
        contracts = planted.enter_context(Contracts(asked, now_us=lambda: 0, rooms=ROOMS))
        try:
            use()
        except Exception:
            if wrong is None:
                raise
    return [each.text for each in contracts.found]


def answers(value: object) -> Callable[..., object]:
    """Return a rule that says the same whatever it is asked, and does nothing."""

    def rule(*_: object, **__: object) -> object:
        return value

    return rule


def wrong_once(right: Callable[..., object], first: object) -> Callable[..., object]:
    """Return a rule that only says ``first`` when it is asked first, and is right from then on."""
    asked: list[object] = []

    def rule(*args: Any, **kwargs: Any) -> object:  # the rule's own
        asked.append(args)
        return right(*args, **kwargs) if len(asked) > 1 else first

    return rule


def plant(planted: ExitStack, name: str, wrong: Callable[..., Any] | property) -> None:
    """Put a wrong rule in the place of that of a contract, by its name, until the stack ends."""
    contract = next(each for each in CONTRACTS if each.name == name)
    rule = contract.rule
    if contract.owner is not None:
        before = vars(contract.owner)[str(rule)]
        setattr(contract.owner, str(rule), wrong)
        planted.callback(setattr, contract.owner, str(rule), before)
        return
    sought = {id(rule)}
    for table in tables_of(ROOMS):
        if sought.isdisjoint(map(id, table.values())):
            continue
        for name in [name for name, value in table.items() if value is rule]:
            table[name] = wrong
            planted.callback(table.__setitem__, name, rule)
