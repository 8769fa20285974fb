"""The headers of requests and responses."""

from __future__ import annotations

from protocol.wire.table import STRING, field, message
from protocol.wire.types import INT16, INT32


@message(None, "header", versions="0-2", flexible="2+")
class RequestHeader:
    """Source: RequestHeader.json."""

    request_api_key: int = field(INT16)
    request_api_version: int = field(INT16)
    correlation_id: int = field(INT32)
    client_id: str | None = field(STRING, "1+", nullable="1+", flexible="none", ignorable=True)


@message(None, "header", versions="0-1", flexible="1+")
class ResponseHeader:
    """Source: ResponseHeader.json."""

    correlation_id: int = field(INT32)
