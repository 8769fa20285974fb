"""From a request's bytes to its answer's: asks the machine, turns failures into codes.

Serves: ApiVersions (18) itself. Differs from Kafka: the list holds exactly what is served.
Versions: 0-4; an unknown one is answered in version 0 with UNSUPPORTED_VERSION (KIP-511).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from controller.handlers import HANDLERS, Handler, from_brokers, from_clients
from protocol.connection import Peer, RequestReceived
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.ports import Buffer
from protocol.transport.large_requests import (
    answer_in_pieces,
    decode_in_turns,
    drop,
    is_cut,
)
from protocol.transport.turns import Turns
from protocol.wire.fast import codec
from protocol.wire.table import Versions

Ask: TypeAlias = Callable[[Any, int], Awaitable[Any]]
"""(request, version) -> the response, once what it depends on is durable."""

LARGE_BYTES_MIN: Final = 8 * 1024
"""From this size on requests are decoded in steps."""
PIECES_AT_ONCE: Final = 64
"""Of one request; each waits until brokers were told."""
API_VERSIONS: Final = 18
API_VERSIONS_SERVED: Final = Versions(0, 4)
FILLED_BY: Final = (from_brokers, from_clients)
logger = logging.getLogger(__name__)
authorizer_logger = logging.getLogger("kafka.authorizer.logger")
"""Kafka's name of the log of what was refused to whom."""


class Dispatcher:
    """Answers every request of every connection; ``dispatch`` is what the RPC server calls."""

    def __init__(self, ask: Ask, may_ask: Callable[[Peer], bool] = lambda _peer: True) -> None:
        """``may_ask`` tells whether who is there may ask for anything but ApiVersions."""
        self._ask = ask
        self._may_ask = may_ask
        self._turns = Turns()

    async def dispatch(self, received: RequestReceived, peer: Peer) -> Sequence[Buffer] | None:
        """Return the parts of the response's body.

        Raises:
            Malformed: an API or version that is not served, or bytes that are no such request.
        """
        if received.api_key == API_VERSIONS:
            return _api_versions(received)
        handler = HANDLERS.get(received.api_key)
        version = received.api_version
        if handler is None or version not in handler.versions:
            raise Malformed(f"API {received.api_key} v{version} is not served here")
        decoding = codec(handler.api.request, version)
        if len(received.body) < LARGE_BYTES_MIN:
            request, is_large = decoding.decode_leading(received.body), False
        else:
            request, is_large = await decode_in_turns(decoding, received.body, self._turns)
        if is_large or is_cut(request):
            return await self._answer_large(handler, request, received, peer)
        response = await self._answer(handler, request, received, peer)
        steps = codec(handler.api.response, version).encode_parts_in_steps(response)
        return await self._turns.run(steps)

    async def _answer(
        self, handler: Handler, request: Any, received: RequestReceived, peer: Peer
    ) -> Any:
        version = received.api_version
        if not self._may_ask(peer):
            _log_refusal(handler.api.name, peer)
            failed = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            return handler.refuse(request, version, KafkaError(failed))
        try:
            return await self._ask(request, version)
        except Exception:  # the dispatcher is where unforeseen errors end
            logger.exception("%s v%d from %s failed", handler.api.name, version, peer)
            return handler.refuse(request, version, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))

    async def _answer_large(
        self, handler: Handler, request: Any, received: RequestReceived, peer: Peer
    ) -> Sequence[Buffer]:
        """Have each piece decided for itself, encode in steps."""
        version, turns = received.api_version, self._turns

        async def answer(piece: Any) -> Any:
            return await self._answer(handler, piece, received, peer)

        def refuse(piece: Any, error: KafkaError) -> Any:
            return handler.refuse(piece, version, error)

        with turns:
            response = await answer_in_pieces(
                request, answer, refuse, turns, at_once=PIECES_AT_ONCE
            )
            encoding = codec(handler.api.response, version).encode_parts_in_steps(response)
            parts = await turns.run(encoding)
            await drop(response, turns, is_shared=False)
            return parts


def _log_refusal(api: str, peer: Peer) -> None:
    authorizer_logger.info(
        "Principal = %s is Denied operation = CLUSTER_ACTION from host = %s on resource = "
        "Cluster:LITERAL:kafka-cluster for request = %s",
        peer.principal,
        peer.host,
        api,
    )


def _api_versions(received: RequestReceived) -> Sequence[Buffer]:
    version = received.api_version
    if version not in API_VERSIONS_SERVED:
        own = ApiVersion(
            api_key=API_VERSIONS,
            min_version=API_VERSIONS_SERVED.low,
            max_version=API_VERSIONS_SERVED.high,
        )
        response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[own])
        return codec(ApiVersionsResponse, 0).encode_parts(response)
    codec(ApiVersionsRequest, version).decode_leading(received.body)
    served = {key: handler.versions for key, handler in HANDLERS.items()}
    served[API_VERSIONS] = API_VERSIONS_SERVED
    response = ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=key, min_version=versions.low, max_version=versions.high)
            for key, versions in sorted(served.items())
        ]
    )
    return codec(ApiVersionsResponse, version).encode_parts(response)
