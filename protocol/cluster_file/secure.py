"""What ``secure: true`` stands for: Kafka's keys of a cluster where nobody comes in by PLAINTEXT.

Certificates and users are in files of a folder, which ``jbodlab up`` makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from protocol.configs.authorizer import STANDARD_AUTHORIZER
from protocol.security.listeners import (
    ADVERTISED_LISTENERS,
    CONTROL_PLANE_LISTENER,
    INTER_BROKER_LISTENER,
    INTER_BROKER_PROTOCOL,
    LISTENERS,
    PROTOCOL_MAP,
    SecurityProtocol,
)

SECURE_DIR: Final = "data/secure"
"""Beside a cluster file named ``cluster.yaml``."""
_USUAL_NAME: Final = "cluster"
CA_FILE: Final = "ca.pem"
NODE_FILE: Final = "node.pem"
USERS_FILE: Final = "users"
USERS_LOCATION: Final = "jbodlab.sasl.users.location"
NODE_USER: Final = "broker"
ADMIN_USER: Final = "admin"
"""Who may do everything, as nodes may."""
OWN_KEYS: Final = (
    LISTENERS,
    ADVERTISED_LISTENERS,
    PROTOCOL_MAP,
    INTER_BROKER_LISTENER,
    INTER_BROKER_PROTOCOL,
    CONTROL_PLANE_LISTENER,
    USERS_LOCATION,
)
"""Cannot be set beside ``secure``."""
_PROTOCOL: Final = SecurityProtocol.SASL_SSL.name


def secure_configs(folder: str) -> dict[str, str]:
    """Return the keys of all nodes, with certificates and users in ``folder``."""
    return {
        INTER_BROKER_PROTOCOL: _PROTOCOL,
        "ssl.keystore.location": f"{folder}/{NODE_FILE}",
        "ssl.truststore.location": f"{folder}/{CA_FILE}",
        USERS_LOCATION: f"{folder}/{USERS_FILE}",
        "jbodlab.sasl.inter.broker.user": NODE_USER,
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": f"User:{NODE_USER};User:{ADMIN_USER}",
    }


def secure_dir(source: str) -> str:
    """Return the folder, beside it, of a cluster file; clusters in one folder share nothing."""
    stem, _, ending = source.rpartition("/")[2].rpartition(".")
    is_other = ending in ("yaml", "yml") and stem != _USUAL_NAME
    return f"{SECURE_DIR}-{stem}" if is_other else SECURE_DIR


def secure_listeners(bind: tuple[str, int], advertised: tuple[str, int]) -> dict[str, str]:
    """Return the keys of one broker."""
    return {
        LISTENERS: f"{_PROTOCOL}://{_address(*bind)}",
        ADVERTISED_LISTENERS: f"{_PROTOCOL}://{_address(*advertised)}",
    }


def secure_folder(configs: Mapping[str, str]) -> str | None:
    """Return the folder of a cluster that is secured so; None of any other."""
    folder = configs.get(USERS_LOCATION, "").removesuffix(f"/{USERS_FILE}")
    parent, _, name = folder.rpartition("/")
    is_own = f"{parent}/{name.partition('-')[0]}".endswith(f"/{SECURE_DIR}")
    return folder if is_own else None


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
