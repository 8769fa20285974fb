"""A listener of SASL and our own client at it, on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from struct import pack

import pytest

from protocol.configs.broker import BrokerConfig
from protocol.connection import Peer, RequestReceived
from protocol.errors import ErrorCode
from protocol.ports import Buffer
from protocol.security.doors import door_of, key_of
from protocol.security.listeners import SecurityProtocol
from protocol.security.sasl import plain_token
from protocol.security.sasl_client import Login, authenticates
from protocol.security.sasl_gate import SASL_AUTHENTICATE, SASL_HANDSHAKE
from protocol.transport.door import AskRaw, Key
from protocol.transport.rpc_client import RpcClient
from protocol.transport.rpc_server import RpcServer
from tests.deadlines import DEADLINE_S
from tests.protocol.transport.raw_client import HOST, METADATA, RawClient, eventually

CONFIG = BrokerConfig(
    jbodlab_sasl_users="broker:secret,alice:sesame",
    connection_failed_authentication_delay_ms=1,
)


NOW_MS = 1_700_000_000_000


async def name_peer(request: RequestReceived, peer: Peer) -> list[Buffer]:
    return [f"{peer.principal} at {peer.listener}".encode()]


@asynccontextmanager
async def serving(config: BrokerConfig = CONFIG) -> AsyncGenerator[int]:
    server = RpcServer(name_peer)
    door = door_of("CLIENTS", SecurityProtocol.SASL_PLAINTEXT, config, lambda: NOW_MS)
    port = await server.start(HOST, 0, door)
    try:
        yield port
    finally:
        async with asyncio.timeout(DEADLINE_S):
            await server.stop()


async def ask(port: int, key: Key, size_bytes: int = 1) -> str:
    client = RpcClient(host=HOST, port=port, client_id="c", key=key)
    try:
        async with asyncio.timeout(DEADLINE_S):
            return bytes(await client.request_raw(METADATA, 1, [bytes(size_bytes)])).decode()
    finally:
        client.close()


def key(mechanism: str, user: str = "alice", password: str = "sesame") -> Key:
    return Key(authenticate=authenticates(Login(mechanism, user, password)))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_who_knows_the_password_is_let_in_and_may_send_large_requests(
    mechanism: str,
) -> None:
    async with serving() as port:
        assert await ask(port, key(mechanism)) == "User:alice at CLIENTS"
        assert await ask(port, key(mechanism), 1 << 20) == "User:alice at CLIENTS"


async def test_nodes_let_each_other_in() -> None:
    async with serving() as port:
        own = key_of(SecurityProtocol.SASL_PLAINTEXT, CONFIG)
        assert await ask(port, own) == "User:broker at CLIENTS"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("user", ["alice", "nobody"])
async def test_a_wrong_password_and_an_unknown_user_are_told_the_same_and_leave_no_traceback(
    caplog: pytest.LogCaptureFixture, mechanism: str, user: str
) -> None:
    async with serving() as port:
        with pytest.raises(ConnectionError, match="Authentication failed") as raised:
            await ask(port, key(mechanism, user, "guess"))
    assert "Invalid username" in str(raised.value) or "invalid credentials" in str(raised.value)
    assert all(each.exc_info is None for each in caplog.records)
    assert "guess" not in caplog.text


async def test_a_mechanism_that_is_not_enabled_is_told_those_that_are() -> None:
    only = BrokerConfig(jbodlab_sasl_users="a:b", sasl_enabled_mechanisms=("PLAIN",))
    async with serving(only) as port:
        with pytest.raises(ConnectionError, match="SCRAM-SHA-256 is none of PLAIN"):
            await ask(port, key("SCRAM-SHA-256"))


async def test_a_request_before_authentication_closes_the_connection() -> None:
    async with serving() as port:
        raw = RawClient(*await asyncio.open_connection(HOST, port))
        raw.send(b"metadata")
        assert await raw.is_closed_by_server()
        raw.writer.close()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(DEADLINE_S):
        return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))


async def test_who_asks_for_versions_within_a_login_is_told_and_let_go() -> None:
    async with serving() as port:
        raw = RawClient(*await asyncio.open_connection(HOST, port))
        hello = pack(">hhih", SASL_HANDSHAKE, 1, 5, -1) + pack(">h", 5) + b"PLAIN"
        versions = pack(">hhih", 18, 0, 6, -1)
        for asked in (hello, versions):
            raw.writer.write(pack(">i", len(asked)) + asked)
        assert (await _frame(raw.reader))[:6] == pack(">ih", 5, 0)
        assert await _frame(raw.reader) == pack(">ihi", 6, ErrorCode.ILLEGAL_SASL_STATE, 0)
        assert await raw.is_closed_by_server()
        raw.writer.close()


async def test_a_token_before_a_handshake_closes_the_connection() -> None:
    async with serving() as port:
        raw = RawClient(*await asyncio.open_connection(HOST, port))
        asked = pack(">hhih", SASL_AUTHENTICATE, 0, 5, -1) + pack(">i", 0)
        raw.writer.write(pack(">i", len(asked)) + asked)
        assert await raw.is_closed_by_server()
        raw.writer.close()


async def test_a_large_frame_before_authentication_closes_the_connection() -> None:
    async with serving() as port:
        raw = RawClient(*await asyncio.open_connection(HOST, port))
        raw.writer.write(pack(">i", 1 << 20))
        assert await raw.is_closed_by_server()
        raw.writer.close()


async def test_after_a_handshake_of_version_0_tokens_come_without_headers() -> None:
    async with serving() as port:
        reader, writer = await asyncio.open_connection(HOST, port)
        head = pack(">hhih", 17, 0, 5, -1)
        writer.write(pack(">i", len(head) + 7) + head + pack(">h", 5) + b"PLAIN")
        async with asyncio.timeout(DEADLINE_S):
            (size,) = [int.from_bytes(await reader.readexactly(4))]
            assert (await reader.readexactly(size))[:6] == pack(">ih", 5, 0)
            token = plain_token("alice", "sesame")
            writer.write(pack(">i", len(token)) + token)
            assert await reader.readexactly(4) == pack(">i", 0)
            asked = pack(">hhih", METADATA, 1, 6, -1)
            writer.write(pack(">i", len(asked)) + asked)
            size = int.from_bytes(await reader.readexactly(4))
            assert (await reader.readexactly(size))[4:] == b"User:alice at CLIENTS"
        writer.close()


async def test_who_authenticates_anew_too_soon_is_answered_as_by_any_request_and_goes_on() -> None:
    long = BrokerConfig(jbodlab_sasl_users="alice:sesame", connections_max_reauth_ms=3_600_000)
    again: list[bytes] = []

    async def authenticate_thrice(ask_raw: AskRaw) -> int:
        login = authenticates(Login("PLAIN", "alice", "sesame"))
        await login(ask_raw)
        await login(ask_raw)
        again.append(bytes(await ask_raw(SASL_HANDSHAKE, 1, [pack(">h", 5) + b"PLAIN"])))
        again.append(bytes(await ask_raw(SASL_AUTHENTICATE, 0, [pack(">i", 0)])))
        return 0

    async with serving(long) as port:
        asked = await ask(port, Key(authenticate=authenticate_thrice))
    assert [asked.encode()] * 2 == again
    assert asked == "User:alice at CLIENTS"


async def test_a_session_that_is_not_renewed_ends_with_the_next_request() -> None:
    short = BrokerConfig(jbodlab_sasl_users="alice:sesame", connections_max_reauth_ms=1)

    async def authenticate_once(ask_raw: AskRaw) -> int:
        await authenticates(Login("PLAIN", "alice", "sesame"))(ask_raw)
        until_s = asyncio.get_running_loop().time() + 0.01
        await eventually(lambda: asyncio.get_running_loop().time() > until_s)
        return 0

    async with serving(short) as port:
        with pytest.raises(ConnectionError):
            await ask(port, Key(authenticate=authenticate_once))
