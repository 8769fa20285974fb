"""What a client is told to come in by each way, and nothing that it does not need."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.secured_lab import SecuredLab
from tests.clients.secured.combinations import CLIENTS, WAYS, Way, asked_of, java_properties

PORTS = {"TOOLS": 1, "SSL": 2, "SASL_PLAINTEXT": 3, "SASL_SSL": 4}


@pytest.fixture
def lab(tmp_path: Path) -> SecuredLab:
    for name in ("alice.crt", "alice.key"):
        (tmp_path / name).write_text(f"{name}\n")
    return SecuredLab(tmp_path, tmp_path / "cluster.yaml", PORTS)


@pytest.mark.parametrize(
    ("way", "needed"),
    [
        (Way("PLAINTEXT"), set[str]()),
        (Way("SSL"), {"ca", "certificate", "key"}),
        (Way("SASL_PLAINTEXT", "PLAIN"), {"mechanism", "user", "password"}),
        (Way("SASL_SSL", "SCRAM-SHA-256"), {"mechanism", "user", "password", "ca"}),
        (Way("SASL_SSL", "OAUTHBEARER"), {"mechanism", "token", "ca"}),
    ],
    ids=str,
)
def test_a_program_is_told_what_its_way_needs(lab: SecuredLab, way: Way, needed: set[str]) -> None:
    asked = asked_of(lab, way)
    assert {name for name, text in asked.items() if text} == needed | {
        "servers", "protocol", "token_ends_s",
    }  # fmt: skip
    port = PORTS["TOOLS" if way.protocol == "PLAINTEXT" else way.protocol]
    assert asked["servers"] == f"127.0.0.1:{port}"


def test_java_is_told_in_its_own_keys(lab: SecuredLab) -> None:
    assert java_properties(lab, Way("PLAINTEXT")).splitlines() == [
        "bootstrap.servers=127.0.0.1:1",
        "security.protocol=PLAINTEXT",
    ]
    by_ssl = java_properties(lab, Way("SSL"))
    assert f"ssl.keystore.location={lab.folder}/alice.pem" in by_ssl
    own = lab.folder / "alice.pem"
    assert own.read_text() == "alice.key\nalice.crt\n"
    assert own.stat().st_mode & 0o777 == 0o600
    scram = java_properties(lab, Way("SASL_PLAINTEXT", "SCRAM-SHA-512"))
    assert 'ScramLoginModule required username="alice" password="sesame";' in scram
    token = java_properties(lab, Way("SASL_PLAINTEXT", "OAUTHBEARER"))
    assert 'OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";' in token


def test_there_are_eight_clients_and_ten_ways() -> None:
    assert (len(CLIENTS), len(WAYS), len(set(WAYS))) == (8, 10, 10)
