"""TLS contexts from Kafka's keys: what each store holds, and one sentence for what none can use."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from benchmarks.certificates import Authority, Signed
from protocol.configs.broker import BrokerConfig
from protocol.security.tls import SecurityConfigError, client_context, server_context

AUTHORITY = Authority()
OWN = AUTHORITY.sign("broker")


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str = "127.0.0.1") -> str:
    """Have both shake hands in memory; return the version that they agreed on."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ends[1].version() or ""


def inline(algorithm: str = "https") -> BrokerConfig:
    return BrokerConfig(
        ssl_keystore_certificate_chain=OWN.certificate,
        ssl_keystore_key=OWN.key,
        ssl_truststore_certificates=AUTHORITY.certificate,
        ssl_endpoint_identification_algorithm=algorithm,
    )


def as_pkcs12(signed: Signed, password: bytes) -> bytes:
    key = serialization.load_pem_private_key(signed.key.encode(), None)
    own = x509.load_pem_x509_certificate(signed.certificate.encode())
    trusted = x509.load_pem_x509_certificate(AUTHORITY.certificate.encode())
    form = serialization.BestAvailableEncryption(password)
    return pkcs12.serialize_key_and_certificates(b"own", key, own, [trusted], form)  # pyright: ignore[reportArgumentType]


def test_certificates_in_the_configuration_shake_hands() -> None:
    assert handshake(server_context(inline()), client_context(inline())) == "TLSv1.3"


def test_certificates_in_files_shake_hands_with_both_ends_asked(tmp_path: Path) -> None:
    store, trusted = tmp_path / "own.pem", tmp_path / "ca.pem"
    store.write_text(OWN.key + OWN.certificate)
    trusted.write_text(AUTHORITY.certificate)
    config = BrokerConfig(
        ssl_keystore_location=str(store),
        ssl_truststore_location=str(trusted),
        ssl_client_auth="required",
    )
    assert handshake(server_context(config), client_context(config)) == "TLSv1.3"


def test_a_pkcs12_store_holds_both_with_a_password(tmp_path: Path) -> None:
    store = tmp_path / "own.p12"
    store.write_bytes(as_pkcs12(OWN, b"secret"))
    config = BrokerConfig(
        ssl_keystore_type="PKCS12",
        ssl_keystore_location=str(store),
        ssl_keystore_password="secret",
    )
    assert handshake(server_context(config), client_context(inline())) == "TLSv1.3"
    wrong = BrokerConfig(
        ssl_keystore_type="PKCS12",
        ssl_keystore_location=str(store),
        ssl_keystore_password="guessed",
    )
    with pytest.raises(SecurityConfigError, match="has another password") as raised:
        server_context(wrong)
    assert "guessed" not in str(raised.value)


def test_an_expired_and_a_foreign_certificate_and_another_host_are_refused() -> None:
    expired = AUTHORITY.sign("late", is_expired=True)
    own = BrokerConfig(
        ssl_keystore_certificate_chain=expired.certificate, ssl_keystore_key=expired.key
    )
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        handshake(server_context(own), client_context(inline()))
    stranger = BrokerConfig(ssl_truststore_certificates=Authority("other").certificate)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server_context(inline()), client_context(stranger))
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        handshake(server_context(inline()), client_context(inline()), "10.0.0.1")
    lenient = inline(algorithm="")
    assert handshake(server_context(inline()), client_context(lenient), "10.0.0.1") == "TLSv1.3"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (BrokerConfig(), "ssl.keystore.location: a listener of SSL needs it"),
        (BrokerConfig(ssl_keystore_location="/nowhere"), "/nowhere cannot be read"),
        (
            BrokerConfig(ssl_keystore_certificate_chain=OWN.certificate),
            "ssl.keystore.key: is needed beside ssl.keystore.certificate.chain",
        ),
        (
            BrokerConfig(ssl_keystore_certificate_chain="x", ssl_keystore_key="y"),
            "ssl.keystore.certificate.chain: cannot be used",
        ),
    ],
)
def test_keys_that_make_no_context_are_told_in_one_sentence(
    config: BrokerConfig, said: str
) -> None:
    with pytest.raises(SecurityConfigError) as raised:
        server_context(config)
    assert said in str(raised.value)
