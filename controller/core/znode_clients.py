"""Quotas and SCRAM credentials in ZooKeeper: read as decisions, and written when they change.

Each entity has one znode for both, which is written whole. Source: ZkAdminManager, AdminZkClient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from controller.core.quota_records import QUOTA_RECORDS, ClientQuotaRemoved, ClientQuotaSet
from controller.core.scram_records import (
    SCRAM_RECORDS,
    ScramCredentialDeleted,
    ScramCredentialStored,
)
from controller.core.state import ClusterState
from protocol.client_quotas.entities import (
    IP,
    KEYS_OF_ADDRESSES,
    KEYS_OF_CLIENTS,
    USER,
    QuotaEntity,
)
from protocol.security.sasl import InvalidTokenError
from protocol.security.scram import HASHES, ScramCredential, credential_from_text, credential_text
from protocol.zookeeper.client_entities import (
    client_entity,
    client_entity_path,
    limits_of,
    limits_text,
)

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
CLIENT_RECORDS: Final = (*QUOTA_RECORDS, *SCRAM_RECORDS)
ClientRecord = ClientQuotaSet | ClientQuotaRemoved | ScramCredentialStored | ScramCredentialDeleted


@dataclass(frozen=True, slots=True)
class ClientConfigsReplaced:
    """All that is set for an entity is what was read where others write it."""

    entity: QuotaEntity
    limits: dict[str, float]
    credentials: dict[str, ScramCredential]
    """Mechanism -> credential; of users alone."""

    def apply(self, state: ClusterState) -> None:
        """Replace it; what has nothing is forgotten."""
        _put(state.client_quotas, self.entity, self.limits)
        user = _user(self.entity)
        if user is not None:
            _put(state.scram_credentials, user, self.credentials)


def replaced(path: str, configs: Mapping[str, str]) -> ClientConfigsReplaced | None:
    """Return the decision to go by what is set at ``path``; None: the path is about no client."""
    entity = client_entity(path)
    if entity is None:
        return None
    keys = KEYS_OF_ADDRESSES if entity[0][0] == IP else KEYS_OF_CLIENTS
    return ClientConfigsReplaced(entity, limits_of(configs, keys), _credentials(configs))


def entity_of(record: ClientRecord) -> QuotaEntity:
    """Return whose znode a decision changes."""
    return record.entity if isinstance(record, QUOTA_RECORDS) else ((USER, record.user),)


def written(state: ClusterState, entity: QuotaEntity) -> dict[str, str]:
    """Return all that the znode of an entity has."""
    found = limits_text(state.client_quotas.get(entity, {}))
    stored = state.scram_credentials.get(_user(entity) or "", {})
    return found | {mechanism: credential_text(each) for mechanism, each in stored.items()}


def folders_of(entity: QuotaEntity) -> Iterator[tuple[str, QuotaEntity | None]]:
    """Give the paths above an entity's, the uppermost first, each with the entity that it is."""
    path = client_entity_path(entity)
    above = path.split("/")[:-1]
    for length in range(2, len(above) + 1):
        name = "/".join(above[:length])
        yield name, client_entity(name)


def _user(entity: QuotaEntity) -> str | None:
    """Return the user that an entity is, alone and by name."""
    match entity:
        case ((kind, name),) if kind == USER:
            return name
        case _:
            return None


def _credentials(configs: Mapping[str, str]) -> dict[str, ScramCredential]:
    found: dict[str, ScramCredential] = {}
    for mechanism in HASHES:
        try:
            found[mechanism] = credential_from_text(configs[mechanism])
        except (KeyError, InvalidTokenError):
            continue  # Brokers cannot read it either: nobody comes in by it.
    return found


def _put(stored: dict[KeyT, dict[str, ValueT]], key: KeyT, found: dict[str, ValueT]) -> None:
    if found:
        stored[key] = dict(found)  # The record is applied to another state, too.
    else:
        stored.pop(key, None)
