"""Connections that shake hands: who passes is served, who does not costs a line in the log."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import uvloop

from benchmarks.certificates import Authority
from protocol.configs.broker import BrokerConfig
from protocol.connection import Peer, RequestReceived
from protocol.ports import Buffer
from protocol.security.doors import door_of
from protocol.security.listeners import SecurityProtocol
from protocol.security.tls import client_context
from protocol.transport.door import Door, Key
from protocol.transport.rpc_client import RpcClient
from protocol.transport.rpc_server import RpcServer
from tests.deadlines import DEADLINE_S
from tests.protocol.transport.raw_client import HOST, METADATA, RawClient, eventually

AUTHORITY = Authority()
OWN, CLIENT = AUTHORITY.sign("broker"), AUTHORITY.sign("alice")
CONFIG = BrokerConfig(
    ssl_keystore_certificate_chain=OWN.certificate,
    ssl_keystore_key=OWN.key,
    ssl_truststore_certificates=AUTHORITY.certificate,
    ssl_client_auth="required",
    ssl_principal_mapping_rules="RULE:^CN=(.*?),.*$/$1/,DEFAULT",
)
OF_ALICE = client_context(
    BrokerConfig(
        ssl_keystore_certificate_chain=CLIENT.certificate,
        ssl_keystore_key=CLIENT.key,
        ssl_truststore_certificates=AUTHORITY.certificate,
    )
)
OF_NOBODY = client_context(BrokerConfig(ssl_truststore_certificates=AUTHORITY.certificate))


async def name_peer(request: RequestReceived, peer: Peer) -> list[Buffer]:
    return [bytes(request.body), f" {peer.principal} at {peer.listener}".encode()]


def secured() -> Door:
    return door_of("SECURED", SecurityProtocol.SSL, CONFIG, int)


@asynccontextmanager
async def serving(
    door: Door,
) -> AsyncGenerator[tuple[RpcServer, int]]:
    server = RpcServer(name_peer)
    port = await server.start(HOST, 0, door)
    try:
        yield server, port
    finally:
        async with asyncio.timeout(DEADLINE_S):
            await server.stop()


async def ask(port: int, tls: ssl.SSLContext, body: bytes) -> bytes:
    client = RpcClient(host=HOST, port=port, client_id="c", key=Key(tls))
    try:
        async with asyncio.timeout(DEADLINE_S):
            return bytes(await client.request_raw(METADATA, 1, [body]))
    finally:
        client.close()


async def test_a_client_is_who_its_certificate_says_and_small_and_large_requests_pass() -> None:
    async with serving(secured()) as (_, port):
        assert await ask(port, OF_ALICE, b"hello") == b"hello User:alice at SECURED"
        large = bytes(3 << 20)
        assert await ask(port, OF_ALICE, large) == large + b" User:alice at SECURED"


def test_they_pass_by_uvloop_too() -> None:
    async def ask_once() -> bytes:
        async with serving(secured()) as (_, port):
            large = bytes(3 << 20)
            assert len(await ask(port, OF_ALICE, large)) > len(large)
            return await ask(port, OF_ALICE, b"hello")

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(ask_once()) == b"hello User:alice at SECURED"


async def test_one_server_listens_by_several_doors() -> None:
    async with serving(secured()) as (server, port):
        plain = await server.start(HOST, 0)
        client = RpcClient(host=HOST, port=plain, client_id="c")
        async with asyncio.timeout(DEADLINE_S):
            answer = await client.request_raw(METADATA, 1, [b"hi"])
        client.close()
        assert bytes(answer) == b"hi User:ANONYMOUS at PLAINTEXT"
        assert await ask(port, OF_ALICE, b"hi") == b"hi User:alice at SECURED"


async def test_who_has_no_certificate_or_speaks_no_tls_is_closed_with_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(secured()) as (server, port):
        with pytest.raises(ConnectionError):
            await ask(port, OF_NOBODY, b"hello")
        raw = RawClient(*await asyncio.open_connection(HOST, port))
        raw.send(b"plain")
        assert await raw.is_closed_by_server()
        raw.writer.close()
        await eventually(lambda: len(caplog.records) >= 2)
        assert server.connection_count == 0
    said = [each.getMessage() for each in caplog.records]
    assert all("SSL handshake of a client failed: " in each for each in said)
    assert any("peer did not return a certificate" in each for each in said)
    assert all(each.exc_info is None for each in caplog.records)


async def test_a_handshake_that_does_not_end_is_bounded() -> None:
    door = secured()._replace(handshake_timeout_ms=200)
    async with serving(door) as (_, port):
        silent = RawClient(*await asyncio.open_connection(HOST, port))
        silent.writer.write(b"\x16\x03")
        assert await silent.is_closed_by_server()
        silent.writer.close()
        assert await ask(port, OF_ALICE, b"hello") == b"hello User:alice at SECURED"
