"""The journaled decisions about delegation tokens. As in ``controller.core.records``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from controller.core.state import ClusterState


@dataclass(frozen=True, slots=True)
class DelegationTokenStored:
    """A token as it is from now on."""

    token_id: str
    text: str

    def apply(self, state: ClusterState) -> None:
        """Store it."""
        state.delegation_tokens[self.token_id] = self.text


@dataclass(frozen=True, slots=True)
class DelegationTokenRemoved:
    """A token that is no more."""

    token_id: str

    def apply(self, state: ClusterState) -> None:
        """Remove it."""
        del state.delegation_tokens[self.token_id]


TOKEN_RECORDS: Final = (DelegationTokenStored, DelegationTokenRemoved)


def stored_tokens(state: ClusterState) -> list[DelegationTokenStored]:
    """Return the records that store what ``state`` has."""
    return [DelegationTokenStored(*each) for each in state.delegation_tokens.items()]
