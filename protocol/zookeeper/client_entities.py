"""Where ZooKeeper keeps what is set for users, client ids and addresses, and how it is written.

Quotas, and of users their SCRAM credentials, stand side by side in one znode of an entity.
Source: ConfigEntityName, Sanitizer, ZkAdminManager.alterClientQuotas of Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

from protocol.client_quotas.entities import CLIENT_ID, IP, USER, WHOLE_KEYS, QuotaEntity
from protocol.zookeeper.paths import ALL_BROKERS_ENTITY

USERS: Final = "users"
CLIENTS: Final = "clients"
IPS: Final = "ips"
CLIENT_FOLDERS: Final = (USERS, CLIENTS, IPS)
_DEFAULT: Final = ALL_BROKERS_ENTITY


def client_entity_path(entity: QuotaEntity) -> str:
    """Return ``users/alice``, ``clients/app``, ``users/alice/clients/app`` or ``ips/10.0.0.1``."""
    names = {kind: _DEFAULT if name is None else _sanitized(name) for kind, name in entity}
    if IP in names:
        return f"{IPS}/{names[IP]}"
    user = f"{USERS}/{names[USER]}" if USER in names else ""
    client = f"{CLIENTS}/{names[CLIENT_ID]}" if CLIENT_ID in names else ""
    return "/".join(filter(None, (user, client)))


def client_entity(path: str) -> QuotaEntity | None:
    """Return whom such a path is about; None: it is no such path."""
    match path.split("/"):
        case [folder, name] if folder == USERS:
            return ((USER, _name(name)),)
        case [folder, name] if folder == CLIENTS:
            return ((CLIENT_ID, _name(name)),)
        case [folder, name] if folder == IPS:
            return ((IP, _name(name)),)
        case [users, user, clients, client] if (users, clients) == (USERS, CLIENTS):
            return ((CLIENT_ID, _name(client)), (USER, _name(user)))
        case _:
            return None


def limits_text(limits: Mapping[str, float]) -> dict[str, str]:
    """Return limits as they are written: whole ones without a point."""
    return {
        key: str(round(value)) if key in WHOLE_KEYS else repr(float(value))
        for key, value in limits.items()
    }


def limits_of(config: Mapping[str, str], keys: tuple[str, ...]) -> dict[str, float]:
    """Return the limits among what is set; a text that is no number is passed over."""
    found: dict[str, float] = {}
    for key in keys:
        try:
            found[key] = float(config[key])
        except (KeyError, ValueError):
            continue
    return found


def _sanitized(name: str) -> str:
    return quote(name, safe="")


def _name(sanitized: str) -> str | None:
    return None if sanitized == _DEFAULT else unquote(sanitized)
