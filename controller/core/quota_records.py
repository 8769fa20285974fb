"""The journaled decisions about clients' quotas. As in ``controller.core.records``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from controller.core.state import ClusterState
from protocol.client_quotas.entities import QuotaEntity


@dataclass(frozen=True, slots=True)
class ClientQuotaSet:
    """An entity has this limit, in place of the one before."""

    entity: QuotaEntity
    key: str
    value: float

    def apply(self, state: ClusterState) -> None:
        """Store it."""
        state.client_quotas.setdefault(self.entity, {})[self.key] = self.value


@dataclass(frozen=True, slots=True)
class ClientQuotaRemoved:
    """An entity has no limit of this key any more."""

    entity: QuotaEntity
    key: str

    def apply(self, state: ClusterState) -> None:
        """Remove it; an entity without any is forgotten."""
        del state.client_quotas[self.entity][self.key]
        if not state.client_quotas[self.entity]:
            del state.client_quotas[self.entity]


QUOTA_RECORDS: Final = (ClientQuotaSet, ClientQuotaRemoved)


def stored_quotas(state: ClusterState) -> list[ClientQuotaSet]:
    """Return the records that store what ``state`` has."""
    return [
        ClientQuotaSet(entity, key, value)
        for entity, limits in state.client_quotas.items()
        for key, value in limits.items()
    ]
