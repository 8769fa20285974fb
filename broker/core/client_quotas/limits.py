"""Which limit holds for a client, and with whom it shares it.

Source: ClientQuotaManager.scala DefaultQuotaCallback.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from protocol.client_quotas.entities import CLIENT_ID, IP, USER, Quotas

_NOBODY: Final = ""
"""Stands for a type that an entity does not name; no user and no client id is empty."""
Sharers: TypeAlias = tuple[str, str]
"""(user, client id): who counts together; "" stands for whoever it is."""
_Place: TypeAlias = tuple[str | None, str | None]
"""(user, client id) as configured; None stands for the default."""


class Asker(NamedTuple):
    """Whose request it is."""

    user: str
    """The name of the principal."""
    client_id: str
    """"" where it gave none."""


class Limit(NamedTuple):
    """What holds for one client."""

    per_second: float
    sharers: Sharers


class QuotaLimits:
    """The configured limits of one key, such as ``producer_byte_rate``."""

    def __init__(self, quotas: Quotas, key: str) -> None:
        self._limits: dict[_Place, float] = {}
        for entity, limits in quotas.items():
            named = dict(entity)
            if key in limits and IP not in named:
                place = (named.get(USER, _NOBODY), named.get(CLIENT_ID, _NOBODY))
                self._limits[place] = limits[key]

    def __bool__(self) -> bool:
        """Tell whether anything is limited."""
        return bool(self._limits)

    def of(self, asker: Asker) -> Limit | None:
        """Return the most specific limit, None when there is none."""
        for place, sharers in _places(asker):
            per_second = self._limits.get(place)
            if per_second is not None:
                return Limit(per_second, sharers)
        return None


def _places(asker: Asker) -> Iterator[tuple[_Place, Sharers]]:
    """Give where a limit may stand, the most specific first; users go before client ids."""
    user, client_id = asker
    for owner in (user, None):
        if client_id:  # A client without an id has no quota of clients, not even the default.
            yield (owner, client_id), (user, client_id)
            yield (owner, None), (user, client_id)
        yield (owner, _NOBODY), (user, _NOBODY)
    if client_id:
        yield (_NOBODY, client_id), (_NOBODY, client_id)
        yield (_NOBODY, None), (_NOBODY, client_id)
