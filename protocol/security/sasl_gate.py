"""Stands in front of the dispatcher at a listener of SASL: one for each connection.

Until a client has authenticated it answers ApiVersions, SaslHandshake and SaslAuthenticate and
closes the connection on anything else, as Kafka does. The rules are ``sasl_session``'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Final

from protocol.apis import APIS
from protocol.connection import (
    TOKEN_KEY,
    CloseConnection,
    Peer,
    RequestReceived,
    SaslServerConnection,
)
from protocol.errors import ErrorCode, Malformed
from protocol.messages.api_versions import ApiVersionsResponse
from protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from protocol.ports import Buffer
from protocol.security.sasl_session import Phase, SaslSession
from protocol.transport.begun_answers import Body, LaterAnswer
from protocol.transport.door import Entrance
from protocol.transport.held_request import HeldRequest
from protocol.transport.link_owner import Dispatch
from protocol.wire.fast import codec

SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
SASL_AUTHENTICATE: Final = 36
_HANDSHAKES: Final = APIS[SASL_HANDSHAKE].versions
_AUTHENTICATES: Final = APIS[SASL_AUTHENTICATE].versions
logger = logging.getLogger(__name__)


class SaslGate:
    """Answers one connection; ``dispatch`` is called for its requests."""

    def __init__(
        self,
        entrance: Entrance,
        connection: SaslServerConnection,
        behind: Dispatch,
        session: SaslSession,
        failure_delay_ms: int,
    ) -> None:
        """Let nothing through to ``behind`` yet but ApiVersions.

        Args:
            entrance: the connection.
            connection: its bytes: tokens without headers may follow a SaslHandshake v0.
            behind: who answers once the client has authenticated.
            session: not begun.
            failure_delay_ms: how long a client that failed waits to be told.
        """
        self._entrance, self._connection = entrance, connection
        self._behind, self._session = behind, session
        self._failure_delay_ms = failure_delay_ms
        self._loop = asyncio.get_running_loop()
        self._peer: Peer | None = None
        """With its principal, once it has one."""

    def dispatch(
        self, request: RequestReceived, peer: Peer
    ) -> Awaitable[LaterAnswer | HeldRequest | Body]:
        """Answer a request, or let it through."""
        api_key, session = request.api_key, self._session
        if self._peer is not None:
            if not self._is_for_session(api_key):
                return self._let_through(request, self._peer)
        elif api_key == API_VERSIONS and session.phase is Phase.HANDSHAKE:
            return self._behind(request, peer)
        if api_key == API_VERSIONS and session.phase is Phase.TOKENS:
            return self._refuse_versions(request, peer)
        own = {
            SASL_HANDSHAKE: self._handshake,
            SASL_AUTHENTICATE: self._authenticate,
            TOKEN_KEY: self._take_bare_token,
        }
        is_early = api_key == SASL_AUTHENTICATE and session.phase is Phase.HANDSHAKE
        if api_key in own and not is_early:
            return own[api_key](request, peer)
        return _close(peer, f"unexpected request {APIS[api_key].name} during SASL handshake")

    def _is_for_session(self, api_key: int) -> bool:
        if api_key == SASL_HANDSHAKE:
            return self._session.takes_handshake(self._now_ms())
        return api_key == SASL_AUTHENTICATE and self._session.takes_token

    def _let_through(
        self, request: RequestReceived, peer: Peer
    ) -> Awaitable[LaterAnswer | HeldRequest | Body]:
        ends_ms = self._session.ends_ms
        if ends_ms is not None and self._now_ms() > ends_ms:
            return _close(peer, "its session is over and it did not authenticate anew")
        return self._behind(request, peer)

    async def _handshake(self, request: RequestReceived, peer: Peer) -> Body:
        version = _checked(request, _HANDSHAKES.high)
        asked = codec(SaslHandshakeRequest, version).decode(request.body)
        answer = self._session.handshake(asked.mechanism, self._now_ms())
        if self._session.phase is Phase.NOTHING:
            logger.warning("%s: SASL handshake failed: %s", peer, answer.error_code.name)
            self._loop.call_soon(self._entrance.end)
        elif version == 0:
            self._connection.takes_tokens = True
        response = SaslHandshakeResponse(
            error_code=answer.error_code, mechanisms=list(answer.mechanisms)
        )
        return codec(SaslHandshakeResponse, version).encode_parts(response)

    async def _refuse_versions(self, request: RequestReceived, peer: Peer) -> Body:
        """Answer a client that asks for versions within a login, and let it go."""
        self._session.phase = Phase.NOTHING
        await self._follow(peer, "ApiVersions within a login")
        response = ApiVersionsResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, api_keys=[])
        version = _checked(request, APIS[API_VERSIONS].versions.high)
        return codec(ApiVersionsResponse, version).encode_parts(response)

    async def _authenticate(self, request: RequestReceived, peer: Peer) -> Body:
        version = _checked(request, _AUTHENTICATES.high)
        asked = codec(SaslAuthenticateRequest, version).decode(request.body)
        answer = self._session.authenticate(bytes(asked.auth_bytes), self._now_ms())
        await self._follow(peer, answer.why)
        response = SaslAuthenticateResponse(
            error_code=answer.error_code,
            error_message=answer.error_message,
            auth_bytes=answer.token,
            session_lifetime_ms=answer.lifetime_ms,
        )
        return codec(SaslAuthenticateResponse, version).encode_parts(response)

    async def _take_bare_token(self, request: RequestReceived, peer: Peer) -> list[Buffer]:
        """Answer a token that came without a header; failures have no answer then."""
        answer = self._session.authenticate(bytes(request.body), self._now_ms())
        await self._follow(peer, answer.why)
        if self._session.phase is Phase.NOTHING:
            raise CloseConnection(answer.why)
        self._connection.takes_tokens = self._session.phase is Phase.TOKENS
        return [answer.token]

    async def _follow(self, peer: Peer, why: str) -> None:
        """Do what the session has come to."""
        session = self._session
        if session.phase is Phase.NOTHING:
            logger.warning("%s: SASL authentication failed: %s", peer, why)
            await asyncio.sleep(self._failure_delay_ms / 1000)
            self._loop.call_soon(self._entrance.end)
        elif session.phase is Phase.REQUESTS and session.principal is not None:
            self._peer = peer._replace(principal=session.principal, is_by_token=session.is_by_token)
            self._connection.take_all()

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)


def _checked(request: RequestReceived, version_max: int) -> int:
    if not 0 <= request.api_version <= version_max:
        name = APIS[request.api_key].name
        raise Malformed(f"{name} v{request.api_version} is not served")
    return request.api_version


async def _close(peer: Peer, why: str) -> Body:
    logger.info("%s: closed: %s", peer, why)
    raise CloseConnection(why)
