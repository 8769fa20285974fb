"""Every API at every version with each of its fields at both ends of what it can be."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from conformance.core.cases.sweep import FOR_CONTROLLER, OF_GROUPS, OF_TRANSACTIONS
from conformance.core.catalogue import CLIENT_APIS, add
from conformance.core.extremes import Extreme
from conformance.core.script import CONTROLLER, Case, Coordinator, Given, Request, Script, Talk, To

_LONG: Final = "x" * 300
"""Behind a name: no topic's is so long."""
_LEFT_OUT: Final = ("ElectLeaders", "WriteTxnMarkers")
"""Without topics the first is about all partitions of the cluster."""
_FIXED: Final[dict[str, dict[str, Any]]] = {
    "Produce": {"records": ""},  # Kafka never answers null records.
    "ApiVersions": {},
}


def _lowest(api: str, given: Given) -> Script:
    """Send numbers as low as they can be, empty strings, null where it may be."""
    extreme = Extreme(is_high=False, name="", fixed=_FIXED.get(api, {}))
    yield _talk(api, given, extreme, "")


def _highest(api: str, given: Given) -> Script:
    """Send numbers as high as they can be and names that are too long."""
    name = given.name("long") + _LONG
    extreme = Extreme(is_high=True, name=name, fixed=_FIXED.get(api, {}))
    yield _talk(api, given, extreme, name)


def _talk(api: str, given: Given, extreme: Extreme, name: str) -> Talk:
    form = extreme.request(api, given.version)
    return Talk([Request(api, given.version, form)], to=_whom(api, name))


def _whom(api: str, name: str) -> To:
    if api in OF_GROUPS:
        return Coordinator(name)
    if api in OF_TRANSACTIONS and name:
        return Coordinator(name, 1)
    return CONTROLLER if api in FOR_CONTROLLER else 1


def register() -> None:
    """Add the cases of all APIs."""
    rows = (
        ("lowest", "{} with the lowest numbers, empty strings, and null where it may be", _lowest),
        ("highest", "{} with the highest numbers and names that are too long", _highest),
    )
    for word, about, script in rows:
        for api in CLIENT_APIS:
            if api not in _LEFT_OUT:
                name = f"bounds/{api}-{word}"
                add(Case(name, about.format(api), partial(script, api), api, "all"))
