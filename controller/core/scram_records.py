"""The journaled decisions about stored SCRAM credentials. As in ``controller.core.records``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from controller.core.state import ClusterState
from protocol.security.scram import ScramCredential


@dataclass(frozen=True, slots=True)
class ScramCredentialStored:
    """A user has this credential for one mechanism, in place of the one before."""

    user: str
    mechanism: str
    credential: ScramCredential

    def apply(self, state: ClusterState) -> None:
        """Store it."""
        state.scram_credentials.setdefault(self.user, {})[self.mechanism] = self.credential


@dataclass(frozen=True, slots=True)
class ScramCredentialDeleted:
    """A user has no stored credential for this mechanism any more."""

    user: str
    mechanism: str

    def apply(self, state: ClusterState) -> None:
        """Remove it; a user without any is forgotten."""
        del state.scram_credentials[self.user][self.mechanism]
        if not state.scram_credentials[self.user]:
            del state.scram_credentials[self.user]


SCRAM_RECORDS: Final = (ScramCredentialStored, ScramCredentialDeleted)


def stored_credentials(state: ClusterState) -> list[ScramCredentialStored]:
    """Return the records that store what ``state`` has."""
    return [
        ScramCredentialStored(user, mechanism, credential)
        for user, credentials in state.scram_credentials.items()
        for mechanism, credential in credentials.items()
    ]
