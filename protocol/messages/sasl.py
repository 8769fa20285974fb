"""Messages of SaslHandshake (17), SaslAuthenticate (36)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.ports import Buffer
from protocol.wire.table import BYTES, STRING, array, field, message
from protocol.wire.types import INT16, INT64


@message(17, "request", versions="0-1")
class SaslHandshakeRequest:
    """Source: SaslHandshakeRequest.json."""

    mechanism: str = field(STRING)


@message(17, "response", versions="0-1")
class SaslHandshakeResponse:
    """Source: SaslHandshakeResponse.json."""

    error_code: int = field(INT16)
    mechanisms: Sequence[str] = field(array(STRING))


@message(36, "request", versions="0-2", flexible="2+")
class SaslAuthenticateRequest:
    """Source: SaslAuthenticateRequest.json."""

    auth_bytes: Buffer = field(BYTES)


@message(36, "response", versions="0-2", flexible="2+")
class SaslAuthenticateResponse:
    """Source: SaslAuthenticateResponse.json."""

    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    auth_bytes: Buffer = field(BYTES)
    session_lifetime_ms: int = field(INT64, "1+", ignorable=True)
