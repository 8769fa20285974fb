"""TLS contexts from Kafka's ``ssl.*`` keys, and who a certificate says that its holder is.

Certificates and keys come as PEM, in the configuration or in files (KIP-651), or as PKCS12 files.
Kafka's JKS is refused. Source: DefaultSslEngineFactory.java.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol.configs.security import SecurityConfig
from protocol.principal import ANONYMOUS, Principal

if TYPE_CHECKING:
    from collections.abc import Generator

    from cryptography import x509

PEM: Final = "PEM"
PKCS12: Final = "PKCS12"
logger = logging.getLogger(__name__)
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class SecurityConfigError(ValueError):
    """Keys that make no TLS context: the key at fault and one sentence, never a secret."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(f"{key}: {text}")
        self.key = key
        self.text = text


class ToldHandshake(ssl.SSLObject):
    """A server's end that logs why a handshake failed: event loops pass over it in silence."""

    def do_handshake(self) -> None:
        """Go on as far as the bytes at hand allow."""
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            logger.warning("SSL handshake of a client failed: %s", _reason(error))
            raise


def server_context(config: SecurityConfig) -> ssl.SSLContext:
    """Return what a listener shakes hands by.

    Raises:
        SecurityConfigError: the keys make none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslobject_class = ToldHandshake
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not _load_own(context, config):
        raise SecurityConfigError(
            "ssl.keystore.location", "a listener of SSL needs it, or ssl.keystore.certificate.chain"
        )
    context.verify_mode = _CLIENT_AUTH[config.ssl_client_auth.lower()]
    if context.verify_mode is not ssl.CERT_NONE:
        _load_trusted(context, config)
    return context


def client_context(config: SecurityConfig) -> ssl.SSLContext:
    """Return what a node shakes hands by when it connects to another one.

    Raises:
        SecurityConfigError: the keys make none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = config.ssl_endpoint_identification_algorithm.lower() == "https"
    _load_own(context, config)
    _load_trusted(context, config)
    return context


def certificate_name(transport: asyncio.BaseTransport) -> str | None:
    """Return the distinguished name of who is at the other end; None without a certificate.

    As Java writes it: the last part first, ``CN=alice,O=lab``.
    """
    tls = transport.get_extra_info("ssl_object")
    content: bytes | None = None if tls is None else tls.getpeercert(binary_form=True)
    if not content:
        return None
    from cryptography import x509  # noqa: PLC0415 - only where clients have certificates

    return x509.load_der_x509_certificate(content).subject.rfc4514_string()


def principal_by_certificate(
    mapped: Callable[[str], str | None],
) -> Callable[[asyncio.BaseTransport], Principal]:
    """Return who tells the principal of a connection; ``mapped`` shortens distinguished names."""

    def principal_of(transport: asyncio.BaseTransport) -> Principal:
        name = certificate_name(transport)
        short = None if name is None else mapped(name)
        return ANONYMOUS if short is None else Principal(short)

    return principal_of


def own_name(config: SecurityConfig) -> str | None:
    """Return the distinguished name that a node's own certificate has; None without one.

    Raises:
        SecurityConfigError: the certificate cannot be read.
    """
    chain = own_chain(config)
    return chain[0].subject.rfc4514_string() if chain else None


def own_chain(config: SecurityConfig) -> list[x509.Certificate]:
    """Return a node's own certificate, and those of who signed it; none without one.

    Raises:
        SecurityConfigError: the certificates cannot be read.
    """
    own = _own_pem(config)
    if own is None:
        return []
    from cryptography import x509  # noqa: PLC0415 - as above

    try:
        return x509.load_pem_x509_certificates(own.chain.encode())
    except ValueError:
        raise SecurityConfigError(own.key, "has no certificate that can be read") from None


class _OwnPem(NamedTuple):
    """A node's certificate as PEM, and where from."""

    key: str
    """The configuration to blame."""
    chain: str
    """May hold the private key, too."""
    private: str


def _own_pem(config: SecurityConfig) -> _OwnPem | None:
    if config.ssl_keystore_certificate_chain:
        key = "ssl.keystore.certificate.chain"
        if not config.ssl_keystore_key:
            raise SecurityConfigError("ssl.keystore.key", f"is needed beside {key}")
        return _OwnPem(key, config.ssl_keystore_certificate_chain, config.ssl_keystore_key)
    if not config.ssl_keystore_location:
        return None
    key = "ssl.keystore.location"
    kind, password = config.ssl_keystore_type, config.ssl_keystore_password
    content = _read(key, config.ssl_keystore_location)
    return _OwnPem(key, _pem(key, "ssl.keystore.type", kind, content, password), "")


def _load_own(context: ssl.SSLContext, config: SecurityConfig) -> bool:
    """Load the own certificate; False when the configuration has none."""
    own = _own_pem(config)
    if own is None:
        return False
    try:
        with _private_file(f"{own.private}\n{own.chain}") as file:
            # A password that is never asked for must not be asked for at the terminal either.
            context.load_cert_chain(file, password=config.ssl_key_password or "")
    except (OSError, ValueError) as error:
        raise SecurityConfigError(own.key, f"cannot be used: {_reason(error)}") from None
    return True


def _load_trusted(context: ssl.SSLContext, config: SecurityConfig) -> None:
    key = "ssl.truststore.certificates"
    text = config.ssl_truststore_certificates
    if not text:
        if not config.ssl_truststore_location:
            context.load_default_certs()
            return
        key = "ssl.truststore.location"
        content = _read(key, config.ssl_truststore_location)
        kind, password = config.ssl_truststore_type, config.ssl_truststore_password
        text = _pem(key, "ssl.truststore.type", kind, content, password)
    try:
        context.load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:
        raise SecurityConfigError(key, f"cannot be used: {_reason(error)}") from None


def _pem(key: str, type_key: str, kind: str, content: bytes, password: str | None) -> str:
    """Return a store's content as PEM."""
    if kind.upper() == PEM:
        try:
            return content.decode("ascii")
        except UnicodeDecodeError:
            raise SecurityConfigError(key, "is no PEM file") from None
    if kind.upper() != PKCS12:
        raise SecurityConfigError(type_key, f"must be {PEM} or {PKCS12}, is {kind}")
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415

    try:
        store = pkcs12.load_pkcs12(content, (password or "").encode())
    except ValueError:
        raise SecurityConfigError(key, "is no PKCS12 file, or has another password") from None
    encoding = serialization.Encoding.PEM
    parts = [each.certificate.public_bytes(encoding) for each in store.additional_certs]
    if store.cert is not None:
        parts.insert(0, store.cert.certificate.public_bytes(encoding))
    if store.key is not None:
        form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        parts.append(store.key.private_bytes(encoding, form, plain))
    return b"".join(parts).decode()


def _read(key: str, location: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise SecurityConfigError(key, f"{location} cannot be read: {error.strerror}") from None


@contextmanager
def _private_file(text: str) -> Generator[str]:
    """Give a file that nobody else can read: OpenSSL takes keys from files only."""
    number, name = tempfile.mkstemp(prefix="jbodlab-")
    try:
        with os.fdopen(number, "w") as file:
            file.write(text)
        yield name
    finally:
        Path(name).unlink()


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return str(reason).lower().replace("_", " ") if reason else str(error)
