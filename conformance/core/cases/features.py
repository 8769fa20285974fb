"""UpdateFeatures: what is refused, and what is only validated. No case changes a feature."""

from __future__ import annotations

from typing import Any, Final

from conformance.core.catalogue import case
from conformance.core.script import CONTROLLER, Given, Script, ask

_UPGRADE: Final = 1
_SAFE_DOWNGRADE: Final = 2
_UNSAFE_DOWNGRADE: Final = 3
_METADATA: Final = "metadata.version"
_TRANSACTIONS: Final = "transaction.version"
_TOO_HIGH: Final = 2**15 - 1
"""No release has such a level."""


@case("typical/UpdateFeatures", "UpdateFeatures", versions="all")
def unknown_features(given: Given) -> Script:
    """Features that there are not: levels and kinds of update, one twice, none, no name."""
    name = given.name("feature")
    for level, kind in (
        (1, _UPGRADE),
        (0, _UPGRADE),
        (-1, _UPGRADE),
        (_TOO_HIGH, _UPGRADE),
        (1, _SAFE_DOWNGRADE),
        (0, _SAFE_DOWNGRADE),
        (0, _UNSAFE_DOWNGRADE),
        (1, 0),
        (1, 9),
    ):
        yield from _update(given, _row(name, level, kind))
    yield from _update(given, _row(name, 1), _row(name, 1))
    yield from _update(given, _row("", 1))
    yield from _update(given)


@case("cluster/feature-levels", "UpdateFeatures", versions="all")
def bad_levels(given: Given) -> Script:
    """Levels that a known feature cannot have, beside one that is unknown."""
    for feature in (_METADATA, _TRANSACTIONS):
        for level in (_TOO_HIGH, -1):
            yield from _update(given, _row(feature, level))
    unknown = _row(given.name("feature"), 1)
    yield from _update(given, unknown, _row(_METADATA, _TOO_HIGH))


@case("cluster/features-validated", "UpdateFeatures", versions="all", since=1)
def only_validated(given: Given) -> Script:
    """Updates that are only validated: the level that is, one that is older, none at all."""
    for level, kind in (
        (0, _UPGRADE),
        (0, _SAFE_DOWNGRADE),
        (0, _UNSAFE_DOWNGRADE),
        (1, _UPGRADE),
        (1, _SAFE_DOWNGRADE),
        (1, 0),
        (1, 9),
        (_TOO_HIGH, _UPGRADE),
    ):
        yield from _update(given, _row(_TRANSACTIONS, level, kind), is_validated=True)
    for level, kind in ((1, _UPGRADE), (1, _SAFE_DOWNGRADE), (1, _UNSAFE_DOWNGRADE)):
        yield from _update(given, _row(_METADATA, level, kind), is_validated=True)
    yield from _update(given, _row(given.name("feature"), 1), is_validated=True)
    yield from _update(given, is_validated=True)


def _row(feature: str, level: int, kind: int = _UPGRADE) -> dict[str, Any]:
    return {
        "feature": feature,
        "maxVersionLevel": level,
        "allowDowngrade": kind != _UPGRADE,
        "upgradeType": kind,
    }


def _update(given: Given, *rows: dict[str, Any], is_validated: bool = False) -> Script:
    form = {"timeoutMs": 10_000, "featureUpdates": rows, "validateOnly": is_validated}
    return ask("UpdateFeatures", given.version, form, to=CONTROLLER)
