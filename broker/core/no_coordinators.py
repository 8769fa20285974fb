"""Clients that ask for transactions, which are not there yet: what to tell about them, and to whom.

Such a client waits in silence for as long as it lives, so the broker's log says once what it waits
for. It answers nothing and logs nothing. All of this goes when transactions come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from protocol.errors import ErrorCode, KafkaError

CLIENTS_MAX: Final = 1_000
"""So many are told of in one process: their names are remembered, and the log is bounded."""
_NAME_LENGTH_MAX: Final = 100
_NAMED_MAX: Final = 3
_TRANSACTIONS: Final = (
    "there are no transactions yet, and it waits in vain; instead let it be idempotent only "
    "(enable.idempotence) and give it no transactional id"
)


class NoCoordinatorError(KafkaError):
    """COORDINATOR_NOT_AVAILABLE, for good."""

    def __init__(self, message: str, warning: str) -> None:
        super().__init__(ErrorCode.COORDINATOR_NOT_AVAILABLE, message)
        self.warning = warning
        """What was asked for, and what to do instead; to follow the client's name."""


def no_transactions(names: Sequence[str]) -> NoCoordinatorError:
    """Return the answer to who asks for transactions."""
    warning = f"asked for transactions of {_listed(names)}: {_TRANSACTIONS}"
    return NoCoordinatorError("There are no transactions yet.", warning)


class ClientsTold:
    """Who was told of in the log: each client, by its id and host, once."""

    __slots__ = ("_clients_max", "_known")

    def __init__(self, clients_max: int = CLIENTS_MAX) -> None:
        self._clients_max = clients_max
        self._known: dict[tuple[str, str], None] = {}

    def warning(self, client_id: str, host: str, error: NoCoordinatorError) -> str | None:
        """Return the line to log; None for one that was told of, or is one too many."""
        client = (client_id[:_NAME_LENGTH_MAX], host)
        if client in self._known or len(self._known) >= self._clients_max:
            return None
        self._known[client] = None
        last = "" if len(self._known) < self._clients_max else "; no more clients are named"
        return f"client {client[0]!r} from {host} {error.warning}{last}"


def _listed(names: Sequence[str]) -> str:
    named = ", ".join(repr(name[:_NAME_LENGTH_MAX]) for name in names[:_NAMED_MAX])
    more = len(names) - _NAMED_MAX
    return f"{named} and {more} more" if more > 0 else named
