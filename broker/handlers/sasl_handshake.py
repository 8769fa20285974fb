"""Serves: SaslHandshake (17), where it is one too many.

At a listener of SASL ``protocol.security.sasl_gate`` answers it; what comes here has authenticated
already, or came by a listener that asks for nothing.
Versions: 0-1.
"""

from __future__ import annotations

from broker.context import Context
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.sasl import SaslHandshakeRequest, SaslHandshakeResponse


def refuse(
    _request: SaslHandshakeRequest, _version: int, error: KafkaError
) -> SaslHandshakeResponse:
    """Put the code at the top; there is nothing else."""
    return SaslHandshakeResponse(error_code=error.code, mechanisms=[])


@handles(SaslHandshakeRequest, "0-1", refuse=refuse)
async def handle(
    _context: Context, _request: SaslHandshakeRequest, _version: int
) -> SaslHandshakeResponse:
    """Source: KafkaApis.handleSaslHandshakeRequest."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])
