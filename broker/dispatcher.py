"""From a request's bytes to its answer's: finds the handler, turns errors into codes, counts.

It knows no API but ApiVersions, whose unknown versions Kafka answers in version 0. What cannot be
read closes the connection, as in Kafka. Source: KafkaApis.handle, RequestContext.parseRequest.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final, NamedTuple

from broker import handlers
from broker.client_accounts import ClientAccount, ClientAccounts
from broker.context import Context
from broker.core.access import Access, Asker
from broker.core.access_answers import AMENDS
from broker.core.access_rules import RULES, Ruling
from broker.core.answer_errors import error_finder, has_error_in_steps
from broker.core.first_metadata import needs_metadata
from broker.handlers import FOR_CONTROLLER, HANDLERS, Begun, Client, Refuse, handlers_of, served
from broker.metrics import RequestStats
from protocol.acls.authorizer import Authorizer
from protocol.apis import APIS
from protocol.connection import CloseConnection, Peer, RequestReceived
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from protocol.messages.control import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from protocol.messages.metadata import MetadataResponse
from protocol.pieces import CUTS, put_together
from protocol.ports import Buffer
from protocol.releases import is_read, names_versions_to_try
from protocol.transport.begun_answers import Body, LaterAnswer
from protocol.transport.held_request import HeldRequest
from protocol.transport.large_requests import (
    answer_in_pieces,
    decode_in_turns,
    drop,
    is_cut,
)
from protocol.wire.fast import Codec, codec

for _module in iter_modules(handlers.__path__, f"{handlers.__name__}."):
    import_module(_module.name)  # It registers what it serves.

_API_VERSIONS: Final = 18
LARGE_BYTES_MIN: Final = 8 * 1024
"""From this size on requests are decoded in steps."""
FORWARDED_AT_ONCE: Final = 8
"""Pieces of one request that the controller works on: each waits until brokers were told."""
_FORWARDED: Final = frozenset(
    {
        "CreateTopics",
        "DeleteTopics",
        "CreatePartitions",
        "ElectLeaders",
        "AlterConfigs",
        "IncrementalAlterConfigs",
        "AlterPartitionReassignments",
    }
)
_MAY_GROW: Final = frozenset(
    {
        "Metadata",
        "DescribeConfigs",
        "DescribeLogDirs",
        "DescribeProducers",
        "DescribeTopicPartitions",
        "ListPartitionReassignments",
        "OffsetFetch",
        "DescribeGroups",
        "ListGroups",
    }
)
_CONTROL: Final = (LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest)
logger = logging.getLogger(__name__)
authorizer_logger = logging.getLogger("kafka.authorizer.logger")
"""Kafka's name of the log of what was refused to whom."""


class _Route(NamedTuple):
    """How requests of one API at one version are answered."""

    version: int
    codec: Codec
    """Of the request."""
    decode: Callable[[Buffer], Any]
    handle: Callable[..., Awaitable[Any]]
    takes_client: bool
    """Whether ``handle`` is told who asks."""
    refuse: Refuse[Any]
    codec_out: Codec
    """Of the response."""
    encode_parts: Callable[[Any], list[Buffer]]
    is_failed: Callable[[Any], bool]
    stats: RequestStats
    is_control: bool
    """Whether only controllers ask it."""
    is_forwarded: bool
    """Whether the controller answers it."""
    may_grow: bool
    """Whether a short request may have a long answer."""
    may_be_cut: bool
    """Whether a request of one step may be answered in pieces, too."""


class _Asked(NamedTuple):
    """One request on its way through."""

    route: _Route
    request: Any
    received: RequestReceived
    peer: Peer
    started_us: int
    is_large: bool
    """Whether it is answered in pieces."""
    account: ClientAccount | None
    """Of its client's quotas; None: there are none, or it is a broker's."""


class Dispatcher:
    """Answers every request of every connection; ``dispatch`` is what the RPC server calls."""

    def __init__(self, context: Context) -> None:
        """Check that what is announced is what is served."""
        check_registry()
        self._context = context
        self._gate = context.client_gate
        self._accounts = ClientAccounts(
            context.client_quotas,
            context.metrics.counters,
            loop_ms=context.loop_ms,
            elapsed_us=context.elapsed_us,
        )
        self._quotas = context.client_quotas
        self._handlers = handlers_of(context)
        self._served = served(context.release, self._handlers)
        self._routes: dict[tuple[int, int], _Route] = {}
        self._control_connection = 0
        """On which the controller spoke last, by its number."""

    async def dispatch(
        self, received: RequestReceived, peer: Peer
    ) -> LaterAnswer | HeldRequest | Body:
        """Return the parts of the response's body, or None when there is no response.

        A client's request is held until the controller has told this broker of the cluster.

        Raises:
            Malformed: an API or version that is not served, or bytes that are no such request.
            CloseConnection: the handler wants the connection closed, the controller spoke on a
                newer one since, or too many requests are held.
        """
        if self._accounts.muted.is_any:
            await self._accounts.muted.until_unmuted(peer)
        started_us = self._context.elapsed_us()
        route = self._routes.get((received.api_key, received.api_version))
        if route is None:
            if self._is_unknown_api_versions(received):
                return self._unsupported_api_versions()
            route = self._open_route(received, peer)
        if route.is_control:
            self._check_order(received, peer)
        body = received.body
        try:
            if len(body) < LARGE_BYTES_MIN:
                request, is_large = route.decode(body), False
            else:
                request, is_large = await decode_in_turns(route.codec, body, self._context.turns)
        except Malformed:
            self._context.metrics.counters.malformed_requests.add()
            raise
        is_large = is_large or (route.may_be_cut and is_cut(request))
        account = self._accounts.open(received, peer) if self._quotas.is_limiting else None
        asked = _Asked(route, request, received, peer, started_us, is_large, account)
        if not self._gate.is_open and needs_metadata(request):
            timeout_ms = self._context.config.request_timeout_ms
            return self._gate.hold(len(body), timeout_ms, partial(self._answer, asked))
        if account is not None:
            return await account.timed(self._answer(asked))
        return await self._answer(asked)

    async def _answer(self, asked: _Asked) -> LaterAnswer | Body:
        if asked.is_large:
            return await self._answer_large(asked)
        response = await self._handled(asked)
        if isinstance(response, Begun):
            finish = partial(self._finish, asked, response)
            return LaterAnswer(response.ready, finish, response.abandon)
        if asked.route.may_grow:
            return await self._encoded_in_steps(asked, response)
        return self._encoded(asked, response)

    async def _handled(self, asked: _Asked) -> Any:
        if self._context.authorizer is None:
            return await self._served_by_handler(asked)
        return await self._authorized(asked, self._context.authorizer)

    async def _authorized(self, asked: _Asked, authorizer: Authorizer) -> Any:
        """Have the handler answer what the client may do, and add what it may not."""
        route, api = asked.route, APIS[asked.received.api_key].name
        access = Access(
            authorizer,
            Asker(str(asked.peer.principal), asked.peer.host, api),
            metadata=self._context.metadata,
            creates_topics=self._context.config.auto_create_topics_enable,
            told=authorizer_logger.info,
        )
        try:
            ruling = RULES[api](access, asked.request, route.version)
        except KafkaError as error:
            return route.refuse(asked.request, route.version, error)
        if ruling.request is None:
            return self._completed(asked, access, ruling, None)
        allowed = asked._replace(request=ruling.request)
        response = await self._served_by_handler(allowed, access)
        if isinstance(response, Begun):
            return response._replace(
                finish=lambda: self._completed(asked, access, ruling, response.finish())
            )
        return self._completed(asked, access, ruling, response)

    def _completed(self, asked: _Asked, access: Access, ruling: Ruling, response: Any) -> Any:
        route = asked.route
        for part, error in ruling.refused:
            refusal = route.refuse(part, route.version, error)
            if response is None:
                response = refusal
            else:
                put_together(response, refusal)
        amend = AMENDS.get(APIS[asked.received.api_key].name)
        if amend is not None and response is not None:
            amend(access, asked.request, response)
        return response

    async def _served_by_handler(self, asked: _Asked, access: Access | None = None) -> Any:
        route = asked.route
        try:
            if route.takes_client:
                peer = asked.peer
                name = asked.received.client_id or ""
                who = (peer.host, peer.principal, peer.listener)
                client = Client(name, *who, access, asked.account, peer.is_by_token)
                return await route.handle(self._context, asked.request, route.version, client)
            return await route.handle(self._context, asked.request, route.version)
        except Exception as error:  # noqa: BLE001 -- the dispatcher is where errors end
            return self._refused(asked, error)

    async def _answer_large(self, asked: _Asked) -> Body:
        """Answer what takes more than a step."""
        with self._context.turns:
            response = await self._in_pieces(asked)
            return await self._encoded_in_steps(asked, response)

    async def _in_pieces(self, asked: _Asked) -> Any:
        async def answer(piece: Any) -> Any:
            return await self._handled(asked._replace(request=piece))

        def refuse(piece: Any, error: KafkaError) -> Any:
            return self._refused(asked._replace(request=piece), error)

        at_once = FORWARDED_AT_ONCE if asked.route.is_forwarded else 1
        turns = self._context.turns
        return await answer_in_pieces(asked.request, answer, refuse, turns, at_once=at_once)

    def _check_order(self, received: RequestReceived, peer: Peer) -> None:
        """Take nothing more from a connection of the controller once it speaks on a newer one.

        A network that was cut delivers late what the controller wrote before it gave this broker
        up, behind all that it has said anew. A controller that is still there connects again.
        Kafka tells such requests by the broker epoch, which is another one after a session ended.
        """
        if peer.number < self._control_connection:
            name = APIS[received.api_key].name
            raise CloseConnection(f"{name} on a connection that the controller has given up")
        self._control_connection = peer.number

    def _finish(self, asked: _Asked, begun: Begun) -> Body:
        try:
            response = begun.finish()
        except Exception as error:  # noqa: BLE001 -- the dispatcher is where errors end
            response = self._refused(asked, error)
        return self._encoded(asked, response)

    def _encoded(self, asked: _Asked, response: Any) -> Body:
        if asked.account is not None:
            asked.account.settle(response)
        route = asked.route
        parts = None if response is None else route.encode_parts(response)
        self._record(asked, parts, failed=parts is not None and route.is_failed(response))
        return parts

    async def _encoded_in_steps(self, asked: _Asked, response: Any) -> Body:
        if response is None:
            return self._encoded(asked, response)
        if asked.account is not None:
            asked.account.settle(response)
        turns = self._context.turns
        parts = await turns.run(asked.route.codec_out.encode_parts_in_steps(response))
        self._record(asked, parts, failed=await turns.run(has_error_in_steps(response)))
        await drop(response, turns, is_shared=isinstance(response, MetadataResponse))
        return parts

    def _record(self, asked: _Asked, parts: Body, *, failed: bool) -> None:
        route, received = asked.route, asked.received
        route.stats.record(
            self._context.elapsed_us() - asked.started_us,
            received_bytes=len(received.body),
            sent_bytes=0 if parts is None else sum(map(len, parts)),
            failed=failed,
        )

    def _refused(self, asked: _Asked, error: Exception) -> Any:
        """Return the response that tells ``error``; some errors close the connection instead."""
        route, received = asked.route, asked.received
        if isinstance(error, KafkaError):
            return route.refuse(asked.request, route.version, error)
        if isinstance(error, CloseConnection):
            raise error
        self._context.metrics.counters.unexpected_errors.add()
        logger.error(
            "%s v%d from %s:%d (%s) failed",
            APIS[received.api_key].name,
            received.api_version,
            asked.peer.host,
            asked.peer.port,
            received.client_id,
            exc_info=error,
        )
        unexpected = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return route.refuse(asked.request, route.version, unexpected)

    def _open_route(self, received: RequestReceived, peer: Peer) -> _Route:
        handler = self._handlers.get(received.api_key)
        version = received.api_version
        if handler is None or not self._is_served(received.api_key, version):
            self._context.metrics.counters.malformed_requests.add()
            raise Malformed(
                f"API {received.api_key} v{version} from {peer.host}:{peer.port} is not served"
            )
        api = handler.api
        route = _Route(
            version,
            codec(api.request, version),
            codec(api.request, version).decode_leading,
            handler.handle,
            handler.takes_client,
            handler.refuse,
            codec(api.response, version),
            codec(api.response, version).encode_parts,
            error_finder(api.response),
            self._context.metrics.request(api.name),
            api.request in _CONTROL,
            api.name in _FORWARDED,
            api.name in _MAY_GROW,
            api.request.__name__ in CUTS,
        )
        self._routes[received.api_key, version] = route
        return route

    def _is_served(self, key: int, version: int) -> bool:
        if key not in self._served or version not in self._served[key]:
            return False
        release = self._context.release
        return release is None or is_read(release, key, version)

    def _is_unknown_api_versions(self, received: RequestReceived) -> bool:
        return received.api_key == _API_VERSIONS and not self._is_served(
            _API_VERSIONS, received.api_version
        )

    def _unsupported_api_versions(self) -> list[Buffer]:
        """Answer in version 0, which every client reads; with the versions to try (KIP-511)."""
        versions = self._served[_API_VERSIONS]
        known = ApiVersion(
            api_key=_API_VERSIONS, min_version=versions.low, max_version=versions.high
        )
        release = self._context.release
        tells = release is None or names_versions_to_try(release)
        response = ApiVersionsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[known] if tells else []
        )
        return codec(ApiVersionsResponse, 0).encode_parts(response)


def check_registry() -> None:
    """Assert that each handler serves an API in versions that the message table has."""
    for key, handler in (HANDLERS | FOR_CONTROLLER).items():
        assert APIS[key] is handler.api
        assert handler.api.name in RULES, f"nobody says who may ask for {handler.api.name}"
        assert handler.versions.low in handler.api.versions
        assert handler.versions.high in handler.api.versions
