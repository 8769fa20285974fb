"""Certificates are exchanged while a server listens."""

from __future__ import annotations

import logging
import ssl
from functools import partial
from pathlib import Path

import pytest

from benchmarks.certificates import Authority
from protocol.configs.broker import BrokerConfig
from protocol.security.client import security_between_nodes
from protocol.security.doors import door_of, key_of
from protocol.security.listeners import SecurityProtocol
from protocol.security.renewal import RenewedContext, renewed
from protocol.security.tls import client_context, server_context
from tests.protocol.security.test_doors import ask, serving

OLD, NEW = Authority("old CA"), Authority("new CA")


def put(file: Path, authority: Authority) -> None:
    """Put a certificate in place as people do: at once."""
    own = authority.sign("broker")
    fresh = file.with_suffix(".new")
    fresh.write_text(own.key + own.certificate)
    fresh.replace(file)


def trusting(authority: Authority) -> ssl.SSLContext:
    return client_context(BrokerConfig(ssl_truststore_certificates=authority.certificate))


async def test_the_next_handshake_is_by_the_new_certificate(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    file = tmp_path / "broker.pem"
    put(file, OLD)
    config = BrokerConfig(ssl_keystore_location=str(file))
    door = door_of("SECURED", SecurityProtocol.SSL, config, int)
    looking = renewed(partial(server_context, config), config, look_interval_ms=0)
    async with serving(door._replace(tls=looking)) as (_, port):
        assert await ask(port, trusting(OLD), b"x")
        put(file, NEW)
        assert await ask(port, trusting(NEW), b"x")
        with pytest.raises(ConnectionError):
            await ask(port, trusting(OLD), b"x")
        assert caplog.text.count("are read anew") == 1
        for spoiled in ("no certificate", None):
            file.unlink()
            if spoiled is not None:
                file.write_text(spoiled)
            assert await ask(port, trusting(NEW), b"x")
        assert "certificates stay as they were: ssl.keystore.location" in caplog.text


async def test_nodes_trust_by_the_file_as_it_is_when_they_connect(tmp_path: Path) -> None:
    broker, trusted = tmp_path / "broker.pem", tmp_path / "ca.pem"
    put(broker, OLD)
    trusted.write_text(NEW.certificate)
    config = BrokerConfig(ssl_keystore_location=str(broker), ssl_truststore_location=str(trusted))
    assert isinstance(key_of(SecurityProtocol.SSL, config).tls, RenewedContext)
    own = renewed(partial(client_context, config), config, look_interval_ms=0)
    async with serving(door_of("SECURED", SecurityProtocol.SSL, config, int)) as (_, port):
        with pytest.raises(ConnectionError):
            await ask(port, own, b"x")
        trusted.write_text(OLD.certificate + "\n")
        assert await ask(port, own, b"x")


def test_without_files_there_is_nothing_to_follow() -> None:
    config = BrokerConfig(ssl_truststore_certificates=OLD.certificate)
    made = security_between_nodes(SecurityProtocol.SSL, config).tls
    assert made is not None
    assert not isinstance(made, RenewedContext)


def test_files_are_not_looked_at_for_each_handshake_of_many(tmp_path: Path) -> None:
    file = tmp_path / "broker.pem"
    put(file, OLD)
    config = BrokerConfig(ssl_keystore_location=str(file))
    made: list[ssl.SSLContext] = []

    def make() -> ssl.SSLContext:
        made.append(server_context(config))
        return made[-1]

    for interval_ms, count in ((3_600_000, 1), (0, 3)):
        context = renewed(make, config, look_interval_ms=interval_ms)
        put(file, NEW)
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_side=True)
        assert len(made) == count
