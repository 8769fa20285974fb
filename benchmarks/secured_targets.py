# confluent-kafka has types in part only.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportPrivateImportUsage=false
"""Clusters of three brokers whose clients come in by SASL_SSL with SCRAM: jbodlab and Apache Kafka.

Both have an authorizer, in which the clients are super users. They measure nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from benchmarks.certificates import Authority
from benchmarks.jbodlab_target import JbodlabTarget
from benchmarks.peer.kafka import BROKER_IDS, BUILD_DIR, KafkaPeer
from jbodlab.processes.free_ports import free_port
from jbodlab.processes.lab_spec import LabShape
from jbodlab.processes.secure_files import CLIENTS_DIR
from protocol.cluster_file.secure import SECURE_DIR

USER: Final = "admin"
MECHANISM: Final = "SCRAM-SHA-512"
_ITERATIONS: Final = 4096
_DEADLINE_S: Final = 60


class SecuredJbodlab(JbodlabTarget):
    """A cluster as ``jbodlab up --secure`` makes it."""

    def __init__(self, root: Path) -> None:
        """Write the cluster file."""
        super().__init__(root, shape=LabShape(secure=True))
        self._clients = root / SECURE_DIR / CLIENTS_DIR

    @property
    def client(self) -> dict[str, str]:
        """What librdkafka needs to come in; there is a file of it once the cluster runs."""
        text = (self._clients / f"{USER}.librdkafka.conf").read_text(encoding="utf-8")
        return dict(line.split("=", 1) for line in text.splitlines() if not line.startswith("#"))


class SecuredKafka(KafkaPeer):
    """Brokers ask each other at PLAINTEXT, by listeners of their own."""

    def __init__(self, root: Path) -> None:
        """Fetch what is missing and make certificates.

        Raises:
            PeerMissingError: as KafkaPeer.
        """
        super().__init__(root, BUILD_DIR)
        self._own = {broker_id: free_port() for broker_id in BROKER_IDS}
        self._password = secrets.token_hex(16)
        authority = Authority()
        signed = authority.sign("broker")
        self._ca, self._store = root / "ca.pem", root / "broker.pem"
        self._ca.write_text(authority.certificate)
        self._store.touch(mode=0o600)
        self._store.write_text(signed.key + signed.certificate)

    @property
    def client(self) -> dict[str, str]:
        """What librdkafka needs to come in."""
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self._ca),
            "sasl.mechanism": MECHANISM,
            "sasl.username": USER,
            "sasl.password": self._password,
        }

    def wait_until_up(self, *, deadline_s: float = 300) -> None:
        """Wait until every broker says that it has started, and store the user's credential.

        Raises:
            PeerMissingError: as KafkaPeer.
        """
        super().wait_until_up(deadline_s=deadline_s)
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{self._own[1]}"})
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS)
        change: Any = UserScramCredentialUpsertion(USER, info, self._password.encode())
        admin.alter_user_scram_credentials([change])[USER].result(_DEADLINE_S)

    def configs_of(self, broker_id: int) -> Mapping[str, str]:
        """Return a broker's keys beside those that every peer has."""
        own, port = self._own[broker_id], self._ports[broker_id]
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return {
            "listeners": f"PLAINTEXT://127.0.0.1:{own},SASL_SSL://127.0.0.1:{port}",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": MECHANISM,
            f"listener.name.sasl_ssl.{MECHANISM.lower()}.sasl.jaas.config": f"{module} required;",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._store),
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": f"User:{USER};User:ANONYMOUS",
        }
