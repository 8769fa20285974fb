"""What an Envelope carries as the principal of the request inside it."""

from __future__ import annotations

from protocol.wire.table import STRING, field, message
from protocol.wire.types import BOOL


@message(None, "data", versions="0", flexible="0+")
class DefaultPrincipalData:
    """Source: DefaultPrincipalData.json."""

    type: str = field(STRING)
    name: str = field(STRING)
    token_authenticated: bool = field(BOOL)
