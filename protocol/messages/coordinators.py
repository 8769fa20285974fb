"""Messages of FindCoordinator (10)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import INT8, INT16, INT32


@message(10, "request", versions="0-6", flexible="3+")
class FindCoordinatorRequest:
    """Source: FindCoordinatorRequest.json."""

    key: str = field(STRING, "0-3")
    key_type: int = field(INT8, "1+")
    """0 group, 1 transaction, 2 share group."""
    coordinator_keys: Sequence[str] = field(array(STRING), "4+")


@struct
class Coordinator:
    key: str = field(STRING, "4+")
    node_id: int = field(INT32, "4+")
    host: str = field(STRING, "4+")
    port: int = field(INT32, "4+")
    error_code: int = field(INT16, "4+")
    error_message: str | None = field(STRING, "4+", nullable="4+", ignorable=True)


@message(10, "response", versions="0-6", flexible="3+")
class FindCoordinatorResponse:
    """Source: FindCoordinatorResponse.json."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16, "0-3")
    error_message: str | None = field(STRING, "1-3", nullable="1-3", ignorable=True)
    node_id: int = field(INT32, "0-3")
    host: str = field(STRING, "0-3")
    port: int = field(INT32, "0-3")
    coordinators: Sequence[Coordinator] = field(array(Coordinator), "4+")
