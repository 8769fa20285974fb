# confluent-kafka has types in part only.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportPrivateImportUsage=false
"""librdkafka logs in with a SCRAM credential that was stored a moment ago, until it is deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from benchmarks.secured_lab import HOST, write_secured_lab
from jbodlab.processes.cluster import Cluster, running
from tests.deadlines import DEADLINE_S

TOPIC = "secured"
MECHANISM = ScramMechanism.SCRAM_SHA_256


def log_in(port: int, password: str, timeout_s: float) -> Any:
    """Return the topics that carol sees."""
    admin = AdminClient(
        {
            "bootstrap.servers": f"{HOST}:{port}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": "carol",
            "sasl.password": password,
        }
    )
    return admin.list_topics(timeout=timeout_s).topics


@pytest.mark.integration
def test_a_stored_credential_lets_in_until_it_is_deleted(tmp_path: Path) -> None:
    lab = write_secured_lab(tmp_path, topics=[TOPIC])
    ports = lab.ports
    with running(Cluster(lab.file)):
        admin = AdminClient({"bootstrap.servers": f"{HOST}:{ports['TOOLS']}"})
        change: Any = UserScramCredentialUpsertion(
            "carol", ScramCredentialInfo(MECHANISM, 8192), b"sesame"
        )
        admin.alter_user_scram_credentials([change])["carol"].result(DEADLINE_S)
        described: Any = admin.describe_user_scram_credentials(["carol"])
        (info,) = described["carol"].result(DEADLINE_S).scram_credential_infos
        assert (info.mechanism, info.iterations) == (MECHANISM, 8192)
        assert TOPIC in log_in(ports["SASL_PLAINTEXT"], "sesame", DEADLINE_S)
        deletion: Any = UserScramCredentialDeletion("carol", MECHANISM)
        admin.alter_user_scram_credentials([deletion])["carol"].result(DEADLINE_S)
        with pytest.raises(KafkaException):
            log_in(ports["SASL_PLAINTEXT"], "sesame", 3)
