"""Which requests wait for the first UpdateMetadata of a broker's process, how many, and how long.

A broker that was just started knows no topic. Until the controller has told it what there is, all
that it could say to clients would be wrong, and some of them never ask again. Requests of
controllers and followers are what makes it known, so they never wait. It holds no connections:
``broker.client_gate`` does.
Source: KRaft's BrokerServer, which takes no requests of clients before it has caught up
(SocketServer.enableRequestProcessing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.control import (
    AlterPartitionRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.fetch import FetchRequest
from protocol.messages.lifecycle import ControlledShutdownRequest
from protocol.messages.offsets import ListOffsetsRequest, OffsetForLeaderEpochRequest
from protocol.messages.producer_ids import AllocateProducerIdsRequest

REQUESTS_MAX: Final = 2_000
"""A connection whose request would be one more is closed."""
BYTES_MAX: Final = 64 * 1024 * 1024
"""As well as one that would have more than this wait, with what it sent behind its request."""

_NEVER_WAIT: Final = (
    ApiVersionsRequest,
    LeaderAndIsrRequest,
    UpdateMetadataRequest,
    StopReplicaRequest,
    AlterPartitionRequest,
    ControlledShutdownRequest,
    AllocateProducerIdsRequest,
)


def needs_metadata(request: Any) -> bool:
    """Tell whether a request is a client's, whose answer tells of the cluster.

    ApiVersions tells of this process only; controllers and followers know the cluster themselves.
    """
    return not isinstance(request, _NEVER_WAIT) and _replica_id(request) < 0


def _replica_id(request: Any) -> int:
    """Return which follower asks; negative for everybody else."""
    match request:
        case FetchRequest():  # Each version has one of the two fields.
            return max(request.replica_id, request.replica_state.replica_id)
        case ListOffsetsRequest() | OffsetForLeaderEpochRequest():
            return request.replica_id
        case _:
            return -1


@dataclass(slots=True)
class _Waiting:
    size_bytes: int
    until_ms: int


class FirstMetadata:
    """What waits for it. One per process: what a running broker knows is old at worst, not wrong.

    So it stays known when the broker is fenced, registers again, or hears of a new controller.
    """

    __slots__ = (
        "_bytes_max",
        "_last_number",
        "_requests_max",
        "_waiting",
        "is_known",
        "size_bytes",
    )

    def __init__(self, *, requests_max: int = REQUESTS_MAX, bytes_max: int = BYTES_MAX) -> None:
        self.is_known = False
        self.size_bytes = 0
        """Of all that wait."""
        self._requests_max = requests_max
        self._bytes_max = bytes_max
        self._waiting: dict[int, _Waiting] = {}
        self._last_number = 0

    def __len__(self) -> int:
        """Return how many requests wait."""
        return len(self._waiting)

    def take(self, size_bytes: int, *, now_ms: int, timeout_ms: int) -> int | None:
        """Let a request wait for ``timeout_ms``; return its number, None when there is no room."""
        if len(self._waiting) >= self._requests_max or not self._has_room(size_bytes):
            return None
        self._last_number += 1
        self._waiting[self._last_number] = _Waiting(size_bytes, now_ms + timeout_ms)
        self.size_bytes += size_bytes
        return self._last_number

    def until_ms(self, number: int) -> int:
        """Return when the connection of a request that still waits is to be closed."""
        return self._waiting[number].until_ms

    def grow(self, number: int, size_bytes: int) -> bool:
        """Count what its connection sent behind it; False: the connection is to be closed."""
        if not self._has_room(size_bytes):
            return False
        self._waiting[number].size_bytes += size_bytes
        self.size_bytes += size_bytes
        return True

    def leave(self, number: int) -> None:
        """Forget a request that is begun, or whose connection is closed; twice is no error."""
        gone = self._waiting.pop(number, None)
        if gone is not None:
            self.size_bytes -= gone.size_bytes

    def _has_room(self, size_bytes: int) -> bool:
        return self.size_bytes + size_bytes <= self._bytes_max
