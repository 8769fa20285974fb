"""The stored SCRAM credentials, fetched from the controller, by which clients authenticate."""

from __future__ import annotations

from collections.abc import Sequence

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.fetched_configs import FetchedConfigs
from broker.lifecycle.told_resources import told_resources
from protocol.configs.messages import SCRAM_CREDENTIALS
from protocol.security.listeners import Listener
from protocol.security.scram import ScramCredential, credential_from_text


class ScramCredentials(FetchedConfigs):
    """``run`` it once; ``refresh`` it when told that credentials changed."""

    def __init__(self, link: ControllerLink, listeners: Sequence[Listener]) -> None:
        """Without a listener of SASL among the broker's, nothing is asked."""
        super().__init__("SCRAM credentials")
        self._link = link
        self._is_used = any(each.protocol.is_sasl for each in listeners)
        self._found: dict[tuple[str, str], ScramCredential] = {}

    def find(self, mechanism: str, user: str) -> ScramCredential | None:
        """Return what is stored of a user for a mechanism."""
        return self._found.get((mechanism, user))

    async def _fetch(self) -> None:
        if not self._is_used:
            return
        told = await told_resources(self._link, SCRAM_CREDENTIALS)
        self._found = {
            (mechanism, user): credential_from_text(text)
            for user, texts in told.items()
            for mechanism, text in texts.items()
        }
