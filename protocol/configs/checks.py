"""What values a Kafka configuration key takes beyond those of its type, in Kafka's words.

It declares no keys (``protocol.configs.topic``, ``protocol.configs.broker``) and parses nothing.
"""

from __future__ import annotations

import re
from typing import Any, Final

from protocol.configs.types import (
    ALL_LOG_DIRS,
    Check,
    RefusedValueError,
    UnmetRequirementError,
)

_REPLICA: Final = re.compile(r"([0-9]+:[0-9]+)?")
_STEPS_OF_VERSIONS: Final = (
    "0.8.0 0.8.1 0.8.2 0.9.0 0.10.0:2 0.10.1:3 0.10.2:1 0.11.0:3 1.0:1 1.1:1 2.0:2 2.1:3 2.2:2 "
    "2.3:2 2.4:2 2.5:1 2.6:1 2.7:3 2.8:2 3.0:2 3.1:1 3.2:1 3.3:4 3.4:1 3.5:3 3.6:3 3.7:5 3.8:1 "
    "3.9:1 4.0-IV0 4.0-IV1"
)
"""Releases with the number of steps on the way to them; 4.0's were steps without a release.

Source: MetadataVersion.java (3.9).
"""


def at_least(minimum: float) -> Check:
    """Accept numbers from ``minimum`` up. Source: ConfigDef.Range."""

    def check(value: Any) -> str | None:
        return f"Value must be at least {minimum}" if value < minimum else None

    return check


def between(minimum: float, maximum: float) -> Check:
    """Accept numbers from ``minimum`` to ``maximum``, both included. Source: ConfigDef.Range."""

    def check(value: Any) -> str | None:
        if value > maximum:
            return f"Value must be no more than {maximum}"
        return f"Value must be at least {minimum}" if value < minimum else None

    return check


def one_of(*choices: str) -> Check:
    """Accept these words only. Source: ConfigDef.ValidString."""

    def check(value: Any) -> str | None:
        return None if value in choices else f"String must be one of: {', '.join(choices)}"

    return check


def one_of_any_case(*choices: str) -> Check:
    """Accept these words only, in capitals too. Source: ConfigDef.CaseInsensitiveValidString."""

    def check(value: Any) -> str | None:
        if value.lower() in choices:
            return None
        return f"String must be one of (case insensitive): {', '.join(choices).upper()}"

    return check


def each_of(*choices: str) -> Check:
    """Accept lists of these words; Kafka names the first other one. Source: ConfigDef.ValidList."""

    def check(value: Any) -> str | None:
        for word in value:
            if word not in choices:
                raise RefusedValueError(f"String must be one of: {', '.join(choices)}", word)
        return None

    return check


def rebalance_protocols(value: Any) -> str | None:
    """Accept classic, with or without consumer; what else Kafka has is refused by its name.

    Source: GroupCoordinatorConfig, KafkaConfig.groupCoordinatorRebalanceProtocols.
    """
    for word in value:
        if word in {"share", "streams"}:
            raise RefusedValueError(f"There are no {word} groups here; leave it out", word)
    each_of("consumer", "classic")(value)
    return None if "classic" in value else "Disabling the 'classic' protocol is not supported."


def not_zero(name: str) -> Check:
    """Accept -1 for no bound and whole numbers from 1. Source: KafkaConfig.validateValues."""

    def check(value: Any) -> str | None:
        if value == 0:
            raise UnmetRequirementError(
                f"{name} must be unlimited (-1) or, greater than or equal to 1"
            )
        return None

    return check


def not_below(name: str, minimum: int) -> Check:
    """Accept whole numbers from ``minimum`` up. Source: KafkaConfig.validateValues."""

    def check(value: Any) -> str | None:
        if value < minimum:
            raise UnmetRequirementError(f"{name} must be greater than or equal to {minimum}")
        return None

    return check


def gzip_level(value: Any) -> str | None:
    """Accept gzip's levels and -1 for its default. Source: GzipCompression.LevelValidator."""
    if 1 <= value <= 9 or value == -1:
        return None
    return "Value must be between 1 and 9 or equal to -1"


def format_version(value: Any) -> str | None:
    """Accept versions of Kafka, whole (3.9.2), short (3.9) or with the step (3.9-IV0).

    Source: MetadataVersionValidator, MetadataVersion.fromVersionString.
    """
    numbers = value.split(".")
    known = ".".join(numbers[: 3 if value.startswith("0.") else 2])
    return None if known in _FORMAT_VERSIONS else f"Version {value} is not a valid version"


def throttled_replicas(name: str) -> Check:
    """Accept ``*`` or a list of ``partition:broker``, in which elements may be empty.

    Source: ThrottledReplicaListValidator.
    """

    def check(value: Any) -> str | None:
        if value == ("*",) or all(_REPLICA.fullmatch(word) for word in value):
            return None
        return (
            f"{name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        )

    return check


def cordoned(value: Any) -> str | None:
    """Refuse empty elements and ``*`` beside other values. Source: KIP-1066."""
    if "" in value:
        return "Configuration 'cordoned.log.dirs' values must not be empty."
    if ALL_LOG_DIRS in value and len(value) > 1:
        return "When cordoned.log.dirs is set to *, it must not contain other values"
    return None


def _format_versions() -> frozenset[str]:
    """List the releases and, for each, its steps."""
    known = [version.partition(":") for version in _STEPS_OF_VERSIONS.split()]
    steps = (f"{name}-IV{step}" for name, _, count in known for step in range(int(count or 0)))
    return frozenset([*(name for name, _, _ in known), *steps])


_FORMAT_VERSIONS: Final = _format_versions()
