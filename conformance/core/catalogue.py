"""Registers cases by decorators, and expands them to versions. It runs none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Final

from conformance.core.script import Case, Given, Script
from protocol.apis import BY_NAME

PLAIN: Final = "plain"
SECURED: Final = "secured"
PROFILES: Final = (PLAIN, SECURED)
"""Kinds of clusters, each with cases and records of its own: one that lets everybody do everything;
one with SASL, an authorizer and delegation tokens."""
_CASES: Final[dict[str, dict[str, Case]]] = {each: {} for each in PROFILES}
BETWEEN_NODES: Final = (
    *("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown", "AlterPartition"),
    *("Envelope", "BrokerRegistration", "BrokerHeartbeat", "AllocateProducerIds"),
    *("AssignReplicasToDirs",),
)
"""Nobody but brokers and controllers asks these; a judge would harm the cluster by them."""
CLIENT_APIS: Final = tuple(name for name in BY_NAME if name not in BETWEEN_NODES)


@dataclass(frozen=True, slots=True)
class Variant:
    """A case at one version: what is run, recorded and reported."""

    case: Case
    version: int

    @property
    def name(self) -> str:
        """Name it: ``group/what@vN``."""
        return f"{self.case.name}@v{self.version}"


def case(
    name: str,
    api: str,
    *,
    versions: str = "newest",
    brokers: int = 1,
    since: int = 0,
    profile: str = PLAIN,
) -> Callable[[Callable[[Given], Script]], Callable[[Given], Script]]:
    """Register a script; the first line of its docstring says what it is about."""

    def register(script: Callable[[Given], Script]) -> Callable[[Given], Script]:
        about = (script.__doc__ or "").strip().partition("\n")[0]
        add(Case(name, about, script, api, versions, brokers, since), profile)
        return script

    return register


def add(made: Case, profile: str = PLAIN) -> None:
    """Register a case; its name must be new, in whatever profile."""
    assert not any(made.name in cases for cases in _CASES.values()), made.name
    _CASES[profile][made.name] = made


secured: Final = partial(case, profile=SECURED)
"""The same for a script of secured clusters."""


def registered(profile: str = PLAIN) -> list[Case]:
    """Return every case of a profile that was registered, in that order."""
    return list(_CASES[profile].values())


def variants(
    cases: list[Case], announced: Mapping[int, tuple[int, int]], pattern: str = "*"
) -> Iterator[Variant]:
    """Give each case at each of its versions among those announced (by API key)."""
    for each in cases:
        api = BY_NAME[each.api]
        low, high = announced.get(api.key, (0, -1))
        known = api.versions
        for version in each.versions_among(max(low, known.low), min(high, known.high)):
            found = Variant(each, version)
            if matches(found.name, pattern):
                yield found


def matches(name: str, pattern: str) -> bool:
    """Tell whether a pattern with * and ? means a variant, its case, or its group."""
    words = (name, name.partition("@")[0], name.partition("/")[0])
    return any(fnmatchcase(word, pattern) for word in words)
