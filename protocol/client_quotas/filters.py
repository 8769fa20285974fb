"""Which client quotas a DescribeClientQuotas asks for. Source: ClientQuotasImage.java describe."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from protocol.client_quotas.entities import ENTITY_TYPES, IP, QuotaEntity, Quotas
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)


class MatchType(IntEnum):
    """How a component of a filter matches the name of its type."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2
    """Any name, the default too."""


EVERY_QUOTA = DescribeClientQuotasRequest(components=[], strict=False)


class QuotaFilter(NamedTuple):
    """What is asked for."""

    names: dict[str, str | None]
    """Type -> the name that it must have; None: the default."""
    types: tuple[str, ...]
    """Those that an entity must name, whatever the name."""
    is_strict: bool
    """Whether it names no other type."""

    def matches(self, entity: QuotaEntity) -> bool:
        """Tell whether it asks for the quotas of this entity."""
        named = dict(entity)
        if self.is_strict and len(named) != len(self.names) + len(self.types):
            return False
        missing = object()
        return all(named.get(kind, missing) == name for kind, name in self.names.items()) and all(
            kind in named for kind in self.types
        )


def asked_filter(request: DescribeClientQuotasRequest) -> QuotaFilter:
    """Return what a request asks for.

    Raises:
        KafkaError: INVALID_REQUEST, or UNSUPPORTED_VERSION for a type that nobody knows.
    """
    names: dict[str, str | None] = {}
    types: list[str] = []
    for component in request.components:
        kind = component.entity_type
        _check_type(kind, [*names, *types])
        match_type = _checked_match(component)
        if match_type is MatchType.SPECIFIED:
            types.append(kind)
        else:
            names[kind] = component.match
    if IP in (*names, *types) and len(names) + len(types) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component."
        )
    return QuotaFilter(names, tuple(types), request.strict)


def described(quotas: Quotas, wanted: QuotaFilter) -> DescribeClientQuotasResponse:
    """Return the answer that tells of all that is ``wanted``, in the order of ``quotas``."""
    return DescribeClientQuotasResponse(
        error_code=ErrorCode.NONE,
        error_message="",  # as Kafka's brokers in KRaft mode
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                values=[ValueData(key=key, value=value) for key, value in limits.items()],
            )
            for entity, limits in quotas.items()
            if wanted.matches(entity)
        ],
    )


def told_quotas(entries: Sequence[EntryData]) -> Quotas:
    """Return the quotas that an answer tells."""
    return {
        tuple((each.entity_type, each.entity_name) for each in entry.entity): {
            each.key: each.value for each in entry.values
        }
        for entry in entries
    }


def _check_type(kind: str, before: Sequence[str]) -> None:
    if not kind:
        raise _invalid("Invalid empty entity type.")
    if kind in before:
        raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
    if kind not in ENTITY_TYPES:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")


def _checked_match(component: ComponentData) -> MatchType:
    try:
        match_type = MatchType(component.match_type)
    except ValueError:
        raise _invalid(f"Unknown match type {component.match_type}") from None
    named = f"Request specified MATCH_TYPE_{match_type.name}, but "
    if match_type is MatchType.EXACT and component.match is None:
        raise _invalid(f"{named}set match string to null.")
    if match_type is not MatchType.EXACT and component.match is not None:
        raise _invalid(f"{named}also specified a match string.")
    return match_type


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
