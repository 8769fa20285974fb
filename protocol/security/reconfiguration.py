"""What the stores of a listener may be exchanged for while a broker runs.

Texts of errors are those of 3.9, without the names of Java's classes; what OpenSSL finds is in its
own words. Source: SslFactory.java, its CertificateEntries and SslEngineValidator.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol.configs.security import SecurityConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.security.tls import (
    PEM,
    SecurityConfigError,
    client_context,
    own_chain,
    server_context,
)

if TYPE_CHECKING:
    from cryptography import x509

_FAILED: Final = "Validation of dynamic config update of SSLFactory failed: "
_FLIGHTS_MAX: Final = 10
"""Of one handshake, which takes three."""
_ALIAS: Final = "kafka"
"""Of a certificate in PEM, which has no name of its own. Source: DefaultSslEngineFactory."""


class OwnCertificate(NamedTuple):
    """What has to stay of a listener's certificate."""

    subject: str
    """As Java shows it: ``CN=broker, O=lab``."""
    names: tuple[tuple[int, str], ...]
    """Alternative names: the number of their kind in X.509, and the name; sorted."""


def own_certificate(config: SecurityConfig) -> OwnCertificate | None:
    """Return what a configuration's own certificate says; None without one.

    Raises:
        SecurityConfigError: it cannot be read.
    """
    chain = own_chain(config)
    if not chain:
        return None
    # From the most particular part on, as Java and RFC 4514 have it.
    parts = [each.rfc4514_string() for each in reversed(chain[0].subject.rdns)]
    return OwnCertificate(", ".join(parts), _alternative_names(chain[0]))


def check_stores(
    held: OwnCertificate | None,
    before: SecurityConfig,
    after: SecurityConfig,
    *,
    is_between_nodes: bool,
) -> None:
    """Check that a listener may change its stores.

    Args:
        held: what the certificate says that the listener has now.
        before: the listener's configuration.
        after: what it would be.
        is_between_nodes: brokers connect to each other by it, with either of the two for a while.

    Raises:
        KafkaError: INVALID_REQUEST.
    """
    try:
        _check_ambiguity(after)
        server_context(after)
        client_context(after)
        found = own_certificate(after)
    except SecurityConfigError as error:
        raise _refused(_words(error, after)) from None
    if held is not None and found is not None:
        _check_compatible(held, found)
    if _trusts_all(before) and not _trusts_all(after):
        raise _refused(
            "Cannot add SSL truststore to an existing listener for which no truststore was "
            "configured."
        )
    if is_between_nodes:
        _check_handshakes(before, after)


def _check_ambiguity(config: SecurityConfig) -> None:
    if config.ssl_keystore_location and config.ssl_keystore_key:
        raise _refused("Both SSL key store location and separate private key are specified.")
    if config.ssl_keystore_key and not config.ssl_keystore_certificate_chain:
        raise _refused("SSL private key is specified, but certificate chain is not specified.")
    if config.ssl_truststore_location and config.ssl_truststore_certificates:
        words = "Both SSL trust store location and separate trust certificates are specified."
        raise _refused(words)


def _check_compatible(held: OwnCertificate, found: OwnCertificate) -> None:
    if held.subject != found.subject:
        raise _refused(
            "Keystore DistinguishedName does not match:  "
            f"existing={{alias={_ALIAS}, DN={held.subject}}}, "
            f"new={{alias={_ALIAS}, DN={found.subject}}}"
        )
    if not set(held.names) <= set(found.names):
        raise _refused(
            "Keystore SubjectAltNames do not match:  "
            f"existing={{alias={_ALIAS}, SAN={_shown(held.names)}}}, "
            f"new={{alias={_ALIAS}, SAN={_shown(found.names)}}}"
        )


def _check_handshakes(before: SecurityConfig, after: SecurityConfig) -> None:
    """Have each connect to the other; what stands now may be gone from the disk already."""
    try:
        ends = server_context(before), client_context(before)
    except SecurityConfigError:
        ends = server_context(after), client_context(after)
    try:
        _shake_hands(ends[0], client_context(after))
        _shake_hands(server_context(after), ends[1])
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", None) or error.reason or str(error)
        raise _refused(f"handshake failed: {reason.lower().replace('_', ' ')}") from None


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """Shake hands in memory; as in Kafka the host's name is no matter here.

    Raises:
        ssl.SSLError: one of the two does not.
    """
    server.sslobject_class, client.check_hostname = ssl.SSLObject, False
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    waiting = [
        client.wrap_bio(to_client, to_server),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(_FLIGHTS_MAX):
        waiting = [each for each in waiting if not _goes_on(each)]
        if not waiting:
            return
    raise ssl.SSLError("the handshake does not end")


def _goes_on(end: ssl.SSLObject) -> bool:
    """Tell whether one end is through."""
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _trusts_all(config: SecurityConfig) -> bool:
    """Tell whether a configuration has no trust store of its own."""
    return not (config.ssl_truststore_location or config.ssl_truststore_certificates)


def _alternative_names(certificate: x509.Certificate) -> tuple[tuple[int, str], ...]:
    from cryptography import x509  # noqa: PLC0415 - only where there is TLS

    kinds = {x509.RFC822Name: 1, x509.DNSName: 2, x509.UniformResourceIdentifier: 6}
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    named = [
        (number, name) for kind, number in kinds.items() for name in found.get_values_for_type(kind)
    ]
    addresses = [(7, str(each)) for each in found.get_values_for_type(x509.IPAddress)]
    return tuple(sorted(named + addresses))


def _shown(names: tuple[tuple[int, str], ...]) -> str:
    return f"[{', '.join(f'[{kind}, {name}]' for kind, name in names)}]"


def _words(error: SecurityConfigError, config: SecurityConfig) -> str:
    stores = {
        "ssl.keystore.location": (config.ssl_keystore_location, config.ssl_keystore_type),
        "ssl.truststore.location": (config.ssl_truststore_location, config.ssl_truststore_type),
    }
    location, kind = stores.get(error.key, (None, ""))
    if not location:
        return str(error)
    if kind.upper() == PEM:
        return f"Failed to load PEM SSL keystore {location}"
    return f"Failed to load SSL keystore {location} of type {kind}"


def _refused(words: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, f"{_FAILED}{words}")
