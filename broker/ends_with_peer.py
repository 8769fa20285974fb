"""Which requests are given up when their connection is lost. It ends none of them itself.

What was appended stays. A Produce under way that was not waits for its turn to have a large batch
unpacked, or for a disk. Done for clients that left, bombs would take memory and processor until the
last of them was packed anew. With acks=0 a client leaves once it has sent all that it wanted.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from protocol.apis import BY_NAME
from protocol.connection import RequestReceived
from protocol.errors import Malformed
from protocol.messages.produce import ProduceRequest
from protocol.wire.fast import codec

_FETCH: Final = BY_NAME["Fetch"].key
_PRODUCE: Final = BY_NAME["Produce"]


def ends_with_peer(request: RequestReceived) -> bool:
    """Tell whether nobody misses ``request``, which is under way, when its client has left."""
    if request.api_key == _PRODUCE.key:
        return _acks(request) != 0
    return request.api_key == _FETCH


def _acks(request: RequestReceived) -> int:
    """Return what a Produce asks for; 0 when it cannot be read, and is refused by who decodes it.

    Its first fields are read, not the partitions behind them.
    """
    if request.api_version not in _PRODUCE.versions:
        return 0
    made: list[Any] = []
    steps = codec(ProduceRequest, request.api_version).decode_in_steps(request.body, made)
    with suppress(Malformed):
        next(steps, None)
    return getattr(made[0], "acks", 0) if made else 0
