"""A cluster of one broker with a listener for each protocol, for tests and benchmarks.

Nodes speak SASL_SSL to each other, by a listener of their own. It starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import yaml

from benchmarks.certificates import Authority
from jbodlab.processes.free_ports import free_ports

HOST: Final = "127.0.0.1"
OWN: Final = "TOOLS"
"""The listener of protocol PLAINTEXT, by which jbodlab's own commands come."""
PROTOCOLS: Final = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
USER: Final = "alice"
PASSWORD: Final = "sesame"
CA_FILE: Final = "ca.crt"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


class SecuredLab(NamedTuple):
    """What ``write_secured_lab`` has written."""

    folder: Path
    file: Path
    ports: Mapping[str, int]
    """By the name of the listener: ``OWN`` and those of ``PROTOCOLS``."""

    def address(self, listener: str) -> str:
        """Return what a client is given."""
        return f"{HOST}:{self.ports[listener]}"


def write_secured_lab(
    folder: Path,
    *,
    password: str = PASSWORD,
    topics: Sequence[str] = (),
    configs: Mapping[str, str] | None = None,
    broker_id: int = 1,
) -> SecuredLab:
    """Write the cluster file, and certificates beside it.

    ``alice``'s certificate is good, that of ``expired`` was, the one of ``foreign`` is by an
    authority that nobody trusts; each is a ``.crt`` and a ``.key``, which are PEM.
    """
    names = ("NODES", OWN, *PROTOCOLS)
    *own, control_port, controller = free_ports(len(names) + 2)
    ports: dict[str, int] = dict(zip(names, own, strict=True))
    _write_certificates(folder)
    same = ",".join(f"{name}:{name}" for name in PROTOCOLS)
    document = {
        "cluster_id": "secured-lab",
        "controller": {"port": controller, "data_dir": "data/controller"},
        "metrics": {"dump_dir": "data/metrics"},
        "configs": {
            "inter.broker.listener.name": "NODES",
            "listener.security.protocol.map": f"NODES:SASL_SSL,{OWN}:PLAINTEXT,{same}",
            "ssl.keystore.location": "broker.pem",
            "ssl.truststore.location": CA_FILE,
            "ssl.client.auth": "requested",
            "jbodlab.sasl.users": f"broker:secret,{USER}:{password}",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "default.replication.factor": "1",
            "offsets.topic.replication.factor": "1",
            **(configs or {}),
        },
        "topics": [{"name": name} for name in topics],
        "brokers": [
            {
                "id": broker_id,
                "port": ports[OWN],
                "control_port": control_port,
                "log_dirs": [{"path": "data/d1"}, {"path": "data/d2"}],
                "configs": {
                    "listeners": ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
                },
            }
        ],
    }
    file = folder / "cluster.yaml"
    file.write_text(yaml.safe_dump(document))
    return SecuredLab(folder, file, ports)


def _write_certificates(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    authority = Authority()
    (folder / CA_FILE).write_text(authority.certificate)
    own = authority.sign("broker-1")
    (folder / "broker.pem").write_text(own.key + own.certificate)
    authority.sign(USER).files(folder, USER)
    authority.sign(USER, is_expired=True).files(folder, "expired")
    Authority("other").sign(USER).files(folder, "foreign")
