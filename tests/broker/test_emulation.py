"""A client sees the release that is shown; the cluster's own nodes and tools see the broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.emulation import dispatch_for, own_client_ids
from broker.handlers import HANDLERS
from protocol.connection import RequestReceived
from protocol.errors import ErrorCode, Malformed
from protocol.messages.api_versions import ApiVersionsResponse
from protocol.releases import RELEASES, versions_as_of
from protocol.transport.begun_answers import LaterAnswer
from protocol.transport.held_request import HeldRequest
from protocol.wire.fast import codec
from tests.broker.fakes import PEER, FakeBroker
from tests.broker.one_broker import cluster_spec

API_VERSIONS, FETCH, LEADER_AND_ISR = 18, 1, 4
EMPTY_FETCH_V17 = bytes.fromhex("ffffffff 00000000 00000000 00 00000000 ffffffff 01 01 01 00")


async def ask(
    release: str | None, key: int, version: int, body: bytes = b"", client_id: str = "client"
) -> bytes:
    broker = FakeBroker()
    broker.context.release = release
    dispatch = dispatch_for(broker.context, cluster_spec(Path("/lab"), 9090))
    received = RequestReceived(key, version, 1, client_id, memoryview(bytearray(body)))
    parts = await dispatch(received, PEER)
    assert parts is not None
    assert not isinstance(parts, LaterAnswer | HeldRequest), "nothing here takes a while"
    return b"".join(parts)


async def announced(release: str | None, version: int = 0, client_id: str = "client"):
    body = await ask(release, API_VERSIONS, version, client_id=client_id)
    response: ApiVersionsResponse = codec(ApiVersionsResponse, 0).decode(body)
    found = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
    return response.error_code, found


@pytest.mark.parametrize("release", RELEASES)
async def test_what_the_release_and_we_have_is_announced(release: str) -> None:
    code, found = await announced(release)
    assert code == ErrorCode.NONE
    theirs = versions_as_of(release)
    assert sorted(found) == sorted(key for key in HANDLERS if key in theirs)
    for key, (low, high) in found.items():
        assert low == max(HANDLERS[key].versions.low, theirs[key].low)
        assert high == min(HANDLERS[key].versions.high, theirs[key].high)


async def test_without_a_release_everything_that_is_served_is_announced() -> None:
    _, found = await announced(None)
    assert sorted(found) == sorted(HANDLERS)


@pytest.mark.parametrize(
    ("release", "key", "version"), [("2.4", 1, 12), ("0.11", 34, 0), ("4.3", 0, 2), ("4.0", 4, 7)]
)
async def test_what_the_release_does_not_read_closes_the_connection(
    release: str, key: int, version: int
) -> None:
    with pytest.raises(Malformed, match=rf"API {key} v{version} .* is not served"):
        await ask(release, key, version)


@pytest.mark.parametrize(
    ("release", "version", "to_try"),
    [("0.11", 2, {}), ("2.3", 3, {}), ("2.4", 4, {18: (0, 3)}), ("3.9", 5, {18: (0, 4)})],
)
async def test_an_unknown_version_of_api_versions_is_answered_as_the_release_did(
    release: str, version: int, to_try: dict[int, tuple[int, int]]
) -> None:
    assert await announced(release, version) == (ErrorCode.UNSUPPORTED_VERSION, to_try)


@pytest.mark.parametrize("client_id", ["100", "broker-1-fetcher", "jbodlab"])
async def test_the_cluster_itself_sees_the_broker_as_it_is(client_id: str) -> None:
    assert await announced("0.11", client_id=client_id) == await announced(None)
    assert await ask("0.11", FETCH, 17, EMPTY_FETCH_V17, client_id)


async def test_a_client_that_sends_no_id_is_a_client() -> None:
    assert await announced("0.11", client_id="") == await announced("0.11")


def test_all_brokers_of_the_file_may_follow() -> None:
    assert own_client_ids(cluster_spec(Path("/lab"), 9090, broker_id=7)) == {
        "100",
        "broker-7-fetcher",
        "jbodlab",
    }
