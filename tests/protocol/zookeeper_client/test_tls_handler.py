"""TLS below kazoo, against sockets that speak it; the mixed cluster has a ZooKeeper that does."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest

from benchmarks.certificates import Authority
from protocol.configs.broker import BrokerConfig
from protocol.security.tls import SecurityConfigError, client_context
from protocol.zookeeper_client.tls_handler import TlsHandler
from tests.deadlines import DEADLINE_S
from tests.protocol.security.test_tls import AUTHORITY
from tests.protocol.security.test_zookeeper_tls import server

TRUSTING = BrokerConfig(ssl_truststore_certificates=AUTHORITY.certificate)
STRANGER = BrokerConfig(ssl_truststore_certificates=Authority("other").certificate)


@contextmanager
def listening(context: ssl.SSLContext | None, said: bytes = b"") -> Generator[int]:
    """Have one connection shaken hands with, told something and closed; without TLS: closed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    if context is None:
                        connection.sendall(b"no TLS at all")
                        return
                    with context.wrap_socket(connection, server_side=True) as end:
                        end.sendall(said)
                        end.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(DEADLINE_S)
            assert not thread.is_alive()


def connect(port: int, config: BrokerConfig, hostname: str = "127.0.0.1") -> ssl.SSLSocket:
    handler = TlsHandler(lambda: client_context(config))
    return handler.create_connection(("127.0.0.1", port), hostname, DEADLINE_S)


@pytest.mark.parametrize(
    ("config", "hostname", "said"),
    [
        (STRANGER, "127.0.0.1", "local issuer certificate: see zookeeper.ssl.truststore.location"),
        (TRUSTING, "z1", "not valid for 'z1': see zookeeper.ssl.endpoint.identification.algorithm"),
    ],
)
def test_a_handshake_that_fails_says_which_setting_to_look_at(
    config: BrokerConfig, hostname: str, said: str
) -> None:
    with listening(server("none")) as port, pytest.raises(OSError, match=f":{port}: ") as told:
        connect(port, config, hostname)
    assert told.value.strerror is not None
    assert said in told.value.strerror


def test_a_zookeeper_that_wants_a_certificate_or_speaks_another_version_is_told_apart() -> None:
    older = server("required")
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    with listening(older) as port, pytest.raises(OSError, match=r"see zookeeper\.ssl\.keystore"):
        connect(port, TRUSTING)

    newer = server("none")
    newer.minimum_version = ssl.TLSVersion.TLSv1_3
    context = client_context(TRUSTING)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    handler = TlsHandler(lambda: context)
    with listening(newer) as port, pytest.raises(OSError, match=r"see zookeeper\.ssl\.enabled"):
        handler.create_connection(("127.0.0.1", port), "127.0.0.1", DEADLINE_S)
    with listening(None) as port, pytest.raises(OSError, match=r"see zookeeper\.connect"):
        connect(port, TRUSTING)


def test_a_certificate_that_tls_1_3_misses_after_the_handshake_is_told_too() -> None:
    with listening(server("required")) as port, connect(port, TRUSTING) as connected:
        assert connected.version() == "TLSv1.3"
        with pytest.raises(OSError, match=r"required: see zookeeper\.ssl\.keystore\.location"):
            connected.recv(4)


def test_a_zookeeper_that_closes_instead_of_shaking_hands_may_be_the_wrong_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def close_one() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)

        thread = threading.Thread(target=close_one)
        thread.start()
        with pytest.raises(OSError, match=r"see zookeeper\.connect"):
            connect(listener.getsockname()[1], TRUSTING)
        thread.join(DEADLINE_S)


def test_stores_that_cannot_be_read_any_more_are_a_connection_that_fails() -> None:
    def make() -> ssl.SSLContext:
        raise SecurityConfigError("zookeeper.ssl.truststore.location", "ca.pem cannot be read")

    with listening(server("none")) as port, pytest.raises(OSError, match=r"ca\.pem cannot"):
        TlsHandler(make).create_connection(("127.0.0.1", port), "127.0.0.1", DEADLINE_S)


def test_what_openssl_has_read_already_is_not_waited_for() -> None:
    with listening(server("none"), b"two answers") as port:
        handler = TlsHandler(lambda: client_context(TRUSTING))
        with handler.create_connection(("127.0.0.1", port), "127.0.0.1", DEADLINE_S) as connected:
            assert connected.recv(4) == b"two "
            assert handler.select([connected], [], [], DEADLINE_S) == ([connected], [], [])
            assert connected.recv(100) == b"answers"
