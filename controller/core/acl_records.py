"""The journaled decisions about ACLs. As in ``controller.core.records``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from controller.core.state import ClusterState
from protocol.acls.model import AclBinding


@dataclass(frozen=True, slots=True)
class AclsCreated:
    """ACLs that there were not before."""

    acls: tuple[AclBinding, ...]

    def apply(self, state: ClusterState) -> None:
        """Add them."""
        state.acls.update(dict.fromkeys(self.acls))
        state.acls_generation += 1


@dataclass(frozen=True, slots=True)
class AclsDeleted:
    """ACLs that were there."""

    acls: tuple[AclBinding, ...]

    def apply(self, state: ClusterState) -> None:
        """Remove them."""
        for acl in self.acls:
            del state.acls[acl]
        state.acls_generation += 1


@dataclass(frozen=True, slots=True)
class AclsReplaced:
    """All ACLs are what was read where others write them."""

    acls: tuple[AclBinding, ...]

    def apply(self, state: ClusterState) -> None:
        """Replace them."""
        state.acls = dict.fromkeys(self.acls)
        state.acls_generation += 1


ACL_RECORDS: Final = (AclsCreated, AclsDeleted)
