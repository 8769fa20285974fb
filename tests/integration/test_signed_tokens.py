# confluent-kafka has types in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""librdkafka, unchanged, with tokens that somebody signed, in short sessions (KIP-368)."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import jwt
import pytest
from confluent_kafka import KafkaError, Producer
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from benchmarks.secured_lab import HOST, SecuredLab, write_secured_lab
from jbodlab.processes.cluster import Cluster, running
from tests.deadlines import DEADLINE_S

TOPIC: Final = "signed"
SESSION_MS: Final = 2000
"""A broker refuses who authenticates again within a second, as Apache Kafka does."""
SESSIONS: Final = 3
TOKEN_S: Final = 3600
KNOWN, FOREIGN = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))


@pytest.fixture(scope="module")
def signed_lab(tmp_path_factory: pytest.TempPathFactory) -> Generator[SecuredLab]:
    """A broker that takes tokens of one key, and ends sessions soon."""
    folder = tmp_path_factory.mktemp("signed")
    lab = write_secured_lab(
        folder,
        topics=[TOPIC],
        configs={
            "sasl.oauthbearer.jwks.endpoint.url": key_file(folder).as_uri(),
            "connections.max.reauth.ms": str(SESSION_MS),
        },
    )
    with running(Cluster(lab.file)):
        yield lab


def key_file(folder: Path) -> Path:
    """Write the public key that tokens are checked by."""
    file = folder / "jwks.json"
    key = {**ECAlgorithm.to_jwk(KNOWN.public_key(), as_dict=True), "kid": "own"}
    file.write_text(json.dumps({"keys": [key]}))
    return file


def producer_of(lab: SecuredLab, key: Any, **options: Any) -> Any:
    """Return a producer of alice, whose tokens are signed by ``key``."""

    def token(_: str) -> tuple[str, float]:
        now_s = time.time_ns() // 1_000_000_000
        claims = {"sub": "alice", "iat": now_s, "exp": now_s + TOKEN_S}
        return jwt.encode(claims, key, algorithm="ES256", headers={"kid": "own"}), now_s + TOKEN_S

    chosen: dict[str, Any] = {
        "bootstrap.servers": f"{HOST}:{lab.ports['SASL_PLAINTEXT']}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": token,
        **options,
    }
    return Producer(chosen)


def test_a_producer_with_a_signed_token_goes_on_over_several_sessions(
    signed_lab: SecuredLab,
) -> None:
    told: list[str] = []
    failed: list[KafkaError] = []
    producer = producer_of(
        signed_lab, KNOWN, stats_cb=told.append, **{"statistics.interval.ms": 100}
    )

    def delivered(error: KafkaError | None, _: Any) -> None:
        if error is not None:
            failed.append(error)

    until_s = time.monotonic() + SESSIONS * SESSION_MS / 1000
    while time.monotonic() < until_s:
        producer.produce(TOPIC, b"on", on_delivery=delivered)
        assert producer.flush(DEADLINE_S) == 0
    assert failed == []
    brokers = json.loads(told[-1])["brokers"].values()
    assert [each["connects"] for each in brokers if each["req"].get("Produce")] == [1]
    assert sum(each["req"].get("SaslAuthenticate", 0) for each in brokers) >= SESSIONS


def test_a_token_that_somebody_else_signed_is_refused(signed_lab: SecuredLab) -> None:
    errors: list[KafkaError] = []
    producer = producer_of(signed_lab, FOREIGN, error_cb=errors.append)
    until_s = time.monotonic() + DEADLINE_S
    while not any(each.code() == KafkaError._AUTHENTICATION for each in errors):
        assert time.monotonic() < until_s, errors
        producer.poll(0.1)
