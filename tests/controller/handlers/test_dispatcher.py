"""From bytes to bytes: versions, failures, ApiVersions."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.machine import SERVED
from controller.handlers import HANDLERS
from controller.handlers.dispatcher import API_VERSIONS, Dispatcher
from protocol.apis import APIS, BY_NAME
from protocol.connection import Peer, RequestReceived
from protocol.errors import ErrorCode, Malformed
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from protocol.wire.fast import codec

PEER = Peer("127.0.0.1", 5)
ALLOCATE = 67


async def answering(request: Any, version: int) -> Any:
    assert isinstance(request, AllocateProducerIdsRequest)
    return AllocateProducerIdsResponse(producer_id_start=request.broker_id, producer_id_len=version)


async def failing(request: Any, version: int) -> Any:
    raise RuntimeError(f"{type(request).__name__} v{version}")


def received(api_key: int, version: int, body: bytes) -> RequestReceived:
    return RequestReceived(api_key, version, 1, "test", memoryview(bytearray(body)))


def body_of(message: Any, version: int) -> bytes:
    return bytes(codec(message.__class__, version).encode(message))


async def dispatch(
    dispatcher: Dispatcher, api_key: int, version: int, body: bytes, answer: Any, answered_in: int
) -> Any:
    parts = await dispatcher.dispatch(received(api_key, version, body), PEER)
    assert parts is not None
    return codec(answer, answered_in).decode(b"".join(parts))


async def test_a_request_reaches_the_machine_and_its_answer_returns() -> None:
    body = body_of(AllocateProducerIdsRequest(broker_id=9), 0)

    response = await dispatch(
        Dispatcher(answering), ALLOCATE, 0, body, AllocateProducerIdsResponse, 0
    )

    assert response.producer_id_start == 9


@pytest.mark.parametrize("key", sorted(HANDLERS))
async def test_a_failing_rule_is_an_unknown_server_error_in_every_version(key: int) -> None:
    handler = HANDLERS[key]
    for version in range(handler.versions.low, handler.versions.high + 1):
        body = body_of(handler.api.request(), version)
        parts = await Dispatcher(failing).dispatch(received(key, version, body), PEER)
        assert parts is not None
        codec(handler.api.response, version).decode(b"".join(parts))


async def test_the_code_of_a_failure_is_in_the_answer() -> None:
    body = body_of(AllocateProducerIdsRequest(broker_id=9), 0)

    response = await dispatch(
        Dispatcher(failing), ALLOCATE, 0, body, AllocateProducerIdsResponse, 0
    )

    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(("key", "version"), [(0, 9), (ALLOCATE, 1), (999, 0)])
async def test_what_is_not_served_closes_the_connection(key: int, version: int) -> None:
    with pytest.raises(Malformed, match="is not served here"):
        await Dispatcher(answering).dispatch(received(key, version, b""), PEER)


async def test_bytes_that_are_no_request_close_the_connection() -> None:
    with pytest.raises(Malformed):
        await Dispatcher(answering).dispatch(received(ALLOCATE, 0, b"\x01"), PEER)


@pytest.mark.parametrize("version", range(5))
async def test_the_versions_listed_are_those_served(version: int) -> None:
    response = await dispatch(
        Dispatcher(answering),
        API_VERSIONS,
        version,
        body_of(ApiVersionsRequest(), version),
        ApiVersionsResponse,
        version,
    )

    listed = {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}
    expected = {key: (h.versions.low, h.versions.high) for key, h in HANDLERS.items()}
    assert listed == {**expected, API_VERSIONS: (0, 4)}


async def test_an_unknown_version_of_api_versions_is_answered_in_version_0() -> None:
    response = await dispatch(
        Dispatcher(answering), API_VERSIONS, 99, b"anything", ApiVersionsResponse, 0
    )

    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [entry.api_key for entry in response.api_keys] == [API_VERSIONS]


def test_everything_served_has_a_rule_and_every_rule_is_served() -> None:
    assert sorted(BY_NAME[h.api.name].key for h in HANDLERS.values()) == sorted(HANDLERS)
    requests = [APIS[key].request for key in HANDLERS]
    assert sorted(cls.__name__ for cls in requests) == sorted(cls.__name__ for cls in SERVED)


async def test_who_may_not_ask_is_refused_everything_but_api_versions() -> None:
    refusing = Dispatcher(answering, lambda _peer: False)
    body = body_of(AllocateProducerIdsRequest(broker_id=9), 0)
    refused = await dispatch(refusing, ALLOCATE, 0, body, AllocateProducerIdsResponse, 0)
    assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    versions = await dispatch(
        refusing, API_VERSIONS, 0, body_of(ApiVersionsRequest(), 0), ApiVersionsResponse, 0
    )
    assert versions.error_code == ErrorCode.NONE
