"""Kafka's keys for clients become TLS and a login; what makes no sense is refused with its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.certificates import Authority
from protocol.security.client import JAAS, OPEN, security_by
from protocol.security.oauth import validate_unsecured
from protocol.security.sasl_client import Login
from protocol.security.tls import SecurityConfigError

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
NOW_MS = 1_700_000_000_000
SASL = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-512"}


def test_nothing_is_brought_along_to_plaintext() -> None:
    assert security_by({}, NOW_MS) == OPEN
    assert security_by({"security.protocol": "PLAINTEXT", "client.id": "me"}, NOW_MS) == OPEN


@pytest.mark.parametrize(
    ("jaas", "user", "password"),
    [
        (f'{MODULE} required username="alice" password="se=s;a\\"me";', "alice", 'se=s;a"me'),
        (f"{MODULE} required username=alice password=sesame;", "alice", "sesame"),
        (f' {MODULE}  optional  password="p"\n  username="a" ;', "a", "p"),
    ],
)
def test_the_login_is_read_as_java_reads_it(jaas: str, user: str, password: str) -> None:
    security = security_by({**SASL, JAAS: jaas}, NOW_MS)
    assert security.login == Login("SCRAM-SHA-512", user, password)
    assert security.tls is None
    assert password not in repr(security)


def test_a_token_comes_from_a_file_or_is_made_for_development(tmp_path: Path) -> None:
    oauth = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    (tmp_path / "token").write_text("a.b.c\n")
    keys = {**oauth, "sasl.oauthbearer.token.endpoint.url": (tmp_path / "token").as_uri()}
    assert security_by(keys, NOW_MS).login == Login("OAUTHBEARER", "", "a.b.c")
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    login = security_by(
        {**oauth, JAAS: f'{module} required unsecuredLoginStringClaim_sub="alice";'}, NOW_MS
    ).login
    assert login is not None
    assert validate_unsecured(login.password, NOW_MS).principal == "alice"
    for bad in ({JAAS: f"{module} required;"}, {"sasl.oauthbearer.token.endpoint.url": "http://x"}):
        with pytest.raises(SecurityConfigError, match=r"unsecuredLoginStringClaim_sub|a file:"):
            security_by({**oauth, **bad}, NOW_MS)


def test_certificates_are_trusted_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(Authority().certificate)
    keys = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tmp_path / "ca.pem"),
        "ssl.endpoint.identification.algorithm": "",
        "ssl.protocol": "TLSv1.3",
    }
    security = security_by(keys, NOW_MS)
    assert security.tls is not None
    assert not security.tls.check_hostname
    assert len(security.tls.get_ca_certs()) == 1


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"security.protocol": "TLS"}, "security.protocol: must be one of PLAINTEXT, SSL"),
        ({"security.protocol": "SASL_PLAINTEXT"}, "sasl.mechanism: .* is GSSAPI, which is not"),
        (SASL, "sasl.jaas.config: expected a login module"),
        ({**SASL, JAAS: "username=a password=b;"}, "sasl.jaas.config: expected"),
        ({**SASL, JAAS: f"{MODULE} required username=a;"}, "sasl.jaas.config: expected"),
        ({"security.protocol": "SSL", "ssl.truststore.type": "JKS"}, "PEM, PKCS12"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "no"}, "no cannot be read"),
    ],
)
def test_what_makes_no_sense_is_refused(keys: dict[str, str], says: str) -> None:
    with pytest.raises(SecurityConfigError, match=says):
        security_by(keys, NOW_MS)
