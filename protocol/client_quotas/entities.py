"""Whom a client quota is about, what it may limit, and the checks of both.

Source: ClientQuotaControlManager.java, QuotaConfig.java, ClientQuotaEntity.java (4.3).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final, TypeAlias

from protocol.errors import ErrorCode, KafkaError

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]
"""(type, name) pairs, ordered by type, each type once; None names the default of its type."""
Quotas: TypeAlias = dict[QuotaEntity, dict[str, float]]
"""Entity -> key -> limit; no entity without a limit."""

KEYS_OF_CLIENTS: Final = (
    PRODUCER_BYTE_RATE,
    CONSUMER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    CONTROLLER_MUTATION_RATE,
)
KEYS_OF_ADDRESSES: Final = (CONNECTION_CREATION_RATE,)
WHOLE_KEYS: Final = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, CONNECTION_CREATION_RATE)
_INTEGERS: Final = (CONNECTION_CREATION_RATE,)
"""Java's int; the other whole ones are longs."""
_LONG_MAX: Final = 2.0**63
_INT_MAX: Final = 2.0**31 - 1
_FRACTION_MAX: Final = 1e-6
"""What Kafka takes for noise beside a whole number."""


def quota_entity(names: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """Return the entity of these (type, name) pairs; of a type that comes twice the last counts.

    Raises:
        KafkaError: INVALID_REQUEST, the pairs name no entity that quotas can be about.
    """
    entity = dict(names)
    if not entity:
        raise _invalid("Invalid empty client quota entity")
    for kind, name in entity.items():
        if kind not in ENTITY_TYPES:
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    if IP in entity and len(entity) > 1:
        raise _invalid(
            "Invalid quota entity combination, IP entity should"  # Kafka's text, word for word.
            "not be combined with User or ClientId"
        )
    address = entity.get(IP)
    if address is not None and not _is_address(address):
        raise _invalid(f"{address} is not a valid IP or resolvable host.")
    return tuple(sorted(entity.items(), key=lambda pair: pair[0]))


def check_quota(entity: QuotaEntity, key: str, value: float) -> None:
    """Check a limit that is to be set.

    Raises:
        KafkaError: INVALID_REQUEST, the entity has no such key, or the key no such value.
    """
    keys = KEYS_OF_ADDRESSES if entity[0][0] == IP else KEYS_OF_CLIENTS
    if key not in keys:
        raise _invalid(f"Invalid configuration key {key}")
    if not value > 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    if key not in WHOLE_KEYS:
        return
    name, limit = ("an INT", _INT_MAX) if key in _INTEGERS else ("a LONG", _LONG_MAX)
    if value > limit:
        raise _invalid(f"Proposed value for {key} is too large for {name}.")
    if abs(int(value + _FRACTION_MAX) - value) > _FRACTION_MAX:
        raise _invalid(f"{key} cannot be a fractional value.")


def entity_text(entity: QuotaEntity) -> str:
    """Return an entity as Kafka's error messages and the logs name it."""
    named = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{named}}})"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
