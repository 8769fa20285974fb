"""Serves: SaslAuthenticate (36), where it is one too many; as SaslHandshake.

Versions: 0-2.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse

_TOO_LATE: Final = "SaslAuthenticate request received after successful authentication"


def refuse(
    _request: SaslAuthenticateRequest, _version: int, error: KafkaError
) -> SaslAuthenticateResponse:
    """Put code and text at the top."""
    return SaslAuthenticateResponse(
        error_code=error.code, error_message=error.message or None, auth_bytes=b""
    )


@handles(SaslAuthenticateRequest, "0-2", refuse=refuse)
async def handle(
    _context: Context, _request: SaslAuthenticateRequest, _version: int
) -> SaslAuthenticateResponse:
    """Source: KafkaApis.handleSaslAuthenticateRequest."""
    raise KafkaError(ErrorCode.ILLEGAL_SASL_STATE, _TOO_LATE)
